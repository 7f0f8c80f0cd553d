package demo

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

func failed(r *Report) (names []string) {
	for _, c := range r.Checks {
		if c.failed() {
			names = append(names, c.Name)
		}
	}
	return names
}

// linkRun is one whose headroom is not generous.
func linkRun(length string, wire int64) LinkResult {
	return LinkResult{Phase: "1", Length: length, Speed: 1e9, Wire: wire, RoundTripNs: 8 * wire,
		IdleDelayLineLateNs: 400, Measured: 20_000 + wire, Burst: 10_000, Configured: 60_000 + wire,
		Holds: 20_000 + wire, Peak: 5000 + wire, Paced: 5000 + wire, delay: time.Duration(4 * wire)}
}

func TestJudgeLinks(t *testing.T) {
	tests := []struct {
		name  string
		links []LinkResult
		want  []string
	}{
		{"as it should be", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000)}, nil},
		{"a link of double length that is no longer", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 13_000)},
			[]string{"wire part of 20 km, of 10 km, at 1 Gbit/s"}},
		{"the median counts", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 13_000), linkRun("20 km", 26_000),
			linkRun("20 km", 26_000)}, nil},
		{"one that grows is no measure", []LinkResult{linkRun("10 km", 13_000), linkRun("20 km", 26_000),
			linkRun("10 km+", 900_000)}, nil},
		{"generous", []LinkResult{{Phase: "1", Length: "0 m", Speed: 1e9, Measured: 40_000, Burst: 10_000, Peak: 15_000,
			Paced: 5000}},
			[]string{"0 m at 1 Gbit/s: headroom without burst and send call, of 2.5 × most bytes after XOFF without " +
				"them + 2 frames (median of 1)"}},
		{"generous, but for the burst", []LinkResult{{Phase: "1", Length: "0 m", Speed: 1e9, Measured: 40_000,
			Burst: 20_000, SendCall: 6250, Peak: 5000, Paced: 5000}}, nil},
		{"a short link, on which nothing is on its way", []LinkResult{{Phase: "1", Length: "0 m", Speed: 1e8, Wire: 90,
			Measured: 3000, Burst: 100}}, nil},
		{"one that nobody has used", []LinkResult{{Phase: "1", Length: "10 km", Speed: 1e9,
			delay: 50 * time.Microsecond, Measured: 3000, Burst: 100}},
			[]string{"10 km at 1 Gbit/s: most bytes after XOFF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{Links: tt.links}
			judgeLinks(r)
			assert.Same(t, failed(r), tt.want, "failed")
		})
	}
}

// A run that broke has no result, and no figures of what was not measured.
func TestLinkText(t *testing.T) {
	r := &Report{Demo: "headroom", Links: []LinkResult{{Phase: "1", Holds: 4000, Peak: 2000, Xoffs: 300, Lost: 1}},
		Phases: []PhaseResult{{Phase: "1", Title: "first"}, {Phase: "2", Title: "second"}}}
	var out strings.Builder
	for _, a := range r.Phases {
		assert.Must(t, r.phaseText(&out, a))
	}
	const want = "(1) first\n  the headroom holds 4000 bytes, at most 2000 came after an XOFF; 300 XOFFs, 1 frames " +
		"lost\n(2) second\n  no result\n"
	got := out.String()
	assert.True(t, got == want, "%q, want %q", got, want)
	r.Links, r.whole, r.Pass = nil, true, true
	if got := r.seen(); got != nil {
		t.Errorf("nothing was measured, but: %q", got)
	}
}

// What a machine that was late explains is not judged: how generous a headroom is, whose reaction it measured.
func TestJudgeLateLinks(t *testing.T) {
	k := LinkResult{Phase: "1", Length: "0 m", Speed: 1e9, Measured: 28_000, Burst: 10_000, Paced: 5000}
	for _, tt := range []struct {
		short shortage
		open  int
	}{{shortage{}, 0}, {shortage{runQueueDelay: .3, waitingProcess: "s1"}, 1}} {
		k.shortage = tt.short
		r := &Report{Demo: "headroom", Links: []LinkResult{k}}
		judgeLinks(r)
		c := r.Checks[len(r.Checks)-1]
		assert.True(t, c.Kind == Soft && c.Got == "1.16" && c.Judged == (tt.open == 0) && !c.Pass,
			"%+v: %+v", tt.short, c)
		var out strings.Builder
		r.Judge()
		if err := r.End(&out); err != nil || strings.Count(out.String(), "not judged (1)") != tt.open {
			t.Errorf("%v, printed\n%s", err, out.String())
		}
	}
}

