package buffer

// Release gives back a lossless frame that left the port's ingress queue: sent, or discarded after admission. Port,
// prio and n are those of its Admit, whatever has been reconfigured since. A frame with several copies is released
// with the last copy. Bytes leave the headroom first, then the shared, then the private segment. The queue may turn
// ON. The thresholds of other queues rise as well: Resume turns those ON.
func (m *Manager) Release(port int, prio uint8, n int) {
	size := m.Charge(n)
	p := m.port(port)
	if p == nil || prio >= Priorities || p.charged[prio] < size {
		m.unbalanced++
		return
	}
	p.charged[prio] -= size
	q := &p.ingress[prio&p.queueMask]
	m.measureLossless(q)
	back := q.used.splitRelease(size)
	q.used.sub(back)
	m.lossless.used.sub(back)
	q.active.move(-size, q.used.total())
	if m.dynamic {
		p.used.sub(back)
	}
	m.resume(q)
}

func (s *segments) splitRelease(n int64) segmentBytes {
	var back segmentBytes
	back.headroom = min(n, s.headroom.now)
	n -= back.headroom
	back.shared = min(n, s.shared.now)
	back.private = n - back.shared
	return back
}

// Resume turns every queue ON that may turn ON. Thresholds rise when any queue drains, and a queue that is OFF sees no
// arrivals. So the caller calls Resume after departures, and at a deadline while OffCount is not 0.
func (m *Manager) Resume() {
	for i := len(m.off) - 1; i >= 0; i-- { // backwards: turnOn moves the last one, already seen, into the gap
		m.resume(m.off[i])
	}
}

func (m *Manager) resume(q *queue) {
	if m.measureLossless(q); q.off && m.mayResume(q) {
		m.turnOn(q)
	}
}

// mayResume decides on a queue that is OFF. The queue may turn ON when its headroom is empty and it holds no more of
// the shared segment than its resume level, with the frames of Expect. The queue stays OFF while a frame would still
// have to wait in the ring: that frame would turn it OFF again at once.
func (m *Manager) mayResume(q *queue) bool {
	if m.inHeadroom(q) > 0 || m.dynamic && !m.mayResumePort(q) {
		return false
	}
	free := max(0, m.lossless.free()-q.coming)
	if q.used.shared.now+q.coming > q.config.resumeLevel(m.limit(q, free)) {
		return false
	}
	if q.waiting == 0 {
		return true
	}
	_, v := m.chooseSegment(q, q.waiting)
	return v != Wait
}

// resumeLevel returns min(t, max(xon, t - xon_offset)) for a threshold t, and min(t, xon) without an offset. The level
// is never negative, so an empty queue may always turn ON, however low t and xon are.
func (c *QueueConfig) resumeLevel(t int64) int64 {
	level := c.Xon
	if c.XonOffset != NoXonOffset {
		level = max(level, t-c.XonOffset)
	}
	return min(t, level)
}

func (m *Manager) turnOff(q *queue) {
	if q.off {
		return
	}
	q.off, q.offIndex = true, len(m.off)
	m.off = append(m.off, q)
	q.count.Xoff++
	m.flow.Hold(q.id.Port, q.id.Queue)
}

func (m *Manager) turnOn(q *queue) {
	last := len(m.off) - 1
	m.off[last].offIndex = q.offIndex
	m.off[q.offIndex] = m.off[last]
	m.off = m.off[:last]
	q.off = false
	q.count.Xon++
	m.flow.Release(q.id.Port, q.id.Queue)
}

// OffCount returns how many ingress queues are OFF.
func (m *Manager) OffCount() int { return len(m.off) }

// Off returns the ingress queues of a port that are OFF, bit n = queue n (bit 0 on a port with ModePause).
func (m *Manager) Off(port int) uint8 {
	p := m.port(port)
	if p == nil || len(m.off) == 0 {
		return 0
	}
	var off uint8
	for k := range p.ingress {
		if p.ingress[k].off {
			off |= 1 << k
		}
	}
	return off
}
