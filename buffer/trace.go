package buffer

// A TraceResult is what Admit would do with a frame now. Sizes are in bytes, of whole cells.
type TraceResult struct {
	Verdict                   Verdict
	Size                      int64 // of the frame
	Private, Shared, Headroom int64 // its parts by segment
	TurnsOff                  bool  // the queue turns OFF: its peer must stop
	Queue                     QueueSnapshot
	Free                      int64 // of the shared segment
}

// Trace returns what Admit would decide now, and changes nothing.
func (m *Manager) Trace(port int, prio uint8, n int) TraceResult {
	_, q := m.queue(port, prio)
	if q == nil {
		return TraceResult{Verdict: NoQueue}
	}
	defer q.active.restore()()
	m.measureLossless(q)
	size := m.Charge(n)
	where, v := m.chooseSegment(q, size)
	return TraceResult{Verdict: v, Size: size, Private: where.private, Shared: where.shared, Headroom: where.headroom,
		TurnsOff: v.turnsOff() && !q.off, Queue: m.snapshotQueue(q), Free: m.lossless.free()}
}

// WouldExceedThreshold reports whether a queue would stand above its threshold with backlog more bytes, or has bytes in
// its headroom already. So the caller can stop the peer before it admits what piled up in the receive ring. An exact
// backlog is a sum of Charge.
func (m *Manager) WouldExceedThreshold(port int, prio uint8, backlog int64) bool {
	_, q := m.queue(port, prio)
	if q == nil {
		return false
	}
	m.measureLossless(q)
	return m.wouldExceed(q, backlog)
}

func (m *Manager) wouldExceed(q *queue, backlog int64) bool {
	if m.inHeadroom(q) > 0 {
		return true
	}
	rest := m.restShared(q, backlog)
	if rest == 0 {
		return false
	}
	free := m.lossless.free() - rest
	return free < 0 || q.used.shared.now+rest > m.limit(q, free) || m.wouldExceedPort(q, rest)
}

// restShared is what the private segment of a queue does not take of so many bytes.
func (m *Manager) restShared(q *queue, bytes int64) int64 {
	return max(0, bytes-(q.config.Private-q.used.private.now))
}

// MostShared returns the most bytes of the shared segment that a queue can hold, while no other holds any. A queue
// cannot resume at more.
func (m *Manager) MostShared(port int, prio uint8) int64 {
	_, q := m.queue(port, prio)
	if q == nil {
		return 0
	}
	return sharedRoom(0, m.lossless.limit.shared, func(free int64) int64 {
		return m.threshold.Limit(q.id, q.config, free)
	})
}

// Room returns how many bytes a queue can still take before a frame finds no room: the rest of its private segment, its
// part of the shared segment, and the headroom. Under DynamicThreshold the threshold falls while the queue fills. A
// priority that is not lossless has no room.
func (m *Manager) Room(port int, prio uint8) int64 {
	_, q := m.queue(port, prio)
	if q == nil {
		return 0
	}
	held, room := q.used.bytes(), m.headroomLeft(q)
	switch {
	case m.inHeadroom(q) > 0:
		return room
	case m.dynamic: // above its threshold the queue takes what its port may hold
		return room + q.config.Private - held.private + sharedRoom(q.port.used.shared.now, m.lossless.free(),
			func(free int64) int64 { return m.portLimit(q.port, free) })
	}
	return room + q.config.Private - held.private + sharedRoom(held.shared, m.lossless.free(),
		func(free int64) int64 { return m.limit(q, free) })
}

// sharedRoom returns the most bytes that can be added to what a queue or a port holds of the shared segment: the
// largest x with held + x ≤ T, where T is the limit before the last byte came. The left side rises with x and the right
// side does not, so bisection finds x.
func sharedRoom(held, free int64, limit func(free int64) int64) int64 {
	low, high := int64(0), max(0, free)
	for low < high {
		x := (low + high + 1) / 2
		if held+x <= limit(free-x+1) {
			low = x
		} else {
			high = x - 1
		}
	}
	return low
}