// A link of double length whose wire part does not double is a fault, unless the machine was late: by the shortest of
// all trips it does, or the delay lines that make it were late as a rule.
func TestJudgeDouble(t *testing.T) {
	for _, tt := range []struct {
		name         string
		wire, trip   int64 // of the longer link; of the shorter 13,000 octets and 104,000 ns
		late         int64 // ns, of the shorter link's delay lines
		pass, judged bool
	}{
		{"double", 26_000, 208_000, 400, true, true},
		{"at the limits", 20_800, 166_400, 400, true, true},
		{"the same", 13_000, 104_000, 400, false, true},
		{"far more", 39_000, 312_000, 400, false, true},
		{"far more, but for the shortest trip", 39_000, 208_000, 400, false, false},
		{"far more, with delay lines that are late", 39_000, 312_000, 52_000, false, false},
	} {
		r := &Report{}
		short, long := linkRun("10 km", 13_000), linkRun("20 km", tt.wire)
		short.IdleDelayLineLateNs, long.RoundTripNs = tt.late, tt.trip
		r.judgeDouble([]LinkResult{short}, []LinkResult{long})
		if c := r.Checks[0]; c.Pass != tt.pass || c.Judged != tt.judged || c.Kind != Soft || len(r.Checks) != 1 ||
			!c.Judged && !strings.Contains(c.Reason, "late") {
			t.Errorf("%s: checks %+v, want pass %v, judged %v", tt.name, r.Checks, tt.pass, tt.judged)
		}
	}
}

