package demo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
)

func failed(r *Report) (names []string) {
	for _, c := range r.Checks {
		if !c.Pass {
			names = append(names, c.Name)
		}
	}
	return names
}

// linkRun is one whose headroom is not generous.
func linkRun(length string, wire int64) LinkResult {
	return LinkResult{Act: "1", Length: length, Speed: 1e9, Wire: wire, TripNs: 8 * wire, IdleLateNs: 400, Measured: 20_000 + wire, Burst: 10_000, Configured: 20_000 + wire, Peak: 5000 + wire}
}

func TestJudgeLinks(t *testing.T) {
	tests := []struct {
		name  string
		links []LinkResult
		want  []string
	}{
		{"as it should be", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000)}, nil},
		{"a link of double length that is no longer", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 13_000)}, []string{"wire part of 20 km, of 10 km, at 1 Gbit/s"}},
		{"the median counts", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 13_000), linkRun("20 km", 26_000), linkRun("20 km", 26_000)}, nil},
		{"one that grows is no measure", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000), linkRun("10 km+", 900_000)}, nil},
		{"generous", []LinkResult{{Act: "1", Length: "0 m", Speed: 1e9, Measured: 40_000, Burst: 10_000, Peak: 5000}},
			[]string{"0 m at 1 Gbit/s: headroom without burst, of 2.5 × peak + 2 frames (median of 1)"}},
		{"a short link, on which nothing is on its way", []LinkResult{{Act: "1", Length: "0 m", Speed: 1e8, Wire: 90, Measured: 3000, Burst: 100}}, nil},
		{"one that nobody has used", []LinkResult{{Act: "1", Length: "10 km", Speed: 1e9, Wire: 13_000, Measured: 3000, Burst: 100}},
			[]string{"10 km at 1 Gbit/s: most bytes after XOFF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Links: tt.links}
			judgeLinks(r)
			if got := failed(r); !slices.Equal(got, tt.want) {
				t.Errorf("failed\n got %q\nwant %q", got, tt.want)
			}
			for _, c := range r.Checks {
				if generous := strings.Contains(c.Name, "2.5 × peak"); generous != (c.Kind == KindRate) {
					t.Errorf("%s: kind %s", c.Name, c.Kind)
				}
			}
		})
	}
}

// With Quick nothing is judged that a busy machine decides, and the report says what, and why.
func TestJudgeQuickLinks(t *testing.T) {
	r := &Report{Quick: true, Links: []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000), {Act: "3", Length: "0 m", Speed: 1e9, Measured: 40_000, Burst: 10_000, Peak: 5000}}}
	judgeLinks(r)
	if names := failed(r); names != nil || len(r.Checks) != 3 || r.Checks[2].Kind != KindMeasured || !strings.HasPrefix(r.Checks[2].Name, "wire part") {
		t.Errorf("failed %q, of %+v", names, r.Checks)
	}
	if len(r.Open) != 3 || !strings.Contains(r.Open[2].Name, "2.5 × peak") || r.Open[2].Got != "1.93" || r.Open[2].Why == "" {
		t.Errorf("not judged: %+v", r.Open)
	}
	var out strings.Builder
	r.judge()
	if err := r.LinksText(&out); err != nil || strings.Count(out.String(), "\nnot judged (") != 3 || !strings.Contains(out.String(), "(3 checks, 0 failed)") {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
}

