package demo

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/headroom"
)

// A LinkResult is one run of demo headroom. Sizes are in bytes on the wire, of one lossless queue.
type LinkResult struct {
	Phase              string `json:"act"`
	Length             string `json:"length"` // of cable; with + it grew
	Speed              int64  `json:"speed_bits_per_second"`
	Control            bool   `json:"control"`
	RoundTripNs        int64  `json:"trip_ns"`         // the shortest, on the idle link
	LongestRoundTripNs int64  `json:"longest_trip_ns"` // with what a turn-around may be wrong by
	T                  int64  `json:"t_ns"`            // of the formula
	Precision          int64  `json:"precision_ns"`    // of a stamp
	Wire               int64  `json:"wire_bytes"`      // on the idle link
	Reaction           int64  `json:"reaction_bytes"`
	Eta                int64  `json:"eta_bytes"`
	Delay              int64  `json:"delay_bytes"` // of IEEE 802.1Q
	Plain              int64  `json:"plain_bytes"`
	Measured           int64  `json:"measured_bytes"`
	Burst              int64  `json:"burst_bytes"`      // part of Measured
	SendCall           int64  `json:"send_call_bytes"`  // likewise: the reaction, where a send call ends it
	Configured         int64  `json:"configured_bytes"` // of the buffer; all others are on the wire
	Holds              int64  `json:"holds_bytes"`      // of those
	Peak               int64  `json:"peak_bytes"`       // most that came after an XOFF had left
	// Peak without the peer's burst, which exceeds the link's speed
	Paced int64 `json:"paced_bytes"`
	Used  int64 `json:"tightest_used_bytes"` // after the XOFF that left the least headroom
	Room  int64 `json:"tightest_room_bytes"` // measured and in force when that XOFF left
	// XOFFs after which more came than was measured and in force
	Exceeded uint64 `json:"exceeded_xoffs"`
	Ring     int64  `json:"ring_bytes"` // most that was there before
	// frames that waited in the ring because more came after XOFF than the headroom holds
	RingFrames       uint64 `json:"ring_frames"`
	BackloggedFrames uint64 `json:"crowded_frames"` // the same, behind earlier frames
	// median lateness of both delay lines before the load
	IdleDelayLineLateNs int64 `json:"line_idle_late_ns"`
	// largest lateness of a frame in the delay line to this end; 0 where there is none
	DelayLineLateNs int64  `json:"line_late_ns"`
	Xoffs           uint64 `json:"xoffs"`
	Blocked         uint64 `json:"blocked"` // how often the receiver paused its switch
	Lost            uint64 `json:"lost_frames"`

	delay    time.Duration // of the cable, one way
	shortage shortage
}

// Limits of demo headroom.
const (
	wantedXoffs   = 200
	generousLimit = 2.5 // times what came after XOFF, and two frames, that the headroom may be, at the link's rate
	doubleLimit   = 0.2 // that the wire part may miss the double on a link of double length
	largestFrame  = 1514 + 24
)

// judgeLink adds the results of a run to the report.
func (l *linkPhase) judgeLink() {
	p := l.switches[1].headroom(farPort)
	if len(p.Queues) == 0 {
		l.holds(TopicRun, "s2 tells of the link's headroom", false)
		return
	}
	result := l.linkResult(&p)
	l.report.Links = append(l.report.Links, result)
	l.checkLink(&result)
	l.checkTrip()
	if l.grow {
		l.checkGrown(&result, term(&p, "wire"))
	}
}

// term is a part of a port's measured headroom, such as wire, for the round trip on the wire.
func term(p *api.HeadroomPort, name string) int64 {
	return octets(find(p.Measured.Terms, func(t *api.HeadroomTerm) bool { return t.Name == name }).Bits)
}

// checkTrip: no measured round trip is shorter than the link, whose delay the measurement does not know.
func (l *linkPhase) checkTrip() {
	m := &l.measured
	least := (2 * l.cable.delay).Nanoseconds()
	l.hard(TopicMeasured, fmt.Sprintf("shortest trip of %d, ns", m.Trip.Samples),
		fmt.Sprintf("at least %d, there and back", least), fmt.Sprint(m.Trip.MinNs), m.Trip.MinNs >= max(least, 1))
}

// longestT is the upper bound of t in the formula: the longest trip plus the error of the longest turn-around.
func longestT(m *api.HeadroomPort) int64 {
	if m.Turn == nil {
		return m.Trip.MaxNs
	}
	return m.Trip.MaxNs + int64(headroom.TurnaroundError(time.Duration(m.Turn.MaxNs)))
}

