package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// seen says in three sentences what a demo has shown, from the figures of its report; nothing where it did not show
// all, or a check denies it.
func (r *Report) seen() []string {
	if !r.whole || !r.Pass {
		return nil
	}
	flows := func(priority uint8, phases ...string) (sum Flow) {
		for _, f := range r.Flows {
			if f.Priority == priority && slices.Contains(phases, f.Phase) {
				sum.Sent, sum.Lost = sum.Sent+f.Sent, sum.Lost+f.Lost
			}
		}
		return sum
	}
	switch r.Demo {
	case "incast":
		return []string{
			fmt.Sprintf("With PFC, priority 3 lost %s, over one switch and over two.",
				lostOf(flows(losslessPriority, "a", "b"))),
			r.seenPFC("The switches", "a", "b"),
			fmt.Sprintf("Without PFC, the same load lost %s of priority 3; the lossy priority 0 lost %s with PFC too.",
				lostShare(flows(losslessPriority, "c1", "c2")), lostShare(flows(0, "a", "b")))}
	case "host":
		return []string{"With PFC and host NICs, " + r.seenTCP("a"), r.seenPFC("The switch", "a"),
			"Without flow control at the switch, " + r.seenTCP("b")}
	case "headroom":
		return r.seenLinks()
	case "deadlock":
		dropped := uint64(0)
		for _, s := range r.Switches {
			if s.Phase == "c" {
				dropped += s.Discarded
			}
		}
		return []string{
			fmt.Sprintf("Without a watchdog, three switches waited for each other for ever, and priority 3 lost %s.",
				lostOf(flows(losslessPriority, "a"))),
			fmt.Sprintf("With the watchdog, the same ring lost %s; where frames circled, the watchdog dropped %d.",
				lostOf(flows(losslessPriority, "b")), dropped),
			fmt.Sprintf("While a host paused its port again and again, priority 3 lost %s.",
				lostOf(flows(losslessPriority, "d")))}
	case "trunk":
		return append(r.seenTrunk(), "Watermarks held the members, and then the uplink, and priority 3 lost "+
			lostOf(flows(losslessPriority, "2a", "2b"))+".")
	case "dcqcn":
		return append(r.seenCongestion(), "Either way, priority 3 lost "+lostOf(flows(losslessPriority, "a", "b"))+".")
	}
	return nil
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

// seenPFC says what the switches did in phases with flow control. Host NICs, h1, h2, …, are none.
func (r *Report) seenPFC(who string, phases ...string) string {
	frames, most := uint64(0), 0.0
	for _, s := range r.Switches {
		if slices.Contains(phases, s.Phase) && !strings.HasPrefix(s.Name, "h") {
			frames += s.PFCSent
			for _, h := range s.Headroom {
				most = max(most, float64(h.Peak)/float64(max(1, h.Configured)))
			}
		}
	}
	return fmt.Sprintf("%s sent %d PFC frames (XOFF, XON and refreshes), and what came after an XOFF took at most "+
		"%.0f %% of the headroom.", who, frames, 100*most)
}

func (r *Report) seenTCP(phase string) string {
	octets, again := uint64(0), uint64(0)
	for _, t := range r.Transfers {
		if t.Phase == phase {
			octets, again = octets+t.Octets, again+t.Retransmitted
		}
	}
	return fmt.Sprintf("TCP carried %.1f MiB and sent %d segments again.", float64(octets)/(1<<20), again)
}

func (r *Report) seenLinks() []string {
	runs, lost, control, least, most, used := 0, uint64(0), uint64(0), int64(math.MaxInt64), int64(0), 0.0
	for _, k := range r.Links {
		if k.Control {
			control += k.Lost
			continue
		}
		runs, lost, least, most = runs+1, lost+k.Lost, min(least, k.Measured), max(most, k.Measured)
		used = max(used, float64(k.Peak)/float64(max(1, k.Holds)))
	}
	if runs == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf("In %d runs with measured headroom of %d to %d bytes, %d frames were lost.", runs, least, most,
			lost),
		fmt.Sprintf("What came after an XOFF took at most %.0f %% of the headroom in force at the end.", 100*used),
		fmt.Sprintf("With a third of the headroom that was used, %d frames were lost.", control)}
}

func (r *Report) seenTrunk() []string {
	var links, model outcome
	for _, m := range r.Meters {
		links.Offered, links.Delivered = links.Offered+m.Real.Offered, links.Delivered+m.Real.Delivered
		model.Delivered += m.Model.Delivered
	}
	fill := find(r.Distribution, func(d *Distribution) bool { return d.Phase == "3a" })
	flow := find(r.Distribution, func(d *Distribution) bool { return d.Phase == "3b" })
	return []string{
		fmt.Sprintf("Of %d metered frames, %d passed the trunk, and %d in virtual time.", links.Offered,
			links.Delivered, model.Delivered),
		fmt.Sprintf("By fill, members were at most %.2f %% off their mean; by flow, %d of %d frames came out of order.",
			100*fill.Imbalance, flow.Reordered, flow.Sent)}
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
	}
}