// No trip is shorter than the link, whatever the machine withheld.
func TestCheckTrip(t *testing.T) {
	for shortest, want := range map[int64]bool{100_000: true, 180_000: true, 99_999: false} {
		r := &Report{}
		l := &linkPhase{phase: phase{report: r, speed: 1e9, usage: usage{shortage: busy}},
			cable: cable{delay: 50 * time.Microsecond}}
		l.measured = api.HeadroomPort{Trip: &api.Spread{Samples: 40, MinNs: shortest}}
		l.checkTrip()
		if c := r.Checks[0]; c.Pass != want || c.Kind != Hard || len(r.Checks) != 1 {
			t.Errorf("%d ns: %+v, want %v", shortest, r.Checks, want)
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
		{"not set here", func(p *api.HeadroomPort) { p.HoldsBytes-- }, false, true},
	} {
		p := &api.HeadroomPort{Measured: &api.HeadroomValue{}, Told: true, PeerFoundBits: new(int64), PeerApplied: true,
			TargetBytes: &target, HoldsBytes: target, Trip: &api.Spread{Samples: 4 * openingSamples}}
		tt.change(p)
		assert.Equal(t, (&linkPhase{}).settled(p), tt.want, "%s", tt.name)
		assert.Equal(t, (&linkPhase{phase: phase{control: true}}).settled(p), tt.control, "%s, control", tt.name)
	}
}

// The control has a third of what runs on the same link used, and room for a frame in any case.
func TestThirdUsed(t *testing.T) {
	r := &Report{Links: []LinkResult{{Length: "10 km", Speed: 1e9, Peak: 30_000},
		{Length: "10 km", Speed: 1e8, Peak: 90_000}, {Length: "10 km+", Speed: 1e9, Peak: 90_000}}}
	l := &linkPhase{phase: phase{report: r, speed: 1e9}, cable: cable{length: "10 km"}}
	got := l.thirdUsed()
	assert.True(t, got == 10_000, "got %d, want 10000", got)
	l.cable.length = "1 m"
	got = l.thirdUsed()
	assert.True(t, got >= largestFrame, "got %d, which holds no frame", got)
}

// All runs are there: each length at both speeds five times, or with Quick a few; a link that grows; a control, last.
// With a speed all links have it, and the control loses frames on a cable that holds several.
func TestLinkPhases(t *testing.T) {
	for _, tt := range []struct {
		o       Options
		runs    int
		control string // its cable
	}{
		{Options{}, 46, "10 km"},
		{Options{Quick: true}, 6, "10 km"},
		{Options{Speed: 1e9}, 24, "10 km"},
		{Options{Speed: 1e9, Quick: true}, 6, "10 km"},
		{Options{Speed: 2e8}, 24, "100 km"},
		{Options{Speed: 5e7}, 24, "100 km"},
		{Options{Speed: 5e7, Quick: true}, 6, "100 km"},
	} {
		all := linkPhases(tt.o)
		assert.Equal(t, len(all), tt.runs, "%+v: runs", tt.o)
		last, grows := all[len(all)-1], all[len(all)-2]
		assert.True(t, last.control && last.cable.length == tt.control && grows.grow && grows.during != nil,
			"%+v: the last are %q and %q", tt.o, grows.title, last.title)
		seen, count := map[string]bool{}, map[link]int{}
		for _, l := range all {
			assert.True(t, !seen[l.name] && l.build != nil && l.judge != nil && l.prepare != nil && (tt.o.Speed == 0 ||
				l.speed == tt.o.Speed), "%+v: phase %s, %s", tt.o, l.name, l.title)
			seen[l.name] = true
			if !l.control {
				count[link{l.cable.length, l.speed}]++
			}
		}
		if tt.o.Quick || tt.o.Speed != 0 {
			continue
		}
		wanted := map[string]int{"0 m": 5, "100 m": 5, "10 km": 5, "100 km": 5, "20 km": 1, "200 km": 1}
		for length, want := range wanted {
			slow, fast := count[link{length, 1e8}], count[link{length, 1e9}]
			assert.True(t, slow == want && fast == want, "%s runs %d and %d times, want %d", length, slow, fast, want)
		}
	}
	_, err := Links(context.Background(), Options{Seconds: 1, Speed: 2e7})
	assert.Fails(t, err, "50 Mbit/s or more", "20 Mbit/s")
}

// In each run the receiver blocks often enough, more often where a frame after XOFF is rare, within the load, each time
// for longer than what is on its way takes.
func TestPace(t *testing.T) {
	for _, seconds := range []float64{1, 7} {
		for _, l := range linkPhases(Options{Seconds: seconds}) {
			b := l.block
			least := wantedXoffs + 1
			if l.speed == 1e8 && l.cable.delay < time.Microsecond {
				least *= 3
			}
			assert.True(t, b.times >= least && time.Duration(b.times)*b.every() <= l.seconds &&
				l.seconds.Seconds() >= seconds, "%s: blocks %+v, in %v", l.title, b, l.seconds)
			if trip := 2 * l.cable.delay; b.blocked < trip+2*time.Millisecond || b.read < trip+2*time.Millisecond {
				t.Errorf("%s: blocks %+v, with a trip of %v", l.title, b, trip)
			}
		}
	}
	l := &linkPhase{phase: phase{start: time.Unix(0, 7)},
		block: blocking{2 * time.Millisecond, 3 * time.Millisecond, 9}}
	want := []string{"--block-at", "7", "--block-for", "2ms", "--block-every", "5ms", "--block-times", "9"}
	got := l.sinkArgs()
	assert.True(t, slices.Equal(got[len(got)-len(want):], want), "arguments %q, want %q", got, want)
}

func TestLinksText(t *testing.T) {
	r := &Report{Demo: "headroom", Links: []LinkResult{linkRun("0 m", 0),
		{Phase: "2", Length: "10 km", Speed: 1e8, Control: true, Peak: 90_000, Configured: 30_000, Lost: 7},
		{Phase: "3", Length: "10 km", Speed: 1e8, Peak: 700, Used: 700, Room: 720, Xoffs: 222},
		{Phase: "4", Length: "10 km", Speed: 1e8, Peak: 900, Used: 900, Room: 999, Xoffs: 333, Lost: 1}}}
	r.control("2", "frames lost", "more than 0", "7", true, true)
	r.Judge()
	var out strings.Builder
	assert.Must(t, r.Text(&out))
	for _, want := range []string{"10 km (control)", "100 Mbit/s", "##---", strings.Repeat("#", plotWidth) + "\n",
		"PASS (1 checks, 0 failed)", "\n    4   2 "} {
		assert.True(t, strings.Contains(out.String(), want), "no %q in\n%s", want, out.String())
	}
	rows := linkRows(r.Links)
	assert.True(t, len(rows) == 3 && rows[2].Peak == 900 && rows[2].Xoffs == 222 && rows[2].Lost == 1 &&
		rows[2].Phase == "4" && rows[2].left() == "20" && rows[0].left() == "-", "rows %+v", rows)
}

// Every check of a run can fail, and fails alone. What came after XOFF must fit what was found, not what was set beyond
// it.
func TestCheckLink(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(k *LinkResult, f *Flow)
		want   []string
	}{
		{"as it should be", func(*LinkResult, *Flow) {}, nil},
		{"more than was found by then", func(k *LinkResult, _ *Flow) { k.Exceeded, k.Peak = 1, 3 },
			[]string{"XOFFs after which more came than was found by then"}},
		{"it waited in the ring", func(k *LinkResult, _ *Flow) { k.RingFrames = 1 },
			[]string{"frames that waited in the ring since more came after XOFF than the headroom holds"}},
		{"few XOFFs", func(k *LinkResult, _ *Flow) { k.Xoffs = 199 }, []string{"XOFFs for what is judged of them"}},
		{"no XOFF", func(k *LinkResult, _ *Flow) { k.Xoffs = 0 },
			[]string{"XOFFs", "XOFFs for what is judged of them"}},
		{"nobody blocked", func(k *LinkResult, _ *Flow) { k.Blocked = 199 },
			[]string{"times that the receiver blocked"}},
		{"lost", func(_ *LinkResult, f *Flow) { f.Lost = 1 }, []string{"lossless frames lost"}},
		{"nothing sent", func(_ *LinkResult, f *Flow) { f.Sent = 0 }, []string{"lossless frames sent"}},
		{"a control that loses nothing", func(k *LinkResult, _ *Flow) { k.Control, k.Exceeded = true, 1 },
			[]string{"frames lost with a third of the headroom"}},
		{"a control that needs no more", func(k *LinkResult, _ *Flow) { k.Control = true }, nil},
	} {
		r := &Report{}
		k := &LinkResult{Wire: 13_000, RoundTripNs: 103_000, Measured: 30_000, Configured: 40_000, Holds: 40_000,
			Peak: 30_000,
			Used: 28_000, Room: 28_000, Xoffs: wantedXoffs, Blocked: wantedXoffs}
		f := Flow{Priority: losslessPriority, Lossless: true, Sent: 9, Received: 9}
		tt.change(k, &f)
		l := &linkPhase{phase: phase{report: r, control: k.Control, flows: []flow{{Flow: f}}}}
		l.checkLink(k)
		if got := failed(r); !slices.Equal(got, tt.want) || (r.CouldNotRun != "") != (k.Control && k.Exceeded == 0) {
			t.Errorf("%s: failed %q, could not run %q, want %q", tt.name, got, r.CouldNotRun, tt.want)
		}
	}
}

