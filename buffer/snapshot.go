package buffer

import "pfcswitch/macctl"

// Counters of a lossless ingress queue, in frames unless they say otherwise. They only rise until the port is removed.
type Counters struct {
	Admitted         uint64 // all accepted frames
	AdmittedHeadroom uint64 // accepted frames that were charged to the headroom
	Waited           uint64 // frames that had to wait in the receive ring, each counted once
	Dropped          uint64 // dropped for want of headroom (DropHeadroom, DropHeadroomPool)
	Oversize         uint64 // dropped because they would never fit (DropOversize)
	Xoff, Xon        uint64 // turns OFF and ON
}

func (c *Counters) count(v Verdict) {
	switch v {
	case Accept:
		c.Admitted++
	case AcceptHeadroom:
		c.Admitted++
		c.AdmittedHeadroom++
	case DropHeadroom, DropHeadroomPool:
		c.Dropped++
	case DropOversize:
		c.Oversize++
	}
}

// LossyCounters of an egress queue, in frames.
type LossyCounters struct{ Admitted, Dropped uint64 }

// PortCounters are all counters of a port.
type PortCounters struct {
	Ingress [Priorities]Counters
	Egress  [Priorities]LossyCounters
}

// Combine joins each counter with the one of o.
func (c *PortCounters) Combine(o *PortCounters, join func(n, old uint64) uint64) {
	for k := range c.Ingress {
		c.Ingress[k].combine(&o.Ingress[k], join)
		c.Egress[k].combine(&o.Egress[k], join)
	}
}

func (c *Counters) combine(o *Counters, join func(n, old uint64) uint64) {
	c.Admitted = join(c.Admitted, o.Admitted)
	c.AdmittedHeadroom = join(c.AdmittedHeadroom, o.AdmittedHeadroom)
	c.Waited = join(c.Waited, o.Waited)
	c.Dropped = join(c.Dropped, o.Dropped)
	c.Oversize = join(c.Oversize, o.Oversize)
	c.Xoff = join(c.Xoff, o.Xoff)
	c.Xon = join(c.Xon, o.Xon)
}

func (c *LossyCounters) combine(o *LossyCounters, join func(n, old uint64) uint64) {
	c.Admitted = join(c.Admitted, o.Admitted)
	c.Dropped = join(c.Dropped, o.Dropped)
}

// Snapshot is the state of a Manager by value. Sizes are in bytes.
type Snapshot struct {
	Lossless, Lossy PoolSnapshot
	Off             int    // ingress queues that are OFF
	Unbalanced      uint64 // releases of bytes that were not charged: a fault of the caller, must stay 0
	Ports           []PortSnapshot
}

// PoolSnapshot is the state of one pool. Used is the sum over its queues, with watermarks of its own.
type PoolSnapshot struct {
	Size                                  int64
	PrivateSize, SharedSize, HeadroomSize int64 // Σφ, B_s and the headroom segment; a lossy pool is all shared
	Used                                  Occupancy
}

// PortSnapshot is the state of a port. A removed port is shown while it holds bytes, without counters.
type PortSnapshot struct {
	Port    int
	Removed bool
	Name    string
	Mode    macctl.Mode
	// Insurance is what all queues hold together in the port's insurance; Size is 0 where headroom is not dynamic.
	Insurance struct {
		Size int64
		Used Level
	}
	Ingress [Priorities]QueueSnapshot // ModePause: all priorities are in number 0
	Egress  [Priorities]LossySnapshot
}

// QueueSnapshot is the state of an ingress queue.
type QueueSnapshot struct {
	Lossless  bool        // false: no such queue, or what is left of it
	Config    QueueConfig // in force: whole cells, α set
	Threshold int64       // where the queue turns OFF at this moment: T, with dynamic headroom T - η
	Off       bool
	Waiting   int64 // bytes of the frame that waits in the receive ring
	Used      Occupancy
	Counters
}

