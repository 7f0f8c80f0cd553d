package buffer

// AdmitLossy decides on a lossy frame of n octets without FCS for an egress queue, and charges the frame if the result
// is true. Where the queue would hold more than α·(size - bytes of all lossy queues), or its share of that
// (Config.Active), the frame is dropped, reason lossy-threshold.
func (m *Manager) AdmitLossy(port int, queue uint8, n int) bool {
	q := m.lossyQueue(port, queue)
	if q == nil {
		return false
	}
	size := m.Charge(n)
	m.measureLossy(port, q)
	if !q.fits(size, m.lossyFree()) {
		q.count.Dropped++
		return false
	}
	q.count.Admitted++
	q.used.add(size)
	m.lossy.used.add(size)
	q.active.move(size, q.used.now)
	return true
}

// lossyQueue returns an egress queue of a port, nil where there is none.
func (m *Manager) lossyQueue(port int, queue uint8) *lossyQueue {
	p := m.port(port)
	if p == nil || !p.present || queue >= Priorities {
		return nil
	}
	return &p.egress[queue]
}

func (m *Manager) lossyFree() int64 { return m.lossy.size - m.lossy.used.now }

func (q *lossyQueue) fits(size, free int64) bool {
	return size <= free && q.used.now+size <= q.limit(free)
}

// ReleaseLossy gives back a lossy frame that left an egress queue. Port, queue and n are those of its AdmitLossy.
func (m *Manager) ReleaseLossy(port int, queue uint8, n int) {
	size := m.Charge(n)
	p := m.port(port)
	if p == nil || queue >= Priorities || p.egress[queue].used.now < size {
		m.unbalanced++
		return
	}
	q := &p.egress[queue]
	m.measureLossy(port, q)
	q.used.add(-size)
	m.lossy.used.add(-size)
	q.active.move(-size, q.used.now)
}

// A LossyTraceResult is what AdmitLossy would do with a frame now. Sizes are in bytes, of whole cells.
type LossyTraceResult struct {
	Accepted bool
	Size     int64 // of the frame
	Queue    LossySnapshot
	Free     int64 // of the pool
}

// TraceLossy returns what AdmitLossy would decide when other queues have taken so many bytes more, and changes nothing.
func (m *Manager) TraceLossy(port int, queue uint8, n int, taken int64) LossyTraceResult {
	q := m.lossyQueue(port, queue)
	if q == nil {
		return LossyTraceResult{}
	}
	defer q.active.restore()()
	m.measureLossy(port, q)
	size := m.Charge(n)
	l := LossyTraceResult{Size: size, Queue: m.snapshotLossy(q), Free: m.lossyFree() - taken}
	l.Queue.Threshold = q.limit(l.Free)
	l.Accepted = q.fits(size, l.Free)
	return l
}