// A link of double length whose wire part does not double is a fault, unless the machine was late: by the shortest of all trips it
// does, or the delay lines that make it were late as a rule. Then it takes an idle machine to judge it.
func TestJudgeDouble(t *testing.T) {
	for _, tt := range []struct {
		name       string
		wire, trip int64 // of the longer link; of the shorter 13,000 octets and 104,000 ns
		late       int64 // ns, of the shorter link's delay lines
		pass       bool
		kind       string // of the check; with Quick there is none of kind rate
	}{
		{"double", 26_000, 208_000, 400, true, KindMeasured},
		{"at the limits", 20_800, 166_400, 400, true, KindMeasured},
		{"the same", 13_000, 104_000, 400, false, KindMeasured},
		{"far more", 39_000, 312_000, 400, false, KindMeasured},
		{"far more, but for the shortest trip", 39_000, 208_000, 400, false, KindRate},
		{"far more, with delay lines that are late", 39_000, 312_000, 52_000, false, KindRate},
	} {
		for _, quick := range []bool{false, true} {
			r := &Report{Quick: quick}
			short, long := linkRun("10 km", 13_000), linkRun("20 km", tt.wire)
			short.IdleLateNs, long.TripNs = tt.late, tt.trip
			r.judgeDouble([]LinkResult{short}, []LinkResult{long})
			if tt.kind == KindRate && quick {
				if len(r.Checks) != 0 || len(r.Open) != 1 || !strings.Contains(r.Open[0].Why, "late") {
					t.Errorf("%s, quick: checks %+v, not judged %+v", tt.name, r.Checks, r.Open)
				}
				continue
			}
			if len(r.Checks) != 1 || r.Checks[0].Pass != tt.pass || r.Checks[0].Kind != tt.kind || len(r.Open) != 0 {
				t.Errorf("%s, quick %v: checks %+v, want %v of kind %s; not judged %+v", tt.name, quick, r.Checks, tt.pass, tt.kind, r.Open)
			}
		}
	}
}

