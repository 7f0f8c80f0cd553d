package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/headroom"
)

// A LinkResult is one run of demo headroom. Sizes are in bytes on the wire, of one lossless queue.
type LinkResult struct {
	Act        string `json:"act"`
	Length     string `json:"length"` // of cable; with + it grew
	Speed      int64  `json:"speed_bits_per_second"`
	Control    bool   `json:"control"`
	TripNs     int64  `json:"trip_ns"`         // the shortest, on the idle link
	LongestNs  int64  `json:"longest_trip_ns"` // with what a turn-around may be wrong by
	T          int64  `json:"t_ns"`            // of the formula
	Precision  int64  `json:"precision_ns"`    // of a stamp
	Wire       int64  `json:"wire_bytes"`      // on the idle link
	Reaction   int64  `json:"reaction_bytes"`
	Eta        int64  `json:"eta_bytes"`
	Delay      int64  `json:"delay_bytes"` // of IEEE 802.1Q
	Plain      int64  `json:"plain_bytes"`
	Measured   int64  `json:"measured_bytes"`
	Burst      int64  `json:"burst_bytes"` // part of Measured
	Configured int64  `json:"configured_bytes"`
	Peak       int64  `json:"peak_bytes"`          // most that came after an XOFF had left
	Used       int64  `json:"tightest_used_bytes"` // that came after the XOFF which left least of the headroom
	Room       int64  `json:"tightest_room_bytes"` // that was found, and in force, as that one left
	Exceeded   uint64 `json:"exceeded_xoffs"`      // after which more came than was found, and in force, as they left
	Ring       int64  `json:"ring_bytes"`          // most that had come before
	Ringed     uint64 `json:"ring_frames"`         // that waited in the ring since more came after an XOFF had left than the headroom holds
	Crowded    uint64 `json:"crowded_frames"`      // the same, behind what had come before
	IdleLateNs int64  `json:"line_idle_late_ns"`   // by which half of the frames left both delay lines too late, before the load
	LateNs     int64  `json:"line_late_ns"`        // by which a frame left the delay line that leads here too late, at most; 0 where there is none
	Xoffs      uint64 `json:"xoffs"`
	Blocked    uint64 `json:"blocked"` // how often the receiver has blocked, as its switch heard
	Lost       uint64 `json:"lost_frames"`
}

// Limits of demo headroom.
const (
	enoughXoffs   = 200
	generousLimit = 2.5 // times the peak, and two frames, that the headroom without its burst may be
	doubleLimit   = 0.2 // that the wire part may miss the double on a link of double length
	largestFrame  = 1514 + 24
	// linkWaitLimit is the share of a run for which a process may wait for a CPU. It is more than elsewhere: switches with a delay
	// line spin, so that four processes always want two CPUs; and what is judged are bytes by the kernel's stamps, no rates.
	linkWaitLimit = 0.5
)

// judgeLink adds what a run showed to the report.
func (l *linkAct) judgeLink(r *Report) {
	flows := l.act.flows()
	r.Flows = append(r.Flows, flows...)
	for _, s := range l.switches {
		r.Switches = append(r.Switches, s.result(l.name))
	}
	r.Acts = append(r.Acts, ActResult{Act: l.name, Title: l.title, Control: l.control, Waiting: l.waiting, Behind: l.behind(), LongestStall: l.longestStall()})
	if r.Machine == "" && l.waiting > linkWaitLimit {
		r.Machine = fmt.Sprintf("run %s: a process waited for a CPU for %.0f %% of the run, more than %.0f %%", l.name, 100*l.waiting, 100*linkWaitLimit)
	}
	l.checkSteps(r)
	p, err := portOf(l.switches[1].state.headroom, farPort)
	if err != nil || len(p.Queues) == 0 {
		r.check(l.name, KindRun, "s2 tells of the link's headroom", "yes", "no", false)
		return
	}
	result := l.result(p, flows)
	r.Links = append(r.Links, result)
	l.checkLink(r, &result, flows)
	l.checkTrip(r)
	if l.grow {
		l.checkGrown(r, &result, wireOf(p))
	}
}

// wireOf is the part of a port's measured headroom that the way there and back takes now.
func wireOf(p *api.HeadroomPort) int64 {
	for _, t := range p.Measured.Terms {
		if t.Name == "wire" {
			return octets(t.Bits)
		}
	}
	return 0
}