// checkGrown: the wire part has grown with the link, whose delay the measurement does not know. On a slow machine it
// may grow by more, but not by less, since no trip is shorter than the link.
func (l *linkPhase) checkGrown(k *LinkResult, wire int64) {
	grown := int64(l.grown) * l.speed / 8 / 1e9
	name := fmt.Sprintf("wire part above the shortest trip before, of the %d bytes by which the link has grown", grown)
	least := fmt.Sprintf("at least %.1f", 1-doubleLimit)
	if l.steps < growSteps {
		l.report.unjudged(l.name, TopicMeasured, name, least, "-",
			fmt.Sprintf("the link was made longer %d times while frames flowed, not %d times: %v", l.steps, growSteps,
				l.usage.shortage))
		return
	}
	ratio := func(from int64) float64 { return float64(wire-from) / float64(max(grown, 1)) }
	above, part := ratio(bytesIn(l.speed, k.RoundTripNs)), ratio(k.Wire)
	l.hard(TopicMeasured, name, least, fmt.Sprintf("%.2f", above), above >= 1-doubleLimit)
	l.soft(TopicMeasured, fmt.Sprintf("wire part grown, of the %d bytes by which the link has", grown), "1 within 20 %",
		fmt.Sprintf("%.2f", part), math.Abs(part-1)-doubleLimit)
}

// bytesIn is how many bytes pass in so many ns at a speed in bit/s.
func bytesIn(speed, ns int64) int64 { return ns * (speed / 8) / 1e9 }

func (l *linkPhase) linkResult(p *api.HeadroomPort) LinkResult {
	q, trip, finding := &p.Queues[0], l.measured.Trip, l.measured.Finding
	result := LinkResult{Phase: l.name, Length: l.cable.length, Speed: l.speed, Control: l.control, Eta: p.Eta.Bytes,
		Delay: p.Delay.Bytes, RoundTripNs: trip.MinNs, LongestRoundTripNs: longestT(&l.measured), T: finding.TripNs,
		Precision: finding.PrecisionNs, Configured: q.SizeBytes, Holds: p.HoldsBytes,
		Peak: q.PeakBytes, Paced: q.PacedBytes,
		Ring: q.RingBytes, RingFrames: q.RingFrames, BackloggedFrames: q.Crowded, Xoffs: q.Xoffs,
		Exceeded: q.ExceededXoffs, Measured: p.Measured.Bytes, Plain: octets(*p.PlainBits),
		Wire: term(&l.measured, "wire"), Reaction: term(p, "reaction"), Burst: term(p, "burst"),
		IdleDelayLineLateNs: int64(l.idleDelayLineLate), delay: l.cable.delay,
		shortage: l.usage.shortage}
	if q.Tightest != nil {
		result.Used, result.Room = q.Tightest.UsedBytes, q.Tightest.RoomBytes
	}
	if s := p.Finding.SendLimitBits; s != nil && result.Reaction >= octets(*s) {
		result.SendCall = result.Reaction
	}
	if late := l.switches[0].pfcPort(nearPort).DelayLate.MaxNs; late != nil {
		result.DelayLineLateNs = *late
	}
	lossless, _ := l.sums()
	result.Lost = lossless.Lost
	result.Blocked = l.switches[1].pfc(readerPort, losslessPriority).ReceivedFrames / 2 // XOFF and XON
	return result
}

func octets(bits int64) int64 { return (bits + 7) / 8 }

// checkLink: the measured headroom was enough without the ring; the control lost frames.
func (l *linkPhase) checkLink(k *LinkResult) {
	l.checkEmpty()
	if l.control {
		l.shows("XOFFs after which more came than a third of the headroom", k.Exceeded, false)
		l.shows("frames lost with a third of the headroom", k.Lost, k.Exceeded > 0)
		return
	}
	l.checkLossless()
	l.some(TopicPFC, "XOFFs", k.Xoffs)
	enough := func(name string, n uint64) {
		l.soft(TopicPFC, name, fmt.Sprintf("at least %d", wantedXoffs), fmt.Sprint(n), 1-float64(n)/wantedXoffs)
	}
	enough("times that the receiver blocked", k.Blocked)
	enough("XOFFs for what is judged of them", k.Xoffs)
	// An end that gets no CPU reacts later than it ever did while the link was measured.
	l.soft(TopicRate, "XOFFs after which more came than was found by then", "0",
		fmt.Sprintf("%d of %d; the one that left least: %d of %d bytes", k.Exceeded, k.Xoffs, k.Used, k.Room),
		float64(k.Exceeded)/float64(max(1, k.Xoffs)))
	lossless, _ := l.sums()
	l.soft(TopicRate, "frames that waited in the ring since more came after XOFF than the headroom holds", "0",
		fmt.Sprint(k.RingFrames), float64(k.RingFrames)/float64(max(1, lossless.Received)))
}

