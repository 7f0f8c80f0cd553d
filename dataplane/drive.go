package dataplane

import "pfcswitch/dataplane/bridge"

// Nobody is the number of a caller that owns no port: every port that it makes pending is another worker's.
const Nobody = -1

// Begin sets which worker makes the calls that follow. A driver with one goroutine does not need Begin: worker 0 makes
// all calls, and owns every port.
func (s *Switch) Begin(worker int) { s.worker = worker }

// Foreign returns the ports of other workers that got work since the last call of Foreign.
func (s *Switch) Foreign() bridge.PortSet {
	foreign := s.foreign
	if !foreign.Empty() {
		s.foreign = bridge.PortSet{}
	}
	return foreign
}

// Pending reports whether the transmit task of port i has work: a MAC Control frame or data frames to send.
func (s *Switch) Pending(i int) bool { return s.pending.Has(i) }

// TakePending is Pending, and clears it.
func (s *Switch) TakePending(i int) bool {
	pending := s.pending.Has(i)
	s.pending.Remove(i)
	return pending
}

// PendingPorts returns the ports whose transmit tasks have work.
func (s *Switch) PendingPorts() bridge.PortSet { return s.pending }

// Rests reports whether port i has nothing to send, so that its transmit task need not run before its deadlines.
func (s *Switch) Rests(i int, now int64) bool {
	p := s.ports[i]
	return p.occupied|p.streaming(now) == 0 && !p.sender.Pending(now) && len(s.trunks) == 0
}

// LimitSendCalls sets how many frames one plan of Dequeue has at most, from 1 to port.BatchFrames, the default. A
// driver whose links take one frame at a time sets 1.
func (s *Switch) LimitSendCalls(frames int) {
	s.sendFrames = frames
	for p := range s.existing() {
		p.plan.frames = make([]planned, frames)
	}
}

// MarkPending gives the transmit task of port i work.
func (s *Switch) MarkPending(i int) {
	if p := s.ports[i]; p != nil {
		s.markPending(p)
	}
}

// Departures counts lossless frames that have left the buffer. A driver offers a frame that waits in its ring again
// when this number has changed.
func (s *Switch) Departures() uint64 { return s.losslessDepartures }

// MayLeaveSoon reports whether a frame of the newest burst of Ingress may leave within LongQueue.
func (s *Switch) MayLeaveSoon() bool { return s.mayLeaveSoon }

// LongQueue is the least time, in ns, that a long egress queue takes to leave at the port's speed.
const LongQueue = 1_000_000

// longQueue reports whether a frame that joins queue q of p now waits for LongQueue at least.
func (p *portState) longQueue(q uint8) bool {
	return p.cfg.Speed > 0 && p.count.QueueBytes[q] >= p.cfg.Speed/8*LongQueue/1_000_000_000
}

// Feeders returns the ports that received the frames which wait in queue q of port i.
func (s *Switch) Feeders(i int, q uint8) (in bridge.PortSet) {
	if p := s.ports[i]; p != nil {
		for d := p.queues[q].head; d != none; d = s.memory.descs[d].next {
			in.Add(int(s.memory.descs[d].in))
		}
	}
	return in
}

// InUse returns how many cells and descriptors of the packet memory are not free.
func (s *Switch) InUse() (cells, descriptors int) {
	m := s.memory
	return len(m.next) - m.freeCells.left, len(m.descs) - m.freeDescs.left
}
