package dataplane

import (
	"math"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// resumePeriod is how often a port whose peer is held looks whether it may be freed, beside the looks at each
// departure.
const resumePeriod = 1_000_000

// Control takes a MAC Control frame that port i received at stamp, also before SetUp has told that the link is up: the
// peer may know earlier. It returns the priorities that the frame paused anew.
func (s *Switch) Control(i int, b []byte, stamp, now int64) (paused uint8) {
	p := s.at(i, now)
	if p == nil {
		return 0
	}
	if len(b) >= 2*frame.AddressOctets {
		p.lastControlSource = frame.Address(b[frame.AddressOctets:])
	}
	before := p.receiver.Paused(now)
	p.lastReason = p.receiver.Receive(b, stamp, now)
	s.markPending(p)
	s.reviewPort(p)
	return p.receiver.Paused(now) &^ before
}

// ControlOut appends the MAC Control frame that port i has to send now, and reports whether there is one. Nothing
// changes until ControlSent. After that it has to be asked again.
func (s *Switch) ControlOut(i int, b []byte, now int64) ([]byte, bool) {
	p := s.at(i, now)
	if p == nil || !p.up {
		return b, false
	}
	if !p.sender.Pending(now) {
		p.crossed, p.crossedArrival = 0, 0 // freed before it was told: nothing to measure
		return b, false
	}
	if p.cfg.Remain {
		s.stateRemaining(p)
	}
	return p.sender.AppendFrame(b, now)
}

// stateRemaining tells the sender how many bits each ingress queue can still take.
func (s *Switch) stateRemaining(p *portState) {
	for q := range uint8(NumPriorities) {
		p.sender.SetRemaining(q, 8*s.buffer.Room(p.index, q))
	}
}

// ControlSent says that the frame of ControlOut left at time now. If that frame reports that an admission crossed a
// threshold, ControlSent returns the time of CrossedAt and when the admitted frame arrived, else 0.
func (s *Switch) ControlSent(i int, now int64) (crossed, arrived int64) {
	p := s.ports[i]
	p.sender.Sent(now)
	p.updateXoffSent(now)
	if p.crossed != untimed {
		crossed, arrived = p.crossed, p.crossedArrival
	}
	p.crossed, p.crossedArrival = 0, 0
	return crossed, arrived
}

// untimed is a crossing without CrossedAt.
const untimed = -1

// CrossedAt says when Ingress of port i returned Crossed, to measure how fast XOFF leaves. The time of the burst is
// earlier.
func (s *Switch) CrossedAt(i int, now int64) {
	if p := s.ports[i]; p != nil && p.crossed == untimed {
		p.crossed = now
	}
}

// RingHold sets or clears the hold of all lossless priorities of a port whose lossless ring fills up.
func (s *Switch) RingHold(i int, hold bool, now int64) {
	p := s.at(i, now)
	if p == nil {
		return
	}
	for q := range uint8(NumPriorities) {
		switch {
		case !p.lossless(q):
		case hold:
			s.hold(p, q, macctl.CauseRing)
		default:
			s.free(p, q, macctl.CauseRing)
		}
	}
}

// XoffSent reports whether the peer of port i knows that it must not send what is to be held, or there is nobody to
// be told.
func (s *Switch) XoffSent(i int) bool {
	p := s.ports[i]
	return p == nil || !p.up || p.sender.XoffWanted()&^p.sender.XoffSent() == 0
}

// WouldCross tells whether so many frames with so many octets in all might bring any lossless queue of a port above its
// threshold: each takes whole cells.
func (s *Switch) WouldCross(i int, frames, octets int64) bool {
	p := s.ports[i]
	if p == nil {
		return false
	}
	octets += frames * int64(s.memory.cell)
	for q := range uint8(NumPriorities) {
		if p.lossless(q) && s.buffer.WouldCross(i, q, octets) {
			return true
		}
	}
	return false
}

// SeeRing records how many frames wait in the lossless rings of a port.
func (s *Switch) SeeRing(i, frames int) {
	if p := s.ports[i]; p != nil {
		p.count.RingFramesMax = max(p.count.RingFramesMax, uint64(frames))
	}
}

// TxDeadline returns the time at which the transmit task of port i has to look again even if nothing happens.
func (s *Switch) TxDeadline(i int, now int64) int64 {
	p := s.ports[i]
	if p == nil || !p.up {
		return math.MaxInt64
	}
	at := min(p.txAt, p.sender.NextRefresh())
	if s.buffer.Off(i) != 0 {
		at = min(at, now+resumePeriod)
	}
	if p.trunk != nil && p.trunk.cfg.Flow.Mode != macctl.ModeOff {
		at = min(at, p.receiver.NextExpiry()) // whom the trunk holds for it is to be freed
	}
	return at
}

// Tick examines every held queue, for which no arrival or departure may come, and the pauses that trunks pass
// through, which end by themselves.
func (s *Switch) Tick(now int64) {
	s.now = now
	if s.buffer.OffCount() > 0 {
		s.buffer.Resume()
	}
	for _, t := range s.trunks {
		s.review(t)
	}
}