// linkText writes the result of a run; one that broke has none.
func (r *Report) linkText(out io.Writer, a PhaseResult) error {
	result := "no result"
	if at := slices.IndexFunc(r.Links, func(k LinkResult) bool { return k.Phase == a.Phase }); at >= 0 {
		k := &r.Links[at]
		result = fmt.Sprintf("the headroom holds %d bytes, at most %d came after an XOFF; %d XOFFs, %d frames lost",
			k.Holds, k.Peak, k.Xoffs, k.Lost)
	}
	_, err := fmt.Fprintf(out, "(%s) %s\n  %s\n", a.Phase, a.Title, result)
	return err
}

// linksText writes all runs of demo headroom, link by link.
func (r *Report) linksText(out io.Writer) error {
	if r.Demo != "headroom" {
		return nil
	}
	all := linkRows(r.Links)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nRUN\tOF\tLINK\tSPEED\tT µs\tWIRE\tREACTION\tETA\tDV\tPLAIN\tMEASURED\tIN FORCE\tPEAK "+
		"USED\tLEAST LEFT\tBEFORE XOFF\tWAITED\tLATE µs\tXOFFS\tLOST\t")
	for _, k := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%.1f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d+%d\t%.0f\t%d\t%d\t\n", k.Phase,
			k.runs, k.name(), rateName(k.Speed), float64(k.RoundTripNs)/1000, k.Wire, k.Reaction,
			k.Eta, k.Delay, k.Plain, k.Measured, k.Configured, k.Peak, k.left(), k.Ring, k.RingFrames,
			k.BackloggedFrames, float64(k.DelayLineLateNs)/1000, k.Xoffs, k.Lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	bars(out, all)
	return nil
}

// A linkRow is a link in the text. Of several runs it shows the one that used most headroom, the fewest XOFFs, and the
// losses of all.
type linkRow struct {
	LinkResult
	runs int
}

// linkRows puts the runs on the same link together.
func linkRows(runs []LinkResult) (all []linkRow) {
	for _, k := range runs {
		at := slices.IndexFunc(all, func(r linkRow) bool {
			return r.Length == k.Length && r.Speed == k.Speed && r.Control == k.Control
		})
		if at < 0 {
			all = append(all, linkRow{k, 1})
			continue
		}
		row := &all[at]
		fewest, lost, n := min(row.Xoffs, k.Xoffs), row.Lost+k.Lost, row.runs+1
		used, room := row.Used, row.Room
		if used == 0 || k.Used > 0 && k.Room-k.Used < room-used {
			used, room = k.Used, k.Room
		}
		if k.Peak > row.Peak {
			row.LinkResult = k
		}
		row.Xoffs, row.Lost, row.runs, row.Used, row.Room = fewest, lost, n, used, room
	}
	return all
}

func (k *linkRow) name() string {
	if k.Control {
		return k.Length + " (control)"
	}
	return k.Length
}

// left is the smallest remaining headroom after an XOFF.
func (k *linkRow) left() string {
	if k.Used == 0 {
		return "-"
	}
	return fmt.Sprint(k.Room - k.Used)
}

// plotWidth is the number of columns that the largest headroom takes.
const plotWidth = 60

// bars draws each link as a line: # was used, - is in force beyond that.
func bars(out io.Writer, all []linkRow) {
	most := int64(1)
	for _, k := range all {
		most = max(most, k.Holds, k.Peak)
	}
	fmt.Fprintf(out, "\n# most bytes that came after XOFF   - held by the headroom in force beyond them   "+
		"(%d bytes a column)\n", max(1, most/plotWidth))
	for _, k := range all {
		used := int(k.Peak * plotWidth / most)
		fmt.Fprintf(out, "%3s %-8s %-10s %s%s\n", k.Phase, k.Length, rateName(k.Speed), strings.Repeat("#", used),
			strings.Repeat("-", max(0, int(k.Holds*plotWidth/most)-used)))
	}
	fmt.Fprintln(out)
}

