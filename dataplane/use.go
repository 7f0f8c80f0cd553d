package dataplane

import (
	"fmt"
	"time"

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
	Last  int64 // octets after the newest XOFF

	// XOFF is late by what had arrived before XOFF left, and was read after it: that is the ring's.
	LateXoffs uint64 // XOFFs that left so late
	Ring      int64  // most octets that had arrived before one XOFF
	RingTotal uint64 // all of those octets
	LateNs    int64  // longest time for which one of those frames lay in the ring until XOFF left

	// Frames that found no room: they wait in the ring, or with ring_hold: off they are dropped.
	Waited uint64 // after XOFF, because the headroom was too small for what came after XOFF
	// WaitedBehindEarlier came after XOFF, and all that came after XOFF would have fitted: frames that had arrived
	// before had taken the headroom, or with dynamic headroom frames of other priorities the insurance.
	WaitedBehindEarlier uint64
	WaitedEarly         uint64 // had arrived before XOFF left
	WaitedForPool       uint64 // whenever: their queue's headroom had room, and the shared headroom pool had none

	Exceeded  uint64  // XOFFs after which more came than Room
	LeastLeft XoffUse // what came after the XOFF that left least of its Room
}

// An XoffUse is what came after one XOFF (Used), and the headroom when the XOFF was sent (Room): octets on the wire
// where they had been found by then and the headroom follows what is found, else bytes of the buffer. Used is 0 where
// nothing has come after any XOFF.
type XoffUse struct{ Used, Room int64 }

// headroomUseMeter counts the use of one queue since the newest XOFF.
type headroomUseMeter struct {
	HeadroomUse
	left    int64 // when XOFF left
	found   int64 // octets on the wire that the headroom was found to need by then; 0: compare bytes
	room    int64 // bytes of headroom by then
	charged int64 // bytes of the buffer for what has come since, and for the frame that crossed the threshold
	before  int64 // octets read since then that had arrived before
	inLine  bool  // XOFF is in the delay line
}

// A frameUse is a frame that comes while its priority is held.
type frameUse struct {
	octets, bytes int64 // on the wire and in the buffer
	at            int64 // when it arrived
}

// useOf returns what a frame takes. One that is in a waiting room is counted already.
func (s *Switch) useOf(a *Arrival) frameUse {
	if a.waits {
		return frameUse{at: a.At}
	}
	return frameUse{int64(frame.WireOctets(len(a.Data))), s.buffer.Charge(len(a.Data)), a.At}
}

// A deferredFrame is a frame that came while XOFF was in the delay line. Only when XOFF leaves the line is it known
// whether the line was late.
type deferredFrame struct {
	frameUse
	queue  uint8
	noRoom bool
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

// updateXoffSent starts a count for each queue for which XOFF was sent at time now, or put into the delay line, and
// ends it for each that was freed.
func (s *Switch) updateXoffSent(p *portState, now int64, inLine bool) {
	xoffSent := p.sender.XoffSent()
	for q := range uint8(NumPriorities) {
		u, bit := &p.headroomUse[q], uint8(1)<<q
		switch {
		case p.ingressQueueOf(q) != q || (xoffSent^p.xoffSent)&bit == 0:
		case xoffSent&bit != 0:
			u.Xoffs++
			u.left, u.Last, u.before, u.inLine = now, 0, 0, inLine
			u.room, u.found = p.cfg.Ingress[q].Headroom, p.found(q)
			u.charged = min(s.buffer.InHeadroom(p.index, q), s.buffer.Charge(p.cfg.MaxFrame))
		case u.inLine: // freed before XOFF has left: nothing came after it
			p.xoffLeftDelayLine(q, now-u.left)
		}
	}
	p.xoffSent = xoffSent
}

// found is for how many octets on the wire after an XOFF the headroom of queue q was found by now; 0 where the headroom
// does not follow what is found.
func (p *portState) found(q uint8) int64 {
	if p.cfg.Prober == nil || p.cfg.Follow>>q&1 == 0 {
		return 0
	}
	return p.cfg.Prober.Found()
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
		case n.noRoom:
			p.judgeNoRoom(n)
		default:
			u.add(n.frameUse, macctl.SpeedOrNominal(p.cfg.Speed))
		}
	}
	p.deferredFrames = kept
}

