package dataplane

// A waiter is what it takes to know a frame again that waits in a ring.
type waiter struct {
	prio   uint8
	octets int
}

// startWait notes that a frame waits, when it is offered first.
func (s *Switch) startWait(p *portState, a *Arrival) {
	if p.waitFrom != 0 {
		return
	}
	p.waitFrom, p.waiter = max(1, s.now), waiter{a.priority, len(a.Data)}
	p.usedRing(a)
	s.peerEvent(p, EventRingHold, a.priority,
		"lossless frames wait in the receive ring: the headroom is too small for this peer, "+
			"or the peer does not obey XOFF")
}

// waited is how long the frame of p has waited that waits in its ring.
func (s *Switch) waited(p *portState) int64 {
	if p.waitFrom == 0 {
		return 0
	}
	return s.now - p.waitFrom
}

func (s *Switch) endWait(p *portState, octets int) {
	if p.waitFrom == 0 {
		return
	}
	p.count.RingHoldNs += uint64(s.now - p.waitFrom)
	p.count.RingHoldBytes += uint64(octets)
	p.waitFrom = 0
}

// abandonWait ends the wait of a frame that is not to be admitted any more: its way has changed meanwhile.
func (s *Switch) abandonWait(p *portState, prio uint8) {
	s.endWait(p, 0)
	p.again = waiter{}
	s.buffer.CancelWait(p.index, prio)
}

// abandonWaits is abandonWait for all that waits at p, where its ring ends.
func (s *Switch) abandonWaits(p *portState) {
	for q := range uint8(NumPriorities) {
		s.abandonWait(p, q)
	}
}

// interruptWaits is abandonWaits where a configuration begins: the frame at the head of the ring may be none any more
// that waits. If it still is, it goes on and has been counted.
func (s *Switch) interruptWaits(p *portState) {
	waits := p.waitFrom != 0
	s.abandonWaits(p)
	if waits {
		p.again = p.waiter
	}
}

// waitAgain goes on with the wait that a configuration has interrupted, where a is the frame that waited.
func (s *Switch) waitAgain(p *portState, a *Arrival) {
	if p.again == (waiter{a.priority, len(a.Data)}) {
		p.waitFrom = max(1, s.now)
		s.buffer.RestoreWait(p.index, a.priority, len(a.Data))
	}
	p.again = waiter{}
}