// judgeLinks adds the checks over all runs: how generous the headroom is, and that it grows with the link.
func judgeLinks(r *Report) {
	var order []link
	runs := map[link][]LinkResult{}
	for _, k := range r.Links {
		at := link{k.Length, k.Speed}
		if k.Control || strings.HasSuffix(k.Length, "+") {
			continue
		}
		if runs[at] == nil {
			order = append(order, at)
		}
		runs[at] = append(runs[at], k)
	}
	for _, at := range order {
		used := slices.MaxFunc(runs[at], func(a, b LinkResult) int { return cmp.Compare(a.Peak, b.Peak) })
		// on a shorter link nothing need be on its way when XOFF leaves
		if bytesIn(at.speed, int64(2*used.delay)) >= largestFrame {
			r.Hard(used.Phase, TopicPFC, fmt.Sprintf("%s at %s: most bytes after XOFF", at.length, rateName(at.speed)),
				"more than 0", fmt.Sprint(used.Peak), used.Peak > 0)
		}
		r.judgeGenerous(at, runs[at])
	}
	for _, pair := range [][2]string{{"10 km", "20 km"}, {"100 km", "200 km"}} {
		for _, at := range order {
			if long := runs[link{pair[1], at.speed}]; at.length == pair[0] && len(long) > 0 {
				r.judgeDouble(runs[at], long)
			}
		}
	}
}

// A link is the key of runs on the same link.
type link struct {
	length string
	speed  int64
}

// judgeGenerous compares the measured headroom with the octets after XOFF, both at the link's rate. It leaves out the
// peer's burst and send call, which exceed that rate and are there for the worst case.
func (r *Report) judgeGenerous(at link, runs []LinkResult) {
	phase, name := runs[0].Phase, fmt.Sprintf("%s at %s: headroom without burst and send call, of 2.5 × most bytes "+
		"after XOFF without them + 2 frames (median of %d)", at.length, rateName(at.speed), len(runs))
	if median(runs, func(k LinkResult) float64 { return float64(k.Paced) }) == 0 {
		r.unjudged(phase, TopicRate, name, "at most 1", "-",
			"no frame came after an XOFF, since the peer obeys before its next one is due")
		return
	}
	ratio := median(runs, func(k LinkResult) float64 {
		return float64(k.Measured-k.Burst-k.SendCall) / (generousLimit*float64(k.Paced) + 2*largestFrame)
	})
	r.soft(phase, TopicRate, name, "at most 1", fmt.Sprintf("%.2f", ratio), ratio-1, medianShortage(runs))
}

// judgeDouble: a link of double length has double the wire part. A slow machine makes trips longer, so the shortest of
// all trips counts, unless the delay lines were late for it too.
func (r *Report) judgeDouble(short, long []LinkResult) {
	at, name := long[0], fmt.Sprintf("wire part of %s, of %s, at %s", long[0].Length, short[0].Length,
		rateName(long[0].Speed))
	ratio := func(of func(LinkResult) float64) float64 { return median(long, of) / max(1, median(short, of)) }
	wire := ratio(func(k LinkResult) float64 { return float64(k.Wire) })
	trip := ratio(func(k LinkResult) float64 { return float64(k.RoundTripNs) })
	late := median(short, func(k LinkResult) float64 {
		return float64(k.IdleDelayLineLateNs) / float64(max(k.RoundTripNs, 1))
	})
	const want = "2 within 20 %"
	got := fmt.Sprintf("%.2f (%.2f by the shortest trips)", wire, trip)
	doubles := func(ratio float64) bool { return math.Abs(ratio-2) <= 2*doubleLimit }
	switch {
	case doubles(wire):
		r.soft(at.Phase, TopicMeasured, name, want, got, 0, shortage{})
	case doubles(trip):
		r.unjudged(at.Phase, TopicMeasured, name, want, got,
			fmt.Sprintf("the shortest trips are %.2f times as long: the others were late", trip))
	case late >= lateLimit:
		r.unjudged(at.Phase, TopicMeasured, name, want, got,
			fmt.Sprintf("frames left the delay lines of the shorter link by %.1f %% of its trip too late as a rule",
				100*late))
	default:
		r.soft(at.Phase, TopicMeasured, name, want, got, math.Abs(wire-2)-2*doubleLimit, shortage{})
	}
}

// lateLimit is the usual lateness of the delay lines, as a share of a trip, up to which the shortest trip is that of
// the link.
const lateLimit = 0.05

// medianShortage is what the machine withheld from the run in the middle.
func medianShortage(runs []LinkResult) shortage {
	all := slices.SortedFunc(slices.Values(runs), func(a, b LinkResult) int {
		return cmp.Compare(a.shortage.share(), b.shortage.share())
	})
	return all[len(all)/2].shortage
}

func median(all []LinkResult, of func(LinkResult) float64) float64 {
	values := make([]float64, 0, len(all))
	for _, k := range all {
		values = append(values, of(k))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
