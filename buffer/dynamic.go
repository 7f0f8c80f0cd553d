package buffer

// Dynamic and shared headroom, DSH: Shan et al., "Less is More: Dynamic and Shared Headroom Allocation in PFC-Enabled
// Datacenter Networks", ICDCS 2023. The headroom of a queue is a part of the shared segment that nobody reserves. The
// headroom segment holds one insurance for each port, as large as the largest η of its queues.
//
//   - A queue turns OFF above T - η. What comes meanwhile goes to the shared segment.
//   - A port may hold the sum of the T of its queues. A frame beyond that, or beyond the shared segment, goes to the
//     insurance, and all queues of the port turn OFF. Until the insurance is empty, later frames go there too.
//
// So nothing is lost, whatever α is: the insurance is empty when the port turns OFF, and holds all that a link carries
// after XOFF.
type dynamicThreshold struct{ Threshold }

// Limit is where a queue turns OFF: T - η.
func (d dynamicThreshold) Limit(id QueueID, c QueueConfig, free int64) int64 {
	return max(0, d.Threshold.Limit(id, c, free)-c.Headroom)
}

// portLimit returns how much of the shared segment a port may hold while free bytes of it are unused.
func (m *Manager) portLimit(p *port, free int64) (sum int64) {
	for k := range p.ingress {
		if q := &p.ingress[k]; q.lossless {
			sum += m.policy.Limit(q.id, q.config, free)
		}
	}
	return sum
}

// chooseDynamic decides on a frame that goes to the private and the shared segment. Its verdict is none of those that
// accept where the frame belongs into the insurance.
func (m *Manager) chooseDynamic(q *queue, size int64) (where segmentBytes, v Verdict) {
	private := min(size, q.config.Private-q.used.private.now)
	rest := size - private
	switch {
	case m.inHeadroom(q) > 0 || rest > 0 && !m.fitsPort(q, rest):
		return segmentBytes{}, v
	case rest == 0 || m.fitsShared(q, rest):
		v = Accept
	default:
		v = AcceptHeadroom
	}
	return segmentBytes{private: private, shared: rest}, v
}

// fitsPort reports whether the port of a queue may hold n more bytes of the shared segment.
func (m *Manager) fitsPort(q *queue, n int64) bool {
	free := m.lossless.free()
	return n <= free && q.port.used.shared.now+n <= m.portLimit(q.port, free)
}

// wouldExceedPort reports whether a port would stand above its limit with so many bytes of a queue more in the shared
// segment, or uses its insurance already.
func (m *Manager) wouldExceedPort(q *queue, rest int64) bool {
	if !m.dynamic {
		return false
	}
	free := m.lossless.free() - rest
	return q.port.used.headroom.now > 0 || free < 0 || q.port.used.shared.now+rest > m.portLimit(q.port, free)
}

// inHeadroom returns how many bytes the headroom of a queue holds, or the insurance of its port.
func (m *Manager) inHeadroom(q *queue) int64 {
	if m.dynamic {
		return q.port.used.headroom.now
	}
	return q.used.headroom.now
}

// chargePort charges an admission to a port, and stops the port where the frame is beyond its limit.
func (m *Manager) chargePort(p *port, where segmentBytes, v Verdict) {
	p.used.add(where)
	if v.turnsOff() && (where.headroom > 0 || !v.Accepted()) {
		m.turnOffPort(p)
	}
}

func (m *Manager) turnOffPort(p *port) {
	for k := range p.ingress {
		if q := &p.ingress[k]; q.lossless {
			m.turnOff(q)
		}
	}
}

// mayResumePort reports whether the port of a queue is XonOffset below its limit again, with the frames of Expect.
func (m *Manager) mayResumePort(q *queue) bool {
	var coming int64
	for k := range q.port.ingress {
		coming += q.port.ingress[k].coming
	}
	limit := m.portLimit(q.port, max(0, m.lossless.free()-coming))
	return q.port.used.shared.now+coming <= max(0, limit-max(0, q.config.XonOffset))
}

// insurance is the size of a planned port's insurance: all its queues have that headroom.
func (c *PortConfig) insurance() (size int64) {
	for k := range c.Queues {
		size = max(size, c.Queues[k].Headroom)
	}
	return size
}
