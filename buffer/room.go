package buffer

// Room returns how many bytes a queue can still take before a frame finds no room: the rest of its private segment, as
// much of the shared segment as lies below its threshold, which under DynamicThreshold falls while the queue fills,
// then the headroom. It is 0 for a priority that is not lossless.
func (m *Manager) Room(port int, prio uint8) int64 {
	_, q := m.queue(port, prio)
	if q == nil {
		return 0
	}
	held := q.held.bytes()
	room := q.config.Headroom - held.headroom
	if held.headroom == 0 {
		room += q.config.Private - held.private + m.sharedRoom(q)
	}
	return room
}

// sharedRoom is the largest number of bytes that a queue can add to the shared segment: the largest x with
// ω + x ≤ T, where T is that before its last byte came. The left side rises with x and the right side does not, so
// bisection finds it.
func (m *Manager) sharedRoom(q *queue) int64 {
	free, held := m.lossless.free(), q.held.shared.now
	low, high := int64(0), max(0, free)
	for low < high {
		x := (low + high + 1) / 2
		if held+x <= m.threshold.Limit(q.id, q.config, free-x+1) {
			low = x
		} else {
			high = x - 1
		}
	}
	return low
}