// countAfterXoff counts a frame that came by p while its priority is held.
func (s *Switch) countAfterXoff(p *portState, a *Arrival) {
	if a.priority >= NumPriorities || p.xoffSent&(1<<a.priority) == 0 {
		return
	}
	n := deferredFrame{frameUse: s.useOf(a), queue: p.ingressQueueOf(a.priority)}
	if !p.deferUntilXoffLeaves(n) {
		p.headroomUse[n.queue].add(n.frameUse, macctl.SpeedOrNominal(p.cfg.Speed))
	}
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

// add counts a frame that came by a link of speed bit/s.
func (u *headroomUseMeter) add(n frameUse, speed int64) {
	if n.at > u.left {
		u.Last += n.octets
		u.charged += n.bytes
		u.Peak = max(u.Peak, u.Last)
		u.Paced = max(u.Paced, min(u.Last, int64(float64(n.at-u.left)/8e9*float64(speed))))
		if u.found > 0 {
			u.compare(n.octets, XoffUse{u.Last, u.found})
		} else {
			u.compare(n.bytes, XoffUse{u.charged, u.room})
		}
		return
	}
	if u.before == 0 {
		u.LateXoffs++
	}
	u.before += n.octets
	u.RingTotal += uint64(n.octets)
	u.Ring = max(u.Ring, u.before)
	u.LateNs = max(u.LateNs, u.left-n.at)
}

// compare compares what has come since XOFF, of which the newest frame is a part, with the headroom.
func (u *headroomUseMeter) compare(newest int64, now XoffUse) {
	if now.Used > now.Room && now.Used-newest <= now.Room {
		u.Exceeded++
	}
	if t := &u.LeastLeft; t.Used == 0 || now.Room-now.Used < t.Room-t.Used {
		*t = now
	}
}

// moreThanHeadroom tells people of a peer that overran the headroom. A process that gets no CPU obeys late, which no
// switch can tell from not obeying.
const moreThanHeadroom = "more came after XOFF than the headroom holds: it is too small, or the peer does not obey " +
	"XOFF in time: a host may be short of CPU"

// A noRoom is why a frame finds no room.
type noRoom uint8

// The reasons. HeadroomUse has a counter for each but the last.
const (
	poolFull noRoom = iota
	beforeXoff
	behindEarlier
	afterXoff
	duringXoff // XOFF is in the delay line, so nobody knows yet
)

func (w noRoom) String() string {
	return [...]string{"pool full", "before XOFF", "behind earlier frames", "after XOFF", "during XOFF"}[w]
}

// countNoRoom counts a frame that finds no room.
func (s *Switch) countNoRoom(p *portState, a *Arrival) noRoom {
	n := deferredFrame{frameUse: s.useOf(a), queue: p.ingressQueueOf(a.priority), noRoom: true}
	switch {
	case s.buffer.HeadroomPoolFull(p.index, a.priority, len(a.Data)):
		p.headroomUse[n.queue].WaitedForPool++
		return poolFull
	case p.xoffSent&(1<<a.priority) == 0:
		p.headroomUse[n.queue].WaitedEarly++
		return beforeXoff
	case p.deferUntilXoffLeaves(n):
		return duringXoff
	}
	return p.judgeNoRoom(n)
}

// What becomes of a frame without room. Texts are put together only where an event is new.
const (
	waitsForRoom    = "lossless frames wait for buffer: "
	lostForHeadroom = "lossless-headroom, and buffer.ring_hold is off: "
	lostForPool     = "lossless-headroom-pool, and buffer.ring_hold is off: "
)

// noRoomEvent tells people that a frame finds no room. Events of one reason are one, with the figures of the first
// frame.
func (s *Switch) noRoomEvent(p *portState, a *Arrival, why noRoom, kind EventKind, effect string) {
	e := p.newEvent(kind, a.priority)
	e.joins = why.String()
	if s.joined(&e) {
		return
	}
	e.Text = effect + s.noRoomText(p, a, why)
	if kind == EventRingHold && why == afterXoff {
		e.Text += ": " + moreThanHeadroom
	}
	s.events.add(e, s.now)
}

// noRoomText says whether XOFF left late, or more came after XOFF than the headroom is for.
func (s *Switch) noRoomText(p *portState, a *Arrival, why noRoom) string {
	q := p.ingressQueueOf(a.priority)
	u, left := &p.headroomUse[q], s.now
	switch why {
	case poolFull:
		return "other queues fill buffer.headroom_pool, which is smaller than all headrooms together: raise its " +
			"size, or lower its ratio"
	case beforeXoff:
		if p.xoffSent>>a.priority&1 != 0 {
			left = u.left
		}
		return fmt.Sprintf("this machine ran the switch late, or the kernel refused XOFF: the frame had waited for "+
			"%v, and XOFF had not left; no headroom is for that", time.Duration(left-a.At))
	case behindEarlier:
		return "this machine ran the switch late, the kernel refused XOFF, or the headroom is dynamic: all that " +
			"came after XOFF would fit, but what came before XOFF, or other priorities, has taken the headroom"
	case afterXoff:
		frames := p.cfg.Ingress[q].Headroom / s.buffer.Charge(len(a.Data))
		bits := float64(frames * int64(frame.WireOctets(len(a.Data))) * 8)
		return fmt.Sprintf("frames came for %v after XOFF, and the headroom is for %v of such frames at the port's "+
			"speed", time.Duration(a.At-u.left), time.Duration(bits/float64(macctl.SpeedOrNominal(p.cfg.Speed))*1e9))
	}
	return "the headroom was full before XOFF had passed the port's delay"
}

// peerOverran reports whether frames that came after XOFF were too much for a headroom since the last ReadLosses, or
// before it and the peer has been held since. Only that shows that an overflow of the ring is the peer's.
func (p *portState) peerOverran() bool {
	return p.waitedAfterXoff() > p.waited || p.overran && p.xoffSent != 0
}

// waitedAfterXoff is how many frames came after XOFF and found no room.
func (p *portState) waitedAfterXoff() (frames uint64) {
	for q := range p.headroomUse {
		frames += p.headroomUse[q].Waited
	}
	return frames
}

// judgeNoRoom counts a frame without room as Waited, or as one of those for which XOFF left late.
func (p *portState) judgeNoRoom(n deferredFrame) noRoom {
	u := &p.headroomUse[n.queue]
	switch {
	case n.at <= u.left:
		u.WaitedEarly++
		return beforeXoff
	case u.charged+n.bytes <= p.cfg.Ingress[n.queue].Headroom:
		u.WaitedBehindEarlier++
		return behindEarlier
	}
	u.Waited++
	return afterXoff
}
