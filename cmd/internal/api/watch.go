package api

// Since makes the rates of r cover the time since an older answer to the same question. After a restart or a clear
// there are no rates.
func Since(r, old Reply) {
	switch r := r.(type) {
	case *Ports:
		if old, ok := old.(*Ports); ok {
			portsSince(r.Ports, old.Ports, r.interval(&old.Header))
		}
	case *PFC:
		if old, ok := old.(*PFC); ok {
			pausesSince(r.Ports, old.Ports, r.interval(&old.Header))
		}
	case *State:
		if old, ok := old.(*State); ok {
			ns := r.interval(&old.Header)
			portsSince(r.Ports, old.Ports, ns)
			pausesSince(r.PFC, old.PFC, ns)
		}
	}
}

// Restarted tells whether the switch was restarted between two answers. Answers without a header cannot tell.
func Restarted(r, old Reply) bool {
	a, aOK := r.(interface{ header() *Header })
	b, bOK := old.(interface{ header() *Header })
	return aOK && bOK && !a.header().Started.Equal(b.header().Started)
}

func (h *Header) header() *Header { return h }

// interval is the time between two answers in ns, 0 if their counters start at different moments.
func (h *Header) interval(old *Header) int64 {
	cleared := h.Cleared == nil && old.Cleared == nil || h.Cleared != nil && old.Cleared != nil && h.Cleared.Equal(*old.Cleared)
	if !cleared || !h.Started.Equal(old.Started) {
		return 0
	}
	return h.SwitchNs - old.SwitchNs
}

func portsSince(ports, old []Port, ns int64) {
	before := map[string]traffic{}
	for i := range old {
		before[old[i].Port] = old[i].traffic()
	}
	for i := range ports {
		p := &ports[i]
		p.Recent = nil
		if t, ok := before[p.Port]; ok {
			p.Recent = p.traffic().since(t, ns)
		}
	}
}

func (p *Port) traffic() traffic {
	return traffic{receivedFrames: p.ReceiveFrames, receivedBytes: p.ReceiveBytes, sentFrames: p.TransmitFrames, sentBytes: p.TransmitBytes, dropped: p.DroppedFrames}
}

func pausesSince(ports, old []PFCPort, ns int64) {
	type key struct {
		port     string
		priority Priority
	}
	before := map[key]pauses{}
	for _, p := range old {
		for _, q := range p.Priorities {
			before[key{p.Port, q.Priority}] = q.pauses()
		}
	}
	for i := range ports {
		for j := range ports[i].Priorities {
			q := &ports[i].Priorities[j]
			q.Recent = nil
			if t, ok := before[key{ports[i].Port, q.Priority}]; ok {
				q.Recent = q.pauses().since(t, ns)
			}
		}
	}
}

func (q *PFCPriority) pauses() pauses { return pauses{q.ReceivedPausedNs, q.SentPausedNs} }