// No trip is shorter than the link, t is one of them, but for a thousandth of the turn-around, and the wire part is what passes in it.
func TestCheckTrip(t *testing.T) {
	const formula = "t of the formula, ns, of 40 trips, and its wire part, bytes"
	for _, tt := range []struct {
		name              string
		shortest, longest int64
		t, wire           int64
		want              []string
	}{
		{"as it should be", 100_000, 180_000, 110_000, 13_757, nil},
		{"shorter than the link", 99_999, 180_000, 110_000, 13_757, []string{"shortest trip, ns"}},
		{"less than any trip", 100_100, 180_000, 100_000, 12_507, []string{formula}},
		{"more than any trip, by the clocks", 100_100, 180_000, 180_070, 22_515, nil},
		{"more than any trip", 100_100, 180_000, 180_071, 22_516, []string{formula}},
		{"a byte less than passes", 100_000, 180_000, 110_000, 13_756, []string{formula}},
		{"twice what passes", 100_000, 180_000, 110_000, 27_514, []string{formula}},
	} {
		r := &Report{Machine: "busy"}
		l := &linkAct{act: act{speed: 1e9}, cable: cable{delay: 50 * time.Microsecond}}
		l.measured = api.HeadroomPort{Trip: &api.Spread{Samples: 40, MinNs: tt.shortest, MaxNs: tt.longest}, Turn: &api.Spread{MaxNs: 70_000},
			Finding: &api.HeadroomFinding{TripNs: tt.t, PrecisionNs: 25}, Measured: &api.HeadroomValue{Terms: []api.HeadroomTerm{{Name: "wire", Bits: 8 * tt.wire}}}}
		l.checkTrip(r)
		if got := failed(r); !slices.Equal(got, tt.want) || r.Checks[0].Kind != KindMeasured || r.Checks[1].Kind != KindMeasured {
			t.Errorf("%s: failed %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A run begins only when both ends have set what was found, but for the control, which s2 has no room for.
func TestSettled(t *testing.T) {
	target := int64(30_000)
	for _, tt := range []struct {
		name    string
		change  func(*api.HeadroomPort)
		want    bool
		control bool // the same for the control
	}{
		{"as it should be", func(*api.HeadroomPort) {}, true, true},
		{"not measured", func(p *api.HeadroomPort) { p.Measured = nil }, false, false},
		{"few trips", func(p *api.HeadroomPort) { p.Trip.Samples-- }, false, false},
		{"the peer does not know", func(p *api.HeadroomPort) { p.Told = false }, false, false},
		{"the peer has not told", func(p *api.HeadroomPort) { p.PeerFoundBits = nil }, false, false},
		{"the peer has not set it", func(p *api.HeadroomPort) { p.PeerApplied = false }, false, true},
		{"not set here", func(p *api.HeadroomPort) { p.InForceBytes-- }, false, true},
	} {
		p := &api.HeadroomPort{Measured: &api.HeadroomValue{}, Told: true, PeerFoundBits: new(int64), PeerApplied: true, TargetBytes: &target,
			InForceBytes: target, Trip: &api.Spread{Samples: 4 * openingSamples}}
		tt.change(p)
		if got := (&linkAct{}).settled(p); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
		if got := (&linkAct{act: act{control: true}}).settled(p); got != tt.control {
			t.Errorf("%s, control: %v", tt.name, got)
		}
	}
}

// The control has a third of what runs on the same link used, and room for a frame in any case.
func TestThirdUsed(t *testing.T) {
	results := []LinkResult{{Length: "10 km", Speed: 1e9, Peak: 30_000}, {Length: "10 km", Speed: 1e8, Peak: 90_000}, {Length: "10 km+", Speed: 1e9, Peak: 90_000}}
	l := &linkAct{act: act{speed: 1e9}, cable: cable{length: "10 km"}, results: &results}
	if got := l.thirdUsed(); got != 10_000 {
		t.Errorf("got %d, want 10000", got)
	}
	l.cable.length = "1 m"
	if got := l.thirdUsed(); got < largestFrame {
		t.Errorf("got %d, which holds no frame", got)
	}
}

// All acts are there: each length at both speeds five times, or with Quick a few; a link that grows; a control, last.
func TestLinkActs(t *testing.T) {
	var results []LinkResult
	quick, all := linkActs(Options{Seconds: 1, Quick: true}, &results), linkActs(Options{Seconds: 1}, &results)
	for _, acts := range [][]*linkAct{quick, all} {
		last := acts[len(acts)-1]
		if grows := acts[len(acts)-2]; !last.control || !grows.grow || grows.fresh().during == nil {
			t.Errorf("of %d acts the last are %q and %q", len(acts), grows.title, last.title)
		}
		seen := map[string]bool{}
		for _, l := range acts {
			if f := l.fresh(); seen[l.name] || f.build == nil || f.verdict == nil || f.prepare == nil || f.name != l.name || f == l {
				t.Errorf("act %+v", l.act)
			}
			seen[l.name] = true
		}
	}
	count := map[string]int{}
	for _, l := range all {
		if !l.control {
			count[l.cable.length+" "+rateName(l.speed)]++
		}
	}
	for length, want := range map[string]int{"0 m": 5, "100 m": 5, "10 km": 5, "100 km": 5, "20 km": 1, "200 km": 1} {
		for _, speed := range []string{"100 Mbit/s", "1 Gbit/s"} {
			if n := count[length+" "+speed]; n != want {
				t.Errorf("%s at %s runs %d times, want %d", length, speed, n, want)
			}
		}
	}
	if len(quick) != 6 {
		t.Errorf("%d quick acts", len(quick))
	}
}

// In each run the receiver blocks often enough, more often where a frame after XOFF is rare, within the load, each time for longer than
// what is on its way takes.
func TestPace(t *testing.T) {
	var results []LinkResult
	for _, seconds := range []float64{1, 7} {
		for _, l := range linkActs(Options{Seconds: seconds}, &results) {
			b := l.block
			least := enoughXoffs + 1
			if l.speed == 1e8 && l.cable.delay < time.Microsecond {
				least *= 3
			}
			if b.times < least || time.Duration(b.times)*b.every() > l.seconds || l.seconds.Seconds() < seconds {
				t.Errorf("%s: blocks %+v, in %v", l.title, b, l.seconds)
			}
			if trip := 2 * l.cable.delay; b.blocked < trip+2*time.Millisecond || b.read < trip+2*time.Millisecond {
				t.Errorf("%s: blocks %+v, with a trip of %v", l.title, b, trip)
			}
		}
	}
	at := time.Unix(0, 7)
	if got, want := (blocking{2 * time.Millisecond, 3 * time.Millisecond, 9}).flags(at), []string{"--block-at", "7", "--block-for", "2ms", "--block-every", "5ms", "--block-times", "9"}; !slices.Equal(got, want) {
		t.Errorf("flags %q, want %q", got, want)
	}
	if got := (blocking{}).flags(at); got != nil {
		t.Errorf("who does not block is told %q", got)
	}
}

func TestLinksText(t *testing.T) {
	r := &Report{Links: []LinkResult{linkRun("0 m", 0), {Act: "2", Length: "10 km", Speed: 1e8, Control: true, Peak: 90_000, Configured: 30_000, Lost: 7},
		{Act: "3", Length: "10 km", Speed: 1e8, Peak: 700, Used: 700, Room: 720, Xoffs: 222}, {Act: "4", Length: "10 km", Speed: 1e8, Peak: 900, Used: 900, Room: 999, Xoffs: 333, Lost: 1}}}
	r.check("2", KindControl, "frames lost", "more than 0", "7", true)
	r.judge()
	var out strings.Builder
	if err := r.LinksText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 km (control)", "100 Mbit/s", "##---", strings.Repeat("#", plotWidth) + "\n", "PASS (1 checks, 0 failed)", "\n    4   2 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if rows := linkRows(r.Links); len(rows) != 3 || rows[2].Peak != 900 || rows[2].Xoffs != 222 || rows[2].Lost != 1 || rows[2].Act != "4" || rows[2].left() != "20" || rows[0].left() != "-" {
		t.Errorf("rows %+v", rows)
	}
}

// Every check of a run can fail, and fails alone. What came after XOFF must fit what was found, not what was set beyond it;
// and the wire part grows as the link does.
func TestCheckLink(t *testing.T) {
	const grown, least = "wire part grown, of the 125000 bytes by which the link has", "wire part above the shortest trip before, of the 125000 bytes by which the link has grown"
	for _, tt := range []struct {
		name   string
		change func(k *LinkResult, f *Flow)
		wire   int64 // in the end
		want   []string
	}{
		{"as it should be", func(*LinkResult, *Flow) {}, 138_000, nil},
		{"more than was found by then", func(k *LinkResult, _ *Flow) { k.Used = 28_001 }, 138_000, []string{"bytes after the XOFF that left least"}},
		{"more than was found by then, though not in the end", func(k *LinkResult, _ *Flow) { k.Exceeded, k.Peak = 1, 3 }, 138_000, []string{"XOFFs after which more came than was found by then"}},
		{"it waited in the ring", func(k *LinkResult, _ *Flow) { k.Ringed = 1 }, 138_000, []string{"frames that waited in the ring since more came after XOFF than the headroom holds"}},
		{"few XOFFs", func(k *LinkResult, _ *Flow) { k.Xoffs = 199 }, 138_000, []string{"XOFFs"}},
		{"nobody blocked", func(k *LinkResult, _ *Flow) { k.Blocked = 199 }, 138_000, []string{"times that the receiver blocked"}},
		{"lost", func(_ *LinkResult, f *Flow) { f.Lost = 1 }, 138_000, []string{"lossless frames lost"}},
		{"nothing sent", func(_ *LinkResult, f *Flow) { f.Sent = 0 }, 138_000, []string{"lossless frames sent"}},
		{"a measurement that does not follow", func(*LinkResult, *Flow) {}, 13_000, []string{least, grown}},
		{"one that goes too far", func(*LinkResult, *Flow) {}, 170_000, []string{grown}},
		{"one that only a slow start makes short", func(k *LinkResult, _ *Flow) { k.Wire = 50_000 }, 138_000, []string{grown}},
		{"a control that loses nothing", func(k *LinkResult, _ *Flow) { k.Control, k.Exceeded = true, 1 }, 138_000, []string{"frames lost with a third of the headroom"}},
		{"a control that needs no more", func(k *LinkResult, _ *Flow) { k.Control, k.Lost = true, 1 }, 138_000, []string{"XOFFs after which more came than a third of the headroom"}},
	} {
		r := &Report{}
		k := &LinkResult{Wire: 13_000, TripNs: 103_000, Measured: 30_000, Configured: 40_000, Peak: 30_000, Used: 28_000, Room: 28_000, Xoffs: enoughXoffs, Blocked: enoughXoffs}
		f := Flow{Priority: losslessPriority, Lossless: true, Sent: 9, Received: 9}
		tt.change(k, &f)
		l := &linkAct{act: act{speed: 1e9, control: k.Control}, grow: true, grown: time.Millisecond}
		l.checkLink(r, k, []Flow{f})
		l.checkGrown(r, k, tt.wire)
		if got := failed(r); !slices.Equal(got, tt.want) {
			t.Errorf("%s: failed %q, want %q", tt.name, got, tt.want)
		}
	}
}

// That the measurement follows a link that grows is judged always, that it goes no further only where all links run; and neither
// where the machine was the limit.
func TestCheckGrown(t *testing.T) {
	for _, tt := range []struct {
		name           string
		quick          bool
		machine        string
		wire           int64
		kinds          []string // of the checks
		failed, opened int
	}{
		{"all links", false, "", 138_000, []string{KindMeasured, KindRate}, 0, 0},
		{"some links", true, "", 138_000, []string{KindMeasured}, 0, 1},
		{"it goes too far", true, "", 338_000, []string{KindMeasured}, 0, 1},
		{"it does not follow", true, "", 100_000, []string{KindMeasured}, 1, 1},
		{"it does not follow, and processes stood still", true, "busy", 100_000, []string{KindRate}, 1, 1},
	} {
		r := &Report{Quick: tt.quick, Machine: tt.machine}
		l := &linkAct{act: act{speed: 1e9}, grow: true, grown: time.Millisecond}
		l.checkGrown(r, &LinkResult{Wire: 13_500, TripNs: 103_000}, tt.wire)
		var kinds []string
		for _, c := range r.Checks {
			kinds = append(kinds, c.Kind)
		}
		if !slices.Equal(kinds, tt.kinds) || len(failed(r)) != tt.failed || len(r.Open) != tt.opened {
			t.Errorf("%s: kinds %q, failed %q, not judged %+v", tt.name, kinds, failed(r), r.Open)
		}
	}
}

// A link that did not grow while frames flowed shows nothing: the machine was the limit, so that the run is made again.
func TestCheckSteps(t *testing.T) {
	for _, tt := range []struct {
		grow    bool
		steps   int
		machine string
		want    string
	}{{true, growSteps, "", ""}, {false, 0, "", ""}, {true, growSteps - 1, "", "run 5: the link was made longer 9 times while frames flowed, not 10 times"}, {true, 0, "busy", "busy"}} {
		r := &Report{Machine: tt.machine}
		(&linkAct{act: act{name: "5"}, grow: tt.grow, steps: tt.steps}).checkSteps(r)
		if r.Machine != tt.want {
			t.Errorf("%+v: %q", tt, r.Machine)
		}
	}
}

// A run that the machine has disturbed is made again, a few times, unless something failed that no machine excuses.
func TestPerformUndisturbed(t *testing.T) {
	quiet := &Report{}
	busy := &Report{Machine: "it waited", Checks: []Check{{Kind: KindRate}, {Kind: KindLoss, Pass: true}}}
	lossy := &Report{Machine: "it waited", Checks: []Check{{Kind: KindLoss}}}
	for _, tt := range []struct {
		name string
		runs []*Report
		want int // which of them counts
	}{
		{"quiet", []*Report{quiet}, 0},
		{"busy, and then quiet", []*Report{busy, quiet}, 1},
		{"always busy", []*Report{busy, busy, busy}, 2},
		{"busy, and lost something", []*Report{lossy}, 0},
		{"lost something the second time", []*Report{busy, lossy}, 1},
	} {
		n, told := 0, 0
		one, whole, err := performUndisturbed(Options{Progress: func(string) { told++ }}, func() (*Report, bool, error) {
			n++
			return tt.runs[n-1], true, nil
		})
		if err != nil || !whole || one != tt.runs[tt.want] || n != len(tt.runs) || told != n-1 {
			t.Errorf("%s: %d runs, told %d times, %+v, %v", tt.name, n, told, one, err)
		}
	}
	n := 0
	if _, whole, _ := performUndisturbed(Options{}, func() (*Report, bool, error) { n++; return busy, false, nil }); whole || n != 1 {
		t.Errorf("a run that broke was made %d times", n)
	}
}

// The report of several runs has all of each, and the first reason of the machine.
func TestReportMerge(t *testing.T) {
	one := &Report{Machine: "first", Checks: []Check{{}}, Flows: []Flow{{}}, Switches: []SwitchResult{{}}, Acts: []ActResult{{}}, Links: []LinkResult{{}}, Open: []Open{{}}}
	r := &Report{}
	r.merge(&Report{})
	r.merge(one)
	r.merge(&Report{Machine: "second", Links: []LinkResult{{}}})
	if r.Machine != "first" || len(r.Checks) != 1 || len(r.Flows) != 1 || len(r.Switches) != 1 || len(r.Acts) != 1 || len(r.Open) != 1 || len(r.Links) != 2 {
		t.Errorf("%+v", r)
	}
}
