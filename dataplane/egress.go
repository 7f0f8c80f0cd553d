package dataplane

import (
	"math"
	"math/bits"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
)

// plan is the burst that Dequeue chose and Sent has not yet confirmed.
type plan struct {
	n           int
	frames      []planned // as many as a send call takes at most
	streamFrame []byte    // the frame that streamMarker stands for
	streamQueue uint8     // and its queue
}

type planned struct {
	desc  uint32      // descriptor, or streamMarker
	round sched.State // state of the round after it
}

// Dequeue plans one send call of port i at time now: frames of priorities that are not paused, by strict and weighted
// priority, within the port's speed. It returns their number; Fill puts them into a batch. They stay charged, at the
// head of their queues, until Sent. Where it returns 0, TxDeadline is when to call it again. burstInRing is the burst
// that has not been settled: a capture shows the octets of a frame of it that is dropped here.
func (s *Switch) Dequeue(i int, now int64, burstInRing []Arrival) int {
	s.setTime(now)
	s.burstInRing = burstInRing
	n := s.dequeue(i, now)
	s.burstInRing = nil
	return n
}

func (s *Switch) dequeue(i int, now int64) int {
	p := s.ports[i]
	if p == nil {
		return 0
	}
	p.plan.n, p.txAt = 0, math.MaxInt64
	if p.trunk != nil && p.member == uplink && p.trunk.waiting != 0 {
		s.arbitrate(p)
	}
	if p.discardQueues != 0 {
		s.discardQueues(p)
	}
	occupied := p.occupied | p.streaming(now)
	if !p.up || occupied == 0 {
		return 0
	}
	paused := p.receiver.Paused(now)
	if p.occupied&paused&p.watchedQueues != 0 {
		s.reportPaused(p, paused)
	}
	ready := occupied &^ paused &^ p.discardQueues
	if ready == 0 {
		p.shaper.Stop(now)
		p.txAt = p.receiver.NextExpiry()
		return 0
	}
	if p.shaper.Stopped() {
		p.shaper.Start(freeSince(p, ready), now)
	}
	if p.cfg.Delay > 0 {
		p.shaper.Held(p.inLine, p.cfg.Delay, now)
	}
	s.choose(p, occupied, ready, now)
	return p.plan.n
}

// freeSince returns when the first of the ready queues was freed.
func freeSince(p *portState, ready uint8) int64 {
	since := int64(math.MaxInt64)
	for q := range uint8(NumPriorities) {
		if ready&(1<<q) != 0 {
			since = min(since, p.receiver.FreeSince(q))
		}
	}
	return since
}

// choose fills the plan from the ready queues.
func (s *Switch) choose(p *portState, occupied, ready uint8, now int64) {
	var heads [NumPriorities]uint32
	var lengths [NumPriorities]int64
	streaming := p.streaming(now)
	if streaming != 0 {
		p.plan.streamFrame, p.plan.streamQueue = p.stream.frame, p.stream.queue
	}
	for r := ready; r != 0; r &= r - 1 {
		q := bits.TrailingZeros8(r)
		heads[q] = headOrStream(p.queues[q].head)
		lengths[q] = s.wire(p, heads[q])
	}
	round := &p.round
	var octets int64
	for p.plan.n < s.sendFrames {
		next := &p.plan.frames[p.plan.n]
		next.round = *round
		round = &next.round
		q := p.sched.Pick(round, occupied, ready, &lengths)
		if q < 0 {
			return
		}
		octets += lengths[q]
		if p.plan.n > 0 && octets > SendLimit(p.cfg.Speed) {
			return
		}
		needed := octets
		if p.plan.n == 0 { // a longer frame, which waited when the bucket became smaller, leaves with a full one
			needed = min(octets, p.cfg.Burst)
		}
		if !p.shaper.Ready(needed, now) {
			if p.plan.n == 0 {
				p.txAt = p.shaper.When(max(needed, min(sched.Quantum(p.cfg.Burst), p.waitingOctets(streaming))), now)
			}
			return
		}
		next.desc = heads[q]
		p.plan.n++
		if heads[q] != streamMarker {
			heads[q] = s.memory.descs[heads[q]].next
		}
		if heads[q] == none && streaming&(1<<q) == 0 {
			occupied &^= 1 << q
			ready &^= 1 << q
			continue
		}
		heads[q] = headOrStream(heads[q])
		lengths[q] = s.wire(p, heads[q])
	}
}