// checkTrip: no trip is shorter than the link, which the measurement is not told; t of the formula is one of the trips; and the wire
// part is what passes in t and what two stamps may be wrong by, rounded up. None of it is a matter of the machine.
func (l *linkAct) checkTrip(r *Report) {
	m := &l.measured
	least := (2 * l.cable.delay).Nanoseconds()
	r.check(l.name, KindMeasured, "shortest trip, ns", fmt.Sprintf("at least %d, there and back", least), fmt.Sprint(m.Trip.MinNs), m.Trip.MinNs >= max(least, 1))
	t, wire := m.Finding.TripNs, wireOf(m)
	want := ((t+2*m.Finding.PrecisionNs)*l.speed + 8e9 - 1) / 8e9
	r.check(l.name, KindMeasured, fmt.Sprintf("t of the formula, ns, of %d trips, and its wire part, bytes", m.Trip.Samples),
		fmt.Sprintf("%d to %d, %d", m.Trip.MinNs, longestT(m), want), fmt.Sprintf("%d, %d", t, wire), m.Trip.MinNs <= t && t <= longestT(m) && wire == want)
}

// longestT is the most that t of the formula can be: the longest trip with what the longest turn-around may be wrong by.
func longestT(m *api.HeadroomPort) int64 {
	if m.Turn == nil {
		return m.Trip.MaxNs
	}
	return m.Trip.MaxNs + int64(headroom.TurnError(time.Duration(m.Turn.MaxNs)))
}

// checkSteps notes where the link did not grow in time: then nothing was followed, and the run is made again.
func (l *linkAct) checkSteps(r *Report) {
	if r.Machine == "" && l.grow && l.steps < growSteps {
		r.Machine = fmt.Sprintf("run %s: the link was made longer %d times while frames flowed, not %d times", l.name, l.steps, growSteps)
	}
}

// checkGrown: the wire part has risen by what the link was made longer, of which the measurement is not told. It cannot rise by less
// because the machine is slow, since no trip is shorter than the link; by more it can.
func (l *linkAct) checkGrown(r *Report, k *LinkResult, wire int64) {
	kind := KindMeasured
	if r.Machine != "" {
		kind = KindRate
	}
	grown := int64(l.grown) * l.speed / 8 / 1e9
	least := float64(wire-bytesIn(l.speed, k.TripNs)) / float64(max(grown, 1))
	r.check(l.name, kind, fmt.Sprintf("wire part above the shortest trip before, of the %d bytes by which the link has grown", grown),
		fmt.Sprintf("at least %.1f", 1-doubleLimit), fmt.Sprintf("%.2f", least), least >= 1-doubleLimit)
	ratio := float64(wire-k.Wire) / float64(max(grown, 1))
	r.onTime(l.name, fmt.Sprintf("wire part grown, of the %d bytes by which the link has", grown), "1 within 20 %", fmt.Sprintf("%.2f", ratio),
		ratio >= 1-doubleLimit && ratio <= 1+doubleLimit, "a delay line that is late under load looks longer than it is")
}

// onTime adds what a machine that is late can spoil: a check where all links run, which takes an idle machine, else no more than
// what was seen and why it says nothing.
func (r *Report) onTime(act, name, want, got string, pass bool, why string) {
	if r.Quick {
		r.leave(act, name, want, got, why)
		return
	}
	r.check(act, KindRate, name, want, got, pass)
}

// bytesIn is how many bytes pass in so many ns at a speed in bit/s.
func bytesIn(speed, ns int64) int64 { return ns * (speed / 8) / 1e9 }

func (l *linkAct) result(p *api.HeadroomPort, flows []Flow) LinkResult {
	q := &p.Queues[0]
	result := LinkResult{Act: l.name, Length: l.cable.length, Speed: l.speed, Control: l.control, Eta: p.Eta.Bytes, Delay: p.Delay.Bytes,
		TripNs: l.measured.Trip.MinNs, LongestNs: longestT(&l.measured), T: l.measured.Finding.TripNs, Precision: l.measured.Finding.PrecisionNs, Configured: q.SizeBytes, Peak: q.PeakBytes, Ring: q.RingBytes, Ringed: q.RingFrames, Crowded: q.Crowded, Xoffs: q.Xoffs, Exceeded: q.ExceededXoffs,
		IdleLateNs: int64(l.late)}
	if q.Tightest != nil {
		result.Used, result.Room = q.Tightest.UsedBytes, q.Tightest.RoomBytes
	}
	result.Wire, result.LateNs = wireOf(&l.measured), l.lineLate()
	for _, t := range p.Measured.Terms {
		switch t.Name {
		case "reaction":
			result.Reaction = octets(t.Bits)
		case "burst":
			result.Burst = octets(t.Bits)
		}
	}
	result.Measured, result.Plain = p.Measured.Bytes, octets(*p.PlainBits)
	for _, f := range flows {
		result.Lost += f.Lost
	}
	result.Blocked = l.switches[1].pfcReceived(readerPort, losslessPriority) / 2 // XOFF and XON
	return result
}

