package buffer

// A Prospect is what Admit would do with a frame now. Sizes are in bytes, of whole cells.
type Prospect struct {
	Verdict                   Verdict
	Size                      int64 // that the frame is charged with
	Private, Shared, Headroom int64 // where it is charged
	Turns                     bool  // the queue turns OFF: its peer is told to stop
	Queue                     QueueSnapshot
	Free                      int64 // of the shared segment
}

// Foresee returns what Admit would decide now, and changes nothing.
func (m *Manager) Foresee(port int, prio uint8, n int) Prospect {
	_, q := m.queue(port, prio)
	if q == nil {
		return Prospect{Verdict: NoQueue}
	}
	size := m.Charge(n)
	where, v := m.place(q, size)
	turns := (v == AcceptHeadroom || v == Wait || v == DropHeadroom) && !q.off
	return Prospect{Verdict: v, Size: size, Private: where.private, Shared: where.shared, Headroom: where.headroom, Turns: turns,
		Queue: m.snapshotQueue(q), Free: m.lossless.free()}
}

// A LossyProspect is what AdmitLossy would do with a frame now. Sizes are in bytes, of whole cells.
type LossyProspect struct {
	Accepted bool
	Size     int64 // that the frame is charged with
	Queue    LossySnapshot
	Free     int64 // of the pool
}

// ForeseeLossy returns what AdmitLossy would decide when other queues have taken so many bytes more, and changes nothing.
func (m *Manager) ForeseeLossy(port int, queue uint8, n int, taken int64) LossyProspect {
	p := m.port(port)
	if p == nil || !p.present || queue >= Priorities {
		return LossyProspect{}
	}
	size := m.Charge(n)
	q := &p.egress[queue]
	l := LossyProspect{Size: size, Queue: m.snapshotLossy(q), Free: m.lossyFree() - taken}
	l.Queue.Threshold = dynamicLimit(q.alpha, l.Free)
	l.Accepted = fitsLossy(q, size, l.Free)
	return l
}
