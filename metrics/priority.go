package metrics

import (
	"iter"
	"strconv"

	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// Values of the label "priority" beside "0" to "7".
const (
	all     = "all"     // a port with 802.3x PAUSE has one ingress queue and one pause state for all priorities
	unknown = "unknown" // lost before the frame was read
)

// ingressQueues yields the numbers and labels of a port's lossless ingress queues.
func ingressQueues(c *dataplane.PortConfig) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		if c.Mode == macctl.ModePause {
			yield(0, all)
			return
		}
		for q := range dataplane.NumPriorities {
			if c.LosslessPriorities()&(1<<q) != 0 && !yield(q, strconv.Itoa(q)) {
				return
			}
		}
	}
}

// byLabel yields the label of every priority of a port with its count, and whether it is lossless. n has a count for
// each priority, and at dataplane.Unknown one for frames that were lost before they were read.
func byLabel(c *dataplane.PortConfig, n *[dataplane.NumPriorities + 1]uint64,
	yield func(label string, n uint64, lossless bool)) {
	if c.Mode == macctl.ModePause {
		sum := uint64(0)
		for _, n := range n[:dataplane.NumPriorities] {
			sum += n
		}
		yield(all, sum, true)
	} else {
		for prio, n := range n[:dataplane.NumPriorities] {
			yield(strconv.Itoa(prio), n, c.LosslessPriorities()&(1<<prio) != 0)
		}
	}
	yield(unknown, n[dataplane.Unknown], true)
}

// collectDrops exports what a port lost. A reason has a series from its first frame on, the ring's from the start.
// Lossless drops have a series for each lossless priority from the start, so that their 0 can be seen.
func collectDrops(o *output, p *dataplane.PortSnapshot) {
	c := &p.Config
	collectReasons(o, drops, c, &p.Counters.Drops, true)
	if none := (dataplane.Counters{}).LosslessDiscarded; p.Counters.LosslessDiscarded != none {
		collectReasons(o, losslessDiscarded, c, &p.Counters.LosslessDiscarded, false)
	}
	byLabel(c, &p.Counters.LosslessDrops, func(label string, n uint64, lossless bool) {
		if n > 0 || lossless {
			o.value(losslessDrops, float64(n), c.Name, label)
		}
	})
}

// collectReasons exports dropped frames by reason.
func collectReasons(o *output, f *family, c *dataplane.PortConfig,
	counts *[dataplane.NumPriorities + 1][dataplane.NumDropReasons]uint64, ringFromTheStart bool) {
	for r := range dataplane.NumDropReasons {
		var frames [dataplane.NumPriorities + 1]uint64
		for prio := range frames {
			frames[prio] = counts[prio][r]
		}
		byLabel(c, &frames, func(label string, n uint64, _ bool) {
			if n > 0 || ringFromTheStart && r == dataplane.DropRing && label == unknown {
				o.value(f, float64(n), c.Name, label, r.String())
			}
		})
	}
}
