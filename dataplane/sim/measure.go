package sim

import "pfcswitch/macctl"

// Measurement frames take their time on a wire as all frames do. A switch answers at once, a host when it would obey a
// pause. All clocks are one, so stamps are exact.

// measureFromSwitch sends the measurement frame of port i, if there is one. Its wire is free.
func (s *shard) measureFromSwitch(n *switchNode, i int) (sent bool) {
	if s.wireOf(n, i).half != nil {
		return false // its PAUSE frames leave no buffer to measure for
	}
	b, _, ok := n.sw.MeasureOut(i, s.control[:0], s.now, 0)
	if ok {
		s.captureSent(n, i, b, len(b))
		s.put(n.ports[i].wire, b, true)
	}
	return ok
}

// Measure has the switches whose ports have a Prober measure from now on, or no longer. They do from the beginning on.
func (f *Fabric) Measure(on bool) {
	for i := range f.nodes {
		n := f.nodes[i].sw
		if n == nil {
			continue
		}
		for k := range n.ports {
			c, _ := n.sw.PortConfig(k)
			p := &n.ports[k]
			if p.measures = on && c.Prober != nil; p.measures && p.wire != none {
				f.on(f.nodes[i].shard).wakeBy(p.wire, f.now)
			}
		}
	}
}

// measureFromHost is measureFromSwitch for a host.
func (s *shard) measureFromHost(h *host) (sent bool) {
	if h.Prober == nil || s.wires[h.wire].half != nil {
		return false
	}
	m, to, fallback, ok := h.Prober.Out(s.now, 0)
	if ok {
		s.put(h.wire, h.Measurement.Append(s.control[:0], to, h.mac, fallback, m), true)
	}
	return ok
}

// measureAtHost hands a frame to the Prober of a host if it is a measurement frame, and reports whether it is one.
func (s *shard) measureAtHost(h *host, t *transit) bool {
	if h.Prober == nil || !h.Measurement.Recognizes(t.bytes()) {
		return false
	}
	if m, reason := h.Measurement.Parse(t.bytes(), h.mac); reason == macctl.ReasonNone {
		h.Prober.Receive(&m, t.at, s.now, 0, false)
	}
	return true
}
