package demo

import (
	"fmt"
	"math"
	"slices"
)

// seen says in three sentences what a demo has shown, from the figures of its report; nothing where it did not show
// all.
func (r *Report) seen() []string {
	if !r.whole || r.CouldNotRun != "" {
		return nil
	}
	switch r.Demo {
	case "incast":
		return r.seenIncast()
	case "host":
		return r.seenHosts()
	case "headroom":
		return r.seenLinks()
	case "deadlock":
		return r.seenDeadlock()
	case "trunk":
		return r.seenTrunk()
	case "dcqcn":
		return r.seenCongestion()
	}
	return nil
}

func (r *Report) seenIncast() []string {
	return []string{
		fmt.Sprintf("With PFC, priority 3 lost %s, over one switch and over two.",
			lostOf(r.sum(losslessPriority, "a", "b"))),
		r.seenPFC("a", "b"),
		fmt.Sprintf("Without PFC, the same load lost %s of priority 3; the lossy priority 0 lost %s with PFC too.",
			lostShare(r.sum(losslessPriority, "c1", "c2")), lostShare(r.sum(0, "a", "b"))),
	}
}

// seenPFC says what the switches did in phases with flow control.
func (r *Report) seenPFC(phases ...string) string {
	frames, most := uint64(0), Headroom{Configured: 1}
	for _, s := range r.Switches {
		if !slices.Contains(phases, s.Phase) {
			continue
		}
		frames += s.PFCSent
		for _, h := range s.Headroom {
			if h.Peak*most.Configured > most.Peak*h.Configured {
				most = h
			}
		}
	}
	return fmt.Sprintf("The switches paused their senders with %d PFC frames, and what still came took at most "+
		"%.0f %% of the headroom.", frames, 100*float64(most.Peak)/float64(most.Configured))
}

func (r *Report) seenHosts() []string {
	tcp := func(phase string) (megabytes float64, again uint64) {
		for _, t := range r.Transfers {
			if t.Phase == phase {
				megabytes, again = megabytes+float64(t.Octets)/1e6, again+t.Retransmitted
			}
		}
		return megabytes, again
	}
	megabytes, again := tcp("a")
	controlMegabytes, controlAgain := tcp("b")
	return []string{
		fmt.Sprintf("With PFC and host NICs, TCP carried %.1f MB and sent %d segments again.", megabytes, again),
		r.seenPFC("a"),
		fmt.Sprintf("Without flow control at the switch, TCP carried %.1f MB and sent %d segments again.",
			controlMegabytes, controlAgain),
	}
}

func (r *Report) seenLinks() []string {
	runs, lost, control, least, most, used := 0, uint64(0), uint64(0), int64(math.MaxInt64), int64(0), 0.0
	for _, k := range r.Links {
		if k.Control {
			control += k.Lost
			continue
		}
		runs, lost = runs+1, lost+k.Lost
		least, most = min(least, k.Measured), max(most, k.Measured)
		used = max(used, float64(k.Peak)/float64(max(1, k.Holds)))
	}
	return []string{
		fmt.Sprintf("In %d runs with measured headroom of %d to %d bytes, %d frames were lost.", runs, least, most,
			lost),
		fmt.Sprintf("What came after an XOFF took at most %.0f %% of the headroom in force.", 100*used),
		fmt.Sprintf("With a third of the headroom that was used, %d frames were lost.", control),
	}
}

func (r *Report) seenDeadlock() []string {
	dropped := uint64(0)
	for _, s := range r.Switches {
		if s.Phase == "c" {
			dropped += s.Discarded
		}
	}
	locked := r.sum(losslessPriority, "a")
	return []string{
		fmt.Sprintf("Without a watchdog, three switches waited for each other, and %d of %d frames of priority 3 "+
			"never arrived.", locked.Lost, locked.Sent),
		fmt.Sprintf("With the watchdog, the same ring lost %s; where frames circled, the watchdog dropped %d.",
			lostOf(r.sum(losslessPriority, "b")), dropped),
		fmt.Sprintf("While a host paused its port again and again, priority 3 lost %s.",
			lostOf(r.sum(losslessPriority, "d"))),
	}
}

func (r *Report) seenTrunk() []string {
	offered, off := uint64(0), 0.0
	for _, m := range r.Meters {
		offered += m.Real.Offered
		for _, n := range [][2]uint64{{m.Real.Green, m.Model.Green}, {m.Real.Yellow, m.Model.Yellow},
			{m.Real.Red, m.Model.Red}} {
			off = max(off, math.Abs(float64(n[0])-float64(n[1]))/float64(max(1, m.Real.Offered)))
		}
	}
	var byFill, byFlow Distribution
	for _, d := range r.Distribution {
		if d.Phase == "3a" {
			byFill = d
		} else {
			byFlow = d
		}
	}
	return []string{
		fmt.Sprintf("Of %d frames, meters on real links coloured at most %.1f %% of a priority otherwise than in "+
			"virtual time.", offered, 100*off),
		fmt.Sprintf("Watermarks held the members, and then the uplink, and priority 3 lost %s.",
			lostOf(r.sum(losslessPriority, "2a", "2b"))),
		fmt.Sprintf("By fill, members were at most %.2f %% off their mean; by flow, %d of %d frames came out of order.",
			100*byFill.Imbalance, byFlow.Reordered, byFlow.Sent),
	}
}

// sum adds up the flows of a priority in phases.
func (r *Report) sum(priority uint8, phases ...string) (sum Flow) {
	for _, f := range r.Flows {
		if f.Priority == priority && slices.Contains(phases, f.Phase) {
			sum.Sent, sum.Lost = sum.Sent+f.Sent, sum.Lost+f.Lost
		}
	}
	return sum
}

func lostOf(f Flow) string {
	if f.Lost == 0 {
		return fmt.Sprintf("none of %d frames", f.Sent)
	}
	return fmt.Sprintf("%d of %d frames", f.Lost, f.Sent)
}

func lostShare(f Flow) string {
	return fmt.Sprintf("%.0f %%", 100*float64(f.Lost)/float64(max(1, f.Sent)))
}

func (r *Report) seenCongestion() []string {
	in := func(phase string) Congestion {
		return find(r.Congestion, func(c *Congestion) bool { return c.Phase == phase })
	}
	pfc, slowed := in("a"), in("b")
	return []string{
		fmt.Sprintf("With PFC alone, senders were paused for %.0f %% of the time, and %d bytes waited.",
			100*pfc.Paused, pfc.QueueMean),
		fmt.Sprintf("With ECN and DCQCN, %d CNPs slowed them down: they were paused for %.0f %%, and %d bytes waited.",
			slowed.CNPsReceived, 100*slowed.Paused, slowed.QueueMean),
		fmt.Sprintf("Either way, priority 3 lost %s.", lostOf(r.sum(losslessPriority, "a", "b"))),
	}
}
