package dataplane

import (
	"pfcswitch/dataplane/bridge"
	"pfcswitch/macctl"
)

// WholePort stands for the one queue of an 802.3x PAUSE port.
const WholePort = macctl.WholePort

// A WatchReading is the state of an egress queue that may be in a deadlock.
type WatchReading struct {
	Held      int    // frames that wait
	Sent      uint64 // frames that left since the port was added
	Dropped   uint64 // frames that BreakDeadlock discarded
	PausedNs  int64  // ns for which the peer paused the queue, up to this moment, by the pause timer
	PausedNow bool
	Requested bool   // the peer requests a pause, obeyed or not
	Xoffs     uint64 // XOFFs received, obeyed or not
	Session   uint32 // counts how often the link went down
}

// ReadWatch fills r with the state of a queue of port i at time now: a priority, or WholePort. It is zero where there
// is no such port.
func (s *Switch) ReadWatch(i int, queue uint8, now int64, r *WatchReading) {
	p := s.ports[i]
	if p == nil {
		*r = WatchReading{}
		return
	}
	if queue < NumPriorities {
		r.Held, r.Sent, r.Dropped = p.queues[queue].frames, p.count.QueueSent[queue], p.count.QueueDiscarded[queue]
	} else {
		r.Held, r.Sent, r.Dropped = 0, 0, 0
		for q := range p.queues {
			r.Held += p.queues[q].frames
			r.Sent += p.count.QueueSent[q]
			r.Dropped += p.count.QueueDiscarded[q]
		}
	}
	r.PausedNs, r.PausedNow = p.receiver.PausedTime(queue, now), p.receiver.PausedUnit(queue, now)
	r.Requested = r.PausedNow || p.receiver.Requested(queue, now)
	r.Xoffs, r.Session = p.receiver.Xoffs(queue), p.session
}

// covers returns the egress queues of a queue of ReadWatch.
func covers(queue uint8) uint8 {
	if queue == WholePort {
		return 0xff
	}
	return 1 << queue
}

// NotifyPaused asks that Suspects names port i once, when this queue next holds frames while paused. on false ends the
// request.
func (s *Switch) NotifyPaused(i int, queue uint8, on bool) {
	p := s.ports[i]
	if p == nil {
		return
	}
	p.watchedQueues &^= covers(queue)
	if on {
		p.watchedQueues |= covers(queue)
	}
}

// reportPaused notes that queues of p hold frames while paused.
func (s *Switch) reportPaused(p *portState, paused uint8) {
	p.watchedQueues &^= p.occupied & paused
	if p.cfg.Mode == macctl.ModePause {
		p.watchedQueues = 0
	}
	s.notifyWatch(p)
}

func (s *Switch) notifyWatch(p *portState) {
	s.suspects.Add(p.index)
	if s.cfg.Suspect != nil {
		s.cfg.Suspect()
	}
}

// endWatch ends the orders of a port whose link went down.
func (s *Switch) endWatch(p *portState) {
	p.discardQueues = 0
	p.session++
	s.notifyWatch(p)
}

// Suspects returns and clears the ports that NotifyPaused asked for, and the ports whose link went down.
func (s *Switch) Suspects() bridge.PortSet {
	all := s.suspects
	s.suspects = bridge.PortSet{}
	return all
}

// Suspicious reports whether Suspects would name a port.
func (s *Switch) Suspicious() bool { return !s.suspects.Empty() }

// BreakDeadlock gives an order for a queue of port i: with ignoreXoff, XOFF is counted and not obeyed; with discard,
// the queue's frames are dropped too. With neither, it ends the order. A link that goes down ends the order too.
func (s *Switch) BreakDeadlock(i int, queue uint8, ignoreXoff, discard bool, now int64) {
	p := s.at(i, now)
	if p == nil {
		return
	}
	p.receiver.Ignore(queue, ignoreXoff, now)
	p.discardQueues &^= covers(queue)
	if discard && p.up {
		p.discardQueues |= covers(queue)
	}
	p.closeGates(covers(queue))
	s.updateHoldsOfPort(p)
	s.markPending(p)
}

// discardFrames is how many frames one call of Dequeue discards: the lock is held meanwhile.
const discardFrames = 512

// discardQueues empties the queues that an order discards. Only Dequeue calls it, by the worker that owns the port: no
// frame of the port is on its way into the kernel then.
func (s *Switch) discardQueues(p *portState) {
	left := discardFrames
	for q := range uint8(NumPriorities) {
		for p.discardQueues&(1<<q) != 0 && p.queues[q].head != none && left > 0 {
			s.dropQueued(p, s.pop(p, q), DropWatchdog)
			p.count.QueueDiscarded[q]++
			left--
		}
	}
	if left == discardFrames {
		return
	}
	s.buffer.Resume()
	s.updateHoldsBehind(p)
	if p.discardQueues&p.occupied != 0 {
		s.markPending(p)
	}
}

// NoteWatch adds an event about a queue of port i and its peer. Where the port is gone, the event has its name only.
func (s *Switch) NoteWatch(i int, name string, queue uint8, kind EventKind, text string, now int64) {
	p := s.at(i, now)
	switch {
	case p != nil:
		s.peerEvent(p, kind, min(queue, NumPriorities-1), text) // WholePort: peerEvent names all priorities
	case queue == WholePort:
		s.event(Event{Kind: kind, Port: name, Priority: AllPriorities, Text: text})
	default:
		s.event(Event{Kind: kind, Port: name, Priority: int(queue), Text: text})
	}
}
