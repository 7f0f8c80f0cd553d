package dataplane

// A waitingFrame is how a frame that waits in a receive ring is recognized when it is offered once more.
type waitingFrame struct {
	prio   uint8
	octets int
}

func waitingFrameOf(a *Arrival) waitingFrame { return waitingFrame{a.priority, len(a.Data)} }

// startWait notes that a frame waits, where it is offered for the first time.
func (s *Switch) startWait(p *portState, a *Arrival) {
	if p.waitFrom != 0 {
		return
	}
	p.waitFrom, p.waitingFrame = max(1, s.now), waitingFrameOf(a)
	p.countRingWait(a)
	s.peerEvent(p, EventRingHold, a.priority,
		"lossless frames wait in the receive ring: the headroom is too small for this peer, "+
			"or the peer does not obey XOFF")
}

// endWait counts a wait that ends now, of a frame of so many octets, and returns how long it was: 0 where no frame
// waits.
func (s *Switch) endWait(p *portState, octets int) (ns int64) {
	if p.waitFrom == 0 {
		return 0
	}
	ns = s.now - p.waitFrom
	p.count.RingHoldNs += uint64(ns)
	p.count.RingHoldBytes += uint64(octets)
	p.waitFrom = 0
	return ns
}

// abandonWait ends the wait of a frame that will not be admitted: its way has changed meanwhile.
func (s *Switch) abandonWait(p *portState, prio uint8) {
	s.endWait(p, 0)
	p.interrupted = waitingFrame{}
	s.buffer.CancelWait(p.index, prio)
}

// abandonWaits is abandonWait for every priority of p, whose ring ends.
func (s *Switch) abandonWaits(p *portState) {
	for q := range uint8(NumPriorities) {
		s.abandonWait(p, q)
	}
}

// interruptWaits ends all waits at p where a configuration begins: the frame at the head of the ring may go another way
// now. resumeWait goes on with the wait of a frame that has to wait still, however many configurations came meanwhile.
func (s *Switch) interruptWaits(p *portState) {
	waiting := p.interrupted
	if p.waitFrom != 0 {
		waiting = p.waitingFrame
	}
	s.abandonWaits(p)
	p.interrupted = waiting
}

// resumeWait goes on with the wait that a configuration has interrupted, where a is the frame that waited.
func (s *Switch) resumeWait(p *portState, a *Arrival) {
	if p.interrupted == waitingFrameOf(a) {
		p.waitFrom = max(1, s.now)
		s.buffer.RestoreWait(p.index, a.priority, len(a.Data))
	}
	p.interrupted = waitingFrame{}
}