// LossySnapshot is the state of a lossy egress queue.
type LossySnapshot struct {
	Alpha     float64
	Threshold int64
	Used      Level
	LossyCounters
}

// Snapshot fills s. It allocates only where s.Ports is too short: a caller that keeps s allocates once.
func (m *Manager) Snapshot(s *Snapshot) {
	*s = Snapshot{Off: len(m.off), Unbalanced: m.unbalanced, Ports: s.Ports[:0]}
	limit := m.lossless.limit
	s.Lossless = PoolSnapshot{
		Size: m.lossless.size, PrivateSize: limit.private, SharedSize: limit.shared, HeadroomSize: limit.headroom,
		Used: m.lossless.used.occupancy(),
	}
	s.Lossy = PoolSnapshot{Size: m.lossy.size, SharedSize: m.lossy.size, Used: Occupancy{Shared: m.lossy.used.level()}}
	for _, p := range m.ports {
		if p == nil || !p.present && !p.holds() {
			continue
		}
		s.Ports = append(s.Ports, PortSnapshot{})
		m.snapshotPort(p, &s.Ports[len(s.Ports)-1])
	}
}

func (p *port) holds() bool {
	var n int64
	for k := range p.charged {
		n += p.charged[k] + p.egress[k].used.now
	}
	return n > 0
}

// Combine joins each counter of the port with the one of o.
func (s *PortSnapshot) Combine(o *PortCounters, join func(n, old uint64) uint64) {
	for k := range s.Ingress {
		s.Ingress[k].combine(&o.Ingress[k], join)
		s.Egress[k].combine(&o.Egress[k], join)
	}
}

// Counters returns the counters of the port.
func (s *PortSnapshot) Counters() (c PortCounters) {
	for k := range s.Ingress {
		c.Ingress[k], c.Egress[k] = s.Ingress[k].Counters, s.Egress[k].LossyCounters
	}
	return c
}

// Removed returns the counters of the port of this number that was removed last.
func (m *Manager) Removed(port int) (c PortCounters) {
	if p := m.port(port); p != nil && !p.present && p.removedCounters != nil {
		c = *p.removedCounters
	}
	return c
}

// Queue returns the state of the lossless ingress queue of a priority, zero where there is none.
func (m *Manager) Queue(port int, prio uint8) QueueSnapshot {
	if _, q := m.queue(port, prio); q != nil {
		return m.snapshotQueue(q)
	}
	return QueueSnapshot{}
}

// InHeadroom returns how many bytes a queue holds in its headroom.
func (m *Manager) InHeadroom(port int, prio uint8) int64 {
	if _, q := m.queue(port, prio); q != nil {
		return q.used.headroom.now
	}
	return 0
}

func (m *Manager) snapshotQueue(q *queue) QueueSnapshot {
	s := QueueSnapshot{
		Lossless: q.lossless, Config: q.config, Off: q.off, Waiting: q.waiting,
		Used: q.used.occupancy(), Counters: q.count,
	}
	if q.lossless {
		s.Threshold = m.limit(q, m.lossless.free())
	}
	return s
}

func (m *Manager) snapshotPort(p *port, s *PortSnapshot) {
	s.Port, s.Removed, s.Name, s.Mode = p.number, !p.present, p.config.Name, p.config.Mode
	if m.dynamic {
		s.Insurance.Size, s.Insurance.Used = p.config.insurance(), p.used.headroom.level()
	}
	for k := range p.ingress {
		s.Ingress[k] = m.snapshotQueue(&p.ingress[k])
		s.Egress[k] = m.snapshotLossy(&p.egress[k])
	}
}

func (m *Manager) snapshotLossy(q *lossyQueue) LossySnapshot {
	return LossySnapshot{
		Alpha: q.alpha, Threshold: q.limit(m.lossyFree()),
		Used: q.used.level(), LossyCounters: q.count,
	}
}
