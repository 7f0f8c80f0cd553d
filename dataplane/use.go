package dataplane

import (
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// HeadroomUse is what a lossless ingress queue really took after XOFF was sent to its peer, by the receive stamps of
// the frames. Octets are those on the wire.
type HeadroomUse struct {
	Xoffs uint64 // XOFFs sent
	Peak  int64  // most octets that came after one XOFF had left
	// Paced is Peak without the peer's burst: no more than the link's speed passes in the time since XOFF.
	Paced int64
	Ring  int64 // most octets that had arrived before one XOFF, and were read after it
	Last  int64 // octets after the newest XOFF
	// Waited are frames after XOFF that waited in the ring because the headroom was too small for what came after XOFF.
	Waited uint64
	// WaitedBehindEarlier are frames after XOFF that waited in the ring although what came after XOFF would have
	// fitted: frames that had arrived before had taken the headroom.
	WaitedBehindEarlier uint64

	Exceeded  uint64  // XOFFs after which more came than Room
	LeastLeft XoffUse // what came after the XOFF that left least of its Room
}

// An XoffUse is what came after one XOFF (Used), and the headroom in force when the XOFF was sent (Room). Where the
// headroom follows what is found, Room is at most what had been found by then. Both are octets; Used is 0 where nothing
// has come after any XOFF.
type XoffUse struct{ Used, Room int64 }

// headroomUseMeter counts the use of one queue since the newest XOFF.
type headroomUseMeter struct {
	HeadroomUse
	left   int64 // when XOFF left
	room   int64 // octets of headroom by then
	before int64 // octets read since then that had arrived before
	inLine bool  // XOFF is in the delay line
}

// A deferredFrame is a frame that came while XOFF was in the delay line. Only when XOFF leaves the line is it known
// whether the line was late.
type deferredFrame struct {
	queue       uint8
	waitsInRing bool // for buffer
	octets      int32
	at          int64
}

// maxDeferredFrames is what a delay line of a millisecond at 1 Gbit/s needs with smallest frames. Beyond it, frames
// count as after XOFF.
const maxDeferredFrames = 2048

// ingressQueueOf is the queue that a priority belongs to.
func (p *portState) ingressQueueOf(prio uint8) uint8 {
	if p.cfg.Mode == macctl.ModePause {
		return 0
	}
	return prio & (NumPriorities - 1)
}

// updateXoffSent starts a count for each queue for which XOFF was sent at time now, and ends it for each that was
// freed.
func (p *portState) updateXoffSent(now int64) {
	xoffSent := p.sender.XoffSent()
	for q := range uint8(NumPriorities) {
		u, bit := &p.headroomUse[q], uint8(1)<<q
		switch {
		case p.ingressQueueOf(q) != q || (xoffSent^p.xoffSent)&bit == 0:
		case xoffSent&bit != 0:
			u.Xoffs++
			u.left, u.Last, u.before, u.inLine = now, 0, 0, p.cfg.Delay > 0 || p.delayed > 0
			u.room = p.roomNow(q)
		case u.inLine: // freed before XOFF has left: nothing came after it
			p.xoffLeftDelayLine(q, now-u.left)
		}
	}
	p.xoffSent = xoffSent
}

// roomNow is the headroom, in octets, for what comes after an XOFF that is sent now.
func (p *portState) roomNow(q uint8) int64 {
	room := p.cfg.Ingress[q].Headroom
	if p.cfg.Prober == nil || p.cfg.Follow>>q&1 == 0 {
		return room
	}
	if found := p.cfg.Prober.Found(); found > 0 {
		room = min(room, found)
	}
	return room
}

// xoffLeftDelayLine counts the frames that came while an XOFF of queue q was in the delay line. That XOFF counts as
// sent lateNs later than it entered the line.
func (p *portState) xoffLeftDelayLine(q uint8, lateNs int64) {
	u := &p.headroomUse[q]
	u.left += lateNs
	u.inLine = false
	kept := p.deferredFrames[:0]
	for _, n := range p.deferredFrames {
		switch {
		case n.queue != q:
			kept = append(kept, n)
		case n.waitsInRing:
			p.judgeWait(n)
		default:
			u.add(n.at, int64(n.octets), macctl.SpeedOrNominal(p.cfg.Speed))
		}
	}
	p.deferredFrames = kept
}

// countAfterXoff counts a frame that came by p while its priority is held.
func (p *portState) countAfterXoff(a *Arrival) {
	if a.priority >= NumPriorities || p.xoffSent&(1<<a.priority) == 0 {
		return
	}
	q := p.ingressQueueOf(a.priority)
	octets := frame.WireOctets(len(a.Data))
	if p.deferUntilXoffLeaves(deferredFrame{queue: q, octets: int32(octets), at: a.At}) {
		return
	}
	p.headroomUse[q].add(a.At, int64(octets), macctl.SpeedOrNominal(p.cfg.Speed))
}

// deferUntilXoffLeaves keeps a frame until XOFF has left the delay line. It returns false where XOFF is not in the
// line.
func (p *portState) deferUntilXoffLeaves(n deferredFrame) bool {
	if !p.headroomUse[n.queue].inLine || len(p.deferredFrames) == cap(p.deferredFrames) {
		return false
	}
	p.deferredFrames = append(p.deferredFrames, n)
	return true
}

// add counts octets that arrived at a time by a link of speed bit/s.
func (u *headroomUseMeter) add(at, octets, speed int64) {
	if at > u.left {
		u.Last += octets
		u.Peak = max(u.Peak, u.Last)
		u.Paced = max(u.Paced, min(u.Last, int64(float64(at-u.left)/8e9*float64(speed))))
		u.compare(octets)
		return
	}
	u.before += octets
	u.Ring = max(u.Ring, u.before)
}

// compare compares what has come since XOFF, with these octets as the newest, with the headroom.
func (u *headroomUseMeter) compare(octets int64) {
	if u.Last > u.room && u.Last-octets <= u.room {
		u.Exceeded++
	}
	if t := &u.LeastLeft; t.Used == 0 || u.room-u.Last < t.Room-t.Used {
		*t = XoffUse{u.Last, u.room}
	}
}

// countRingWait counts a frame that has to wait for buffer, and reports whether too much came after XOFF. The octets of
// a frame in the waiting room count already.
func (p *portState) countRingWait(a *Arrival) (overran bool) {
	n := deferredFrame{queue: p.ingressQueueOf(a.priority), waitsInRing: true, at: a.At}
	if !a.waits {
		n.octets = int32(frame.WireOctets(len(a.Data)))
	}
	return p.xoffSent&(1<<a.priority) != 0 && !p.deferUntilXoffLeaves(n) && p.judgeWait(n)
}

// lostAfterXoff reports whether too much came after XOFF, where a frame is dropped that has been counted.
func (p *portState) lostAfterXoff(a *Arrival) bool {
	q := p.ingressQueueOf(a.priority)
	return p.xoffSent&(1<<a.priority) != 0 && !p.headroomUse[q].inLine && p.overruns(q, a.At, 0)
}

// overruns reports whether a frame that came at a time, with so many octets that are not counted yet, came after XOFF
// and is too much for the headroom: no frame from before XOFF has taken its room.
func (p *portState) overruns(q uint8, at, octets int64) bool {
	u := &p.headroomUse[q]
	return at > u.left && (u.before == 0 || u.Last+octets > p.cfg.Ingress[q].Headroom)
}

// peerOverran reports whether frames that came after XOFF were too much for a headroom since the last call, or before
// it and the peer has been held since. Only that shows that an overflow of the ring is the peer's.
func (p *portState) peerOverran() bool {
	var waited uint64
	for q := range p.headroomUse {
		waited += p.headroomUse[q].Waited
	}
	p.overran = waited > p.waited || p.overran && p.xoffSent != 0
	p.waited = waited
	return p.overran
}

// judgeWait counts a waiting frame as Waited or as WaitedBehindEarlier, and reports whether too much came after XOFF.
func (p *portState) judgeWait(n deferredFrame) (overran bool) {
	u := &p.headroomUse[n.queue]
	overran = p.overruns(n.queue, n.at, int64(n.octets))
	switch {
	case overran:
		u.Waited++
	case n.at > u.left:
		u.WaitedBehindEarlier++
	}
	return overran
}
