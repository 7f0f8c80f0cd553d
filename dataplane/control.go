package dataplane

import (
	"math"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// resumePeriod is after how many ns a port whose peer is held looks at its thresholds, beside each departure.
const resumePeriod = 1_000_000

// Control handles a MAC Control frame that port i received at stamp, also before SetUp reports the link up: the peer
// may know earlier. It returns the priorities that the frame paused anew.
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
	p.closeGates(p.receiver.Paused(now))
	s.markPending(p)
	s.updateHoldsOfPort(p)
	return p.receiver.Paused(now) &^ before
}

// floodEventEvery is the least time between two events about a flood of MAC Control frames at one port, in ns.
const floodEventEvery = 10_000_000_000

// ControlSurplus counts a MAC Control frame of a flood at port i, which a newer one follows.
func (s *Switch) ControlSurplus(i int) {
	p := s.ports[i]
	if p == nil {
		return
	}
	if p.receiver.CountIgnored(macctl.ReasonSurplus); s.now >= p.nextFloodEvent {
		p.nextFloodEvent = s.now + floodEventEvery
		s.event(Event{Kind: EventControlFlood, Port: p.cfg.Name, Priority: -1, Peer: p.lastControlSource,
			Text: "PAUSE or PFC frames come faster than any pause needs: of those that wait only the newest counts " +
				"(surplus). The peer floods them"})
	}
}

// ControlOut appends the MAC Control frame that port i has to send now, and reports whether there is one. Nothing
// changes until ControlSent, after which ControlOut has to be called again.
func (s *Switch) ControlOut(i int, b []byte, now int64) ([]byte, bool) {
	p := s.at(i, now)
	if p == nil || !p.up {
		return b, false
	}
	if !p.sender.Pending(now) {
		p.thresholdCrossedAt, p.crossingArrival = 0, 0 // freed before XOFF left: nothing to measure
		return b, false
	}
	if p.cfg.Remain {
		s.stateRemaining(p)
	}
	return p.sender.AppendFrame(b, now)
}

// stateRemaining sets how many bits each ingress queue can still take.
func (s *Switch) stateRemaining(p *portState) {
	for q := range uint8(NumPriorities) {
		p.sender.SetRemaining(q, 8*s.buffer.Room(p.index, q))
	}
}

// ControlSent reports that the frame of ControlOut left at time now. If an admission that crossed a threshold caused
// the frame, ControlSent returns the time of ThresholdCrossedAt and when the admitted frame arrived, else 0.
func (s *Switch) ControlSent(i int, now int64) (crossed, arrived int64) {
	p := s.ports[i]
	p.sender.Sent(now)
	s.updateXoffSent(p, now, p.cfg.Delay > 0 || p.delayed > 0)
	switch {
	case p.thresholdCrossedAt > now:
		return 0, 0 // after ControlOut: the next frame reports it
	case p.thresholdCrossedAt != timeNotSet:
		crossed, arrived = p.thresholdCrossedAt, p.crossingArrival
	}
	p.thresholdCrossedAt, p.crossingArrival = 0, 0
	return crossed, arrived
}

// RefreshEvery returns after how many ns the frame of ControlOut is to be sent again, 0 where it holds nobody.
func (s *Switch) RefreshEvery(i int) int64 { return s.ports[i].sender.RefreshEvery() }

// AppendHold appends an XOFF for all that is lossless at port i, and returns after how many ns it is to be sent again,
// 0 where nothing is lossless.
func (s *Switch) AppendHold(i int, b []byte) (frame []byte, every int64) {
	return s.ports[i].sender.AppendHold(b)
}

// ControlRefreshed reports that the frame of the last ControlSent has left n times more, the last time at time at.
// With all, the newest frame that has left was that of AppendHold, as far as is known: ControlOut says at once what is
// wanted now. These frames pass a delay line by.
func (s *Switch) ControlRefreshed(i int, n uint64, at int64, all bool) {
	p := s.ports[i]
	p.sender.Refreshed(n, at, all)
	for q := range uint8(NumPriorities) {
		if u := &p.headroomUse[q]; all && u.inLine {
			p.xoffLeftDelayLine(q, max(0, at-u.left-p.cfg.Delay)) // the hold has overtaken it
		}
	}
	s.updateXoffSent(p, at, false)
	if all {
		s.markPending(p)
	}
}

// timeNotSet stands for a crossing before ThresholdCrossedAt.
const timeNotSet = -1

// ThresholdCrossedAt sets when Ingress of port i returned ThresholdCrossed or FrameWaits, to measure how fast XOFF
// leaves. The burst's own time is earlier.
func (s *Switch) ThresholdCrossedAt(i int, now int64) {
	if p := s.ports[i]; p != nil && p.thresholdCrossedAt == timeNotSet {
		p.thresholdCrossedAt = now
	}
}