// That the measurement follows a link that grows is judged always where the link has grown while frames flowed; that it
// goes no further where the machine was not late.
func TestCheckGrown(t *testing.T) {
	const follows = "wire part above the shortest trip before, of the 125000 bytes by which the link has grown"
	const same = "wire part grown, of the 125000 bytes by which the link has"
	slow := usage{shortage: shortage{runQueueDelay: .3, waitingProcess: "s1"}}
	for _, tt := range []struct {
		name     string
		steps    int
		before   int64 // the wire part
		after    int64
		usage    usage
		failed   []string
		unjudged int
	}{
		{"as it should be", growSteps, 13_500, 138_000, usage{}, nil, 0},
		{"it goes too far", growSteps, 13_500, 170_000, usage{}, []string{same}, 0},
		{"it goes too far on a machine that is late", growSteps, 13_500, 188_000, slow, nil, 1},
		{"it does not follow", growSteps, 13_500, 13_000, usage{}, []string{follows, same}, 0},
		{"it does not follow on a machine that is late", growSteps, 13_500, 100_000, slow, []string{follows}, 1},
		{"only a slow start makes the growth small", growSteps, 50_000, 138_000, usage{}, []string{same}, 0},
		{"the link was not made longer in time", growSteps - 1, 13_500, 100_000, usage{}, nil, 1},
	} {
		r := &Report{}
		l := &linkPhase{phase: phase{report: r, speed: 1e9, usage: tt.usage}, grow: true, grown: time.Millisecond,
			steps: tt.steps}
		l.checkGrown(&LinkResult{Wire: tt.before, RoundTripNs: 103_000}, tt.after)
		unjudged := 0
		for _, c := range r.Checks {
			if !c.Judged {
				unjudged++
			}
		}
		if got := failed(r); !slices.Equal(got, tt.failed) || unjudged != tt.unjudged {
			t.Errorf("%s: failed %q, %d not judged, want %q and %d", tt.name, got, unjudged, tt.failed, tt.unjudged)
		}
	}
}