// headOrStream returns the head of a queue, or streamMarker where the queue is empty and only has a stream.
func headOrStream(head uint32) uint32 {
	if head == none {
		return streamMarker
	}
	return head
}

// waitingOctets is how many octets on the wire wait at a port. A port that has used up its tokens sleeps until it has
// tokens for all of them, or for sched.Quantum.
func (p *portState) waitingOctets(streaming uint8) int64 {
	if streaming != 0 {
		return math.MaxInt64
	}
	var octets int64
	for q := range p.queues {
		octets += p.count.QueueBytes[q] + int64(p.queues[q].frames)*frame.WireExtras
	}
	return octets
}

// wire is the length of a queued frame on the wire, with the tag that it leaves with.
func (s *Switch) wire(p *portState, d uint32) int64 { return int64(frame.WireOctets(s.leaving(p, d))) }

// leaving is the length of a planned frame of p as it leaves.
func (s *Switch) leaving(p *portState, d uint32) int {
	if d == streamMarker {
		return len(p.plan.streamFrame)
	}
	return s.memory.descs[d].egressLength()
}

func (d *descriptor) egressLength() int {
	switch d.tag {
	case tagStrip:
		return int(d.length) - frame.TagOctets
	case tagInsert:
		return int(d.length) + frame.TagOctets
	}
	return int(d.length)
}

// Fill puts the planned frames into a batch. arrivals is the burst that has not been settled. Fill needs no lock: until
// Sent, the frames belong to the worker that owns the port.
func (s *Switch) Fill(i int, b *port.Batch, arrivals []Arrival) {
	p := s.ports[i]
	for k := range p.plan.n {
		if p.plan.frames[k].desc == streamMarker {
			if b.Full(1) {
				p.plan.n = k
				return
			}
			b.Begin(&frame.VnetHeader{})
			b.Part(p.plan.streamFrame)
			b.End()
			continue
		}
		d := &s.memory.descs[p.plan.frames[k].desc]
		if b.Full(int(d.length)/s.memory.cell + 4) {
			p.plan.n = k
			return
		}
		s.fill(b, d, arrivals)
	}
}

// AsItCame returns the arrival that the first planned frame of port i is, where the frame leaves with the octets that
// came; else nil. A driver that copies the octets need not Fill a batch then.
func (s *Switch) AsItCame(i int, arrivals []Arrival) *Arrival {
	f := s.ports[i].plan.frames[0].desc
	if f == streamMarker {
		return nil
	}
	if d := &s.memory.descs[f]; d.cell == none && d.tag == tagKeep {
		return &arrivals[d.arrival]
	}
	return nil
}

// tagAt is where the VLAN tag of a frame stands.
const tagAt = 2 * frame.AddressOctets

func (s *Switch) fill(b *port.Batch, d *descriptor, arrivals []Arrival) {
	v := d.vnet
	part := func(from, to int) {
		if d.cell == none {
			b.Part(arrivals[d.arrival].Data[from:to])
		} else {
			s.memory.view(d.cell, from, to, b.Part)
		}
	}
	switch d.tag {
	case tagKeep:
		b.Begin(&v)
		part(0, int(d.length))
	case tagStrip:
		v = v.Shift(-frame.TagOctets)
		b.Begin(&v)
		part(0, tagAt)
		part(tagAt+frame.TagOctets, int(d.length))
	case tagInsert:
		v = v.Shift(frame.TagOctets)
		b.Begin(&v)
		part(0, tagAt)
		b.Tag(d.tci)
		part(tagAt, int(d.length))
	case tagSet:
		b.Begin(&v)
		part(0, tagAt)
		b.Tag(d.tci)
		part(tagAt+frame.TagOctets, int(d.length))
	}
	b.End()
}