// HoldPeerForRing sets or clears the hold of all lossless priorities of a port whose lossless ring fills up.
func (s *Switch) HoldPeerForRing(i int, hold bool, now int64) {
	p := s.at(i, now)
	if p == nil {
		return
	}
	for q := range uint8(NumPriorities) {
		switch {
		case !p.lossless(q):
		case hold:
			s.holdPeer(p, q, macctl.CauseRing)
		default:
			s.releasePeer(p, q, macctl.CauseRing)
		}
	}
}

// XoffSent reports whether XOFF was sent for every priority of port i that is to be held. It is true where the port is
// down, or not there.
func (s *Switch) XoffSent(i int) bool {
	p := s.ports[i]
	return p == nil || !p.up || p.sender.XoffWanted()&^p.sender.XoffSent() == 0
}

// WouldExceedThreshold reports whether so many frames, with so many octets in all, may bring a lossless queue of port i
// above its threshold. Each frame takes whole cells.
func (s *Switch) WouldExceedThreshold(i int, frames, octets int64) bool {
	p := s.ports[i]
	if p == nil {
		return false
	}
	octets += frames * int64(s.memory.cell)
	for q := range uint8(NumPriorities) {
		if p.lossless(q) && s.buffer.WouldExceedThreshold(i, q, octets) {
			return true
		}
	}
	return false
}

// WaitsInRing reports whether a lossless frame that finds no room waits in the receive ring.
func (s *Switch) WaitsInRing() bool { return s.cfg.Buffer.RingHold }

// LookWithin returns for how many ns a driver may not look at the lossless rings of port i: most, or less, down to
// least, where the shortest frames at the port's speed would meanwhile bring an ingress queue that is ON above its
// threshold.
func (s *Switch) LookWithin(i int, most, least int64) int64 {
	p := s.ports[i]
	if p == nil {
		return most
	}
	off := s.buffer.Off(i)
	for q := range uint8(NumPriorities) {
		if p.ingressQueueOf(q) != q || !p.lossless(q) || off>>q&1 != 0 {
			continue
		}
		for most > least && s.buffer.WouldExceedThreshold(i, q, s.shortFrames(p, most)) {
			most /= 2
		}
	}
	return max(most, min(least, most))
}

// shortFrames is how many bytes of the buffer the shortest frames take that come by p in so many ns.
func (s *Switch) shortFrames(p *portState, ns int64) int64 {
	octets := int64(float64(macctl.SpeedOrNominal(p.cfg.Speed)) * float64(ns) / 8e9)
	const shortest = 60 // octets without FCS
	return octets / int64(frame.WireOctets(shortest)) * s.buffer.Charge(shortest)
}

// ReceivedFrames returns how many data frames all ports have received, but for loop probes of other switches.
func (s *Switch) ReceivedFrames() (n uint64) { return s.receivedFrames }

// DataFrames returns how many data frames port i has received since it was configured, but for loop probes.
func (s *Switch) DataFrames(i int) (n uint64) {
	if p := s.ports[i]; p != nil {
		n = p.dataFrames
	}
	return n
}

// SeeRing records how many frames wait in the lossless rings of port i.
func (s *Switch) SeeRing(i, frames int) {
	if p := s.ports[i]; p != nil {
		p.count.RingFramesMax = max(p.count.RingFramesMax, uint64(frames))
	}
}

// TxDeadline returns when the transmit task of port i has to run next, even if nothing happens.
func (s *Switch) TxDeadline(i int, now int64) int64 {
	p := s.ports[i]
	if p == nil || !p.up {
		return math.MaxInt64
	}
	at := min(p.txAt, p.sender.NextRefresh())
	if s.buffer.Off(i) != 0 {
		at = min(at, now+resumePeriod)
	}
	if p.trunk != nil && p.member == uplink && p.trunk.waiting != 0 {
		at = min(at, p.trunk.turnEnds)
	}
	if p.trunk != nil && p.trunk.cfg.Flow.Mode != macctl.ModeOff {
		at = min(at, p.receiver.NextExpiry()) // then the trunk frees the ports that it holds for this pause
	}
	return at
}

// Tick examines every held queue, because no arrival or departure may come for it, and the pauses that trunks pass
// through, because they end by themselves.
func (s *Switch) Tick(now int64) {
	s.setTime(now)
	if s.buffer.OffCount() > 0 {
		s.buffer.Resume()
	}
	for _, t := range s.trunks {
		s.updateTrunkHolds(t)
	}
}