// lineLate is by how much the latest frame left the delay line of the senders' switch too late.
func (l *linkAct) lineLate() int64 {
	for _, p := range l.switches[0].state.pfc.Ports {
		if p.Port == nearPort && p.DelayLate.MaxNs != nil {
			return *p.DelayLate.MaxNs
		}
	}
	return 0
}

func octets(bits int64) int64 { return (bits + 7) / 8 }

// checkLink: the headroom that was found was enough, and nothing had to fall back on the ring; the control lost frames.
func (l *linkAct) checkLink(r *Report, k *LinkResult, flows []Flow) {
	for _, s := range l.switches {
		r.check(l.name, KindCounters, s.name+": buffers empty, nobody held", "yes", yes(s.empty()), s.empty())
		in, out := s.balance()
		r.check(l.name, KindCounters, s.name+": received + copies = sent + dropped + held", fmt.Sprint(in), fmt.Sprint(out), in == out)
	}
	if l.control {
		r.check(l.name, KindControl, "frames lost with a third of the headroom", "more than 0", fmt.Sprint(k.Lost), k.Lost > 0)
		r.check(l.name, KindControl, "XOFFs after which more came than a third of the headroom", "more than 0", fmt.Sprint(k.Exceeded), k.Exceeded > 0)
		return
	}
	l.checkLossless(r, flows)
	pauses, kind := KindPFC, KindLoss
	if r.Machine != "" {
		pauses, kind = KindRate, KindRate // too few pauses, and late frames, of processes that stood still prove nothing
	}
	enough := fmt.Sprintf("at least %d", enoughXoffs)
	r.check(l.name, pauses, "times that the receiver blocked", enough, fmt.Sprint(k.Blocked), k.Blocked >= enoughXoffs)
	r.check(l.name, pauses, "XOFFs", enough, fmt.Sprint(k.Xoffs), k.Xoffs >= enoughXoffs)
	r.check(l.name, kind, "bytes after the XOFF that left least", fmt.Sprintf("at most the %d found by then", k.Room), fmt.Sprint(k.Used), k.Used <= k.Room)
	r.check(l.name, kind, "XOFFs after which more came than was found by then", "0", fmt.Sprint(k.Exceeded), k.Exceeded == 0)
	r.check(l.name, kind, "frames that waited in the ring since more came after XOFF than the headroom holds", "0", fmt.Sprint(k.Ringed), k.Ringed == 0)
}

// LinksText writes the report of demo headroom for a person.
func (r *Report) LinksText(out io.Writer) error {
	all := linkRows(r.Links)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nRUN\tOF\tLINK\tSPEED\tT µs\tWIRE\tREACTION\tETA\tDV\tPLAIN\tMEASURED\tIN FORCE\tPEAK USED\tLEAST LEFT\tBEFORE XOFF\tWAITED\tLATE µs\tXOFFS\tLOST\t")
	for _, k := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%.1f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%d+%d\t%.0f\t%d\t%d\t\n", k.Act, k.runs, k.name(), rateName(k.Speed), float64(k.TripNs)/1000, k.Wire, k.Reaction,
			k.Eta, k.Delay, k.Plain, k.Measured, k.Configured, k.Peak, k.left(), k.Ring, k.Ringed, k.Crowded, float64(k.LateNs)/1000, k.Xoffs, k.Lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	plot(out, all)
	return r.verdict(out)
}

// A linkRow is a link in the text: of several runs the one that used most headroom, with the fewest XOFFs of one, and what
// was lost in all of them.
type linkRow struct {
	LinkResult
	runs int
}

// linkRows puts the runs on the same link together.
func linkRows(runs []LinkResult) (all []linkRow) {
	for _, k := range runs {
		at := slices.IndexFunc(all, func(r linkRow) bool { return r.Length == k.Length && r.Speed == k.Speed && r.Control == k.Control })
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

// left is what the XOFF that left least has left of the headroom that was found by then.
func (k *linkRow) left() string {
	if k.Used == 0 {
		return "-"
	}
	return fmt.Sprint(k.Room - k.Used)
}

// plotWidth is the number of columns that the largest headroom takes.
const plotWidth = 60

// plot draws each link as a line: # was used, - is in force beyond that.
func plot(out io.Writer, all []linkRow) {
	most := int64(1)
	for _, k := range all {
		most = max(most, k.Configured, k.Peak)
	}
	fmt.Fprintf(out, "\n# most bytes that came after XOFF   - headroom in force beyond them   (%d bytes a column)\n", max(1, most/plotWidth))
	for _, k := range all {
		used := int(k.Peak * plotWidth / most)
		fmt.Fprintf(out, "%3s %-8s %-10s %s%s\n", k.Act, k.Length, rateName(k.Speed), strings.Repeat("#", used),
			strings.Repeat("-", max(0, int(k.Configured*plotWidth/most)-used)))
	}
	fmt.Fprintln(out)
}
