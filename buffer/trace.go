package buffer

// A TraceResult is what Admit would do with a frame now. Sizes are in bytes, of whole cells.
type TraceResult struct {
	Verdict                   Verdict
	Size                      int64 // that the frame is charged with
	Private, Shared, Headroom int64 // where it is charged
	TurnsOff                  bool  // the queue turns OFF: its peer is told to stop
	Queue                     QueueSnapshot
	Free                      int64 // of the shared segment
}

// Trace returns what Admit would decide now, and changes nothing.
func (m *Manager) Trace(port int, prio uint8, n int) TraceResult {
	_, q := m.queue(port, prio)
	if q == nil {
		return TraceResult{Verdict: NoQueue}
	}
	size := m.Charge(n)
	where, v := m.place(q, size)
	turns := (v == AcceptHeadroom || v == Wait || v == DropHeadroom) && !q.off
	return TraceResult{Verdict: v, Size: size, Private: where.private, Shared: where.shared, Headroom: where.headroom, TurnsOff: turns,
		Queue: m.snapshotQueue(q), Free: m.lossless.free()}
}

// A LossyTraceResult is what AdmitLossy would do with a frame now. Sizes are in bytes, of whole cells.
type LossyTraceResult struct {
	Accepted bool
	Size     int64 // that the frame is charged with
	Queue    LossySnapshot
	Free     int64 // of the pool
}

// TraceLossy returns what AdmitLossy would decide when other queues have taken so many bytes more, and changes nothing.
func (m *Manager) TraceLossy(port int, queue uint8, n int, taken int64) LossyTraceResult {
	p := m.port(port)
	if p == nil || !p.present || queue >= Priorities {
		return LossyTraceResult{}
	}
	size := m.Charge(n)
	q := &p.egress[queue]
	l := LossyTraceResult{Size: size, Queue: m.snapshotLossy(q), Free: m.lossyFree() - taken}
	l.Queue.Threshold = dynamicLimit(q.alpha, l.Free)
	l.Accepted = fitsLossy(q, size, l.Free)
	return l
}