// Sent confirms that the first n frames of the plan left the port at time now. It gives back their charge, takes their
// tokens and moves the round. It returns their priorities and the length of the longest.
func (s *Switch) Sent(i, n int, now int64) (priorities uint8, longest int) {
	p := s.at(i, now)
	var octets int64
	for k := range p.plan.frames[:n] {
		d := p.plan.frames[k].desc
		length := s.leaving(p, d)
		octets += int64(frame.WireOctets(length))
		longest = max(longest, length)
		if d == streamMarker {
			priorities |= 1 << p.plan.streamQueue
			p.count.Streamed++
			p.streamed.sent += uint64(len(p.plan.streamFrame))
			continue
		}
		dsc := &s.memory.descs[d]
		priorities |= 1 << dsc.queue
		if p.cfg.Delay == 0 {
			p.count.SentFrames++
			p.count.SentBytes += uint64(length)
		} else {
			p.delayed++
			if dsc.charge != chargeLossy {
				p.delayedLossless++
			}
		}
		p.count.QueueSent[dsc.queue]++
		s.pop(p, dsc.queue)
		s.countSent(p, dsc)
		s.release(p, d)
	}
	if n > 0 {
		p.shaper.Take(octets)
		p.round = p.plan.frames[n-1].round
		s.buffer.Resume()
		s.updateHoldsBehind(p)
	}
	p.plan.n = 0
	return priorities, longest
}

// A Planned is one frame of the plan that Dequeue made.
type Planned struct {
	ID     uint64 // differs between frames that wait
	Length int    // octets as it leaves
	InRing bool   // its octets lie in the receive ring
	Origin Origin

	frame uint32
}

// Plan returns frame n of the plan of port i. Sent and Refuse end the plan. Where the plan is shorter, Refuse ignores
// the frame.
func (s *Switch) Plan(i, n int) Planned {
	p := s.ports[i]
	if n >= p.plan.n {
		return Planned{frame: none}
	}
	d := p.plan.frames[n].desc
	f := Planned{ID: uint64(d), Length: s.leaving(p, d), Origin: Origin{Own: true}, frame: d}
	if d != streamMarker {
		dsc := &s.memory.descs[d]
		f.InRing, f.Origin = dsc.cell == none, Origin{Lossless: dsc.charge == chargeLossless,
			Demoted: dsc.charge == chargeDemoted, In: dsc.in, Priority: dsc.prio}
	}
	return f
}

// Occupied returns the priorities that have frames to send at port i.
func (s *Switch) Occupied(i int, now int64) uint8 {
	if p := s.ports[i]; p != nil {
		return p.occupied | p.streaming(now)
	}
	return 0
}

// Refuse drops a planned frame that the kernel will never take. Sent has confirmed the frames before it, so the frame
// is at the head of its queue.
func (s *Switch) Refuse(i int, f Planned, r DropReason, now int64) {
	s.setTime(now)
	p, d := s.ports[i], f.frame
	if d == none {
		return
	}
	p.plan.n = 0
	if d == streamMarker {
		p.stream = stream{}
		return
	}
	s.pop(p, s.memory.descs[d].queue)
	s.dropQueued(p, d, r)
	s.buffer.Resume()
	s.updateHoldsBehind(p)
}

// release gives back the charge, the cells and the descriptor of a frame that left a queue of p.
func (s *Switch) release(p *portState, d uint32) {
	dsc := &s.memory.descs[d]
	s.changeTrunkLoad(p, dsc, -1)
	if dsc.charge == chargeLossless {
		s.losslessDepartures++
		s.buffer.Release(int(dsc.in), dsc.prio, int(dsc.length))
	} else {
		s.buffer.ReleaseLossy(p.index, dsc.queue, int(dsc.length))
	}
	s.memory.freeFrame(d)
}
