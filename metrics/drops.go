package metrics

import "pfcswitch/dataplane"

// collectDrops exports what a port lost. A reason has a series from its first frame on, the ring's always. The lossless
// drops have one for each lossless priority from the start, so that the 0 that is promised can be seen.
func collectDrops(o *output, p *dataplane.PortSnapshot) {
	c := &p.Config
	for r := range dataplane.NumDropReasons {
		var frames [dataplane.NumPriorities + 1]uint64
		for prio := range frames {
			frames[prio] = p.Counters.Drops[prio][r]
		}
		byLabel(c, &frames, func(label string, n uint64, _ bool) {
			if n > 0 || r == dataplane.DropRing && label == unknown {
				o.value(drops, float64(n), c.Name, label, r.String())
			}
		})
	}
	byLabel(c, &p.Counters.LosslessDrops, func(label string, n uint64, lossless bool) {
		if n > 0 || lossless {
			o.value(losslessDrops, float64(n), c.Name, label)
		}
	})
}
