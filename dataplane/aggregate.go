package dataplane

import (
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// throughTrunk decides where a frame goes that came by a port of a trunk: from a member to the uplink, from the uplink
// to the member that the distributor chooses.
func (s *Switch) throughTrunk(p *portState, a *Arrival) bridge.Decision {
	t := p.trunk
	if bridge.Reserved(a.header.Dst) {
		return bridge.Decision{Kind: bridge.Drop, Reason: bridge.DropFiltered, Port: -1}
	}
	to := t.cfg.Uplink
	if p.member == uplink {
		var flow uint64
		if t.cfg.ByFlow {
			flow = frame.Flow(a.Data, &a.header)
		}
		m := t.distributor.Choose(t.toMembers.Member, s.able(t, a), flow)
		if m < 0 {
			return bridge.Decision{Kind: bridge.Drop, Reason: bridge.DropPortDown, Port: -1}
		}
		to = t.cfg.Members[m]
	}
	if out := s.ports[to]; out == nil || !out.up {
		return bridge.Decision{Kind: bridge.Drop, Reason: bridge.DropPortDown, Port: -1}
	}
	return bridge.Decision{Kind: bridge.Unicast, Port: to}
}

// able returns the members that are up and carry a frame of that length. Where no member carries it, able returns all
// that are up.
func (s *Switch) able(t *trunkState, a *Arrival) uint64 {
	if len(a.Data) <= t.shortest {
		return t.live
	}
	able := t.live
	for m, i := range t.cfg.Members {
		if s.tooLong(s.ports[i], a, bridge.NoVLAN) {
			able &^= 1 << m
		}
	}
	if able == 0 {
		return t.live
	}
	return able
}

// throughTrunkOf returns the trunk that carries a frame which leaves by p, and the port that it came by; nil where no
// trunk does.
func (s *Switch) throughTrunkOf(p *portState, d *descriptor) (t *trunkState, from *portState) {
	if p.trunk == nil {
		return nil, nil
	}
	if from = s.ports[d.in]; from == nil || from.trunk != p.trunk || (from.member == uplink) == (p.member == uplink) {
		return nil, nil
	}
	return p.trunk, from
}

// changeTrunkLoad adds a frame that is to leave by p to its trunk's load (sign 1), or subtracts it (-1).
func (s *Switch) changeTrunkLoad(p *portState, d *descriptor, sign int64) {
	t, from := s.throughTrunkOf(p, d)
	if t == nil {
		return
	}
	octets := sign * trunkOctets(d)
	if p.member == uplink {
		t.toUplink.Add(from.member, d.prio, octets)
	} else {
		t.toMembers.Add(p.member, d.prio, octets)
	}
}

// countSent counts a frame that has left a trunk by p.
func (s *Switch) countSent(p *portState, d *descriptor) {
	t, _ := s.throughTrunkOf(p, d)
	if t == nil {
		return
	}
	tally := &t.count.uplinkSent
	if p.member != uplink {
		tally = &t.count.sent[p.member]
	}
	tally.Frames++
	tally.Octets += uint64(trunkOctets(d))
}

// trunkOctets is the length of a frame in a trunk's accounts: with FCS, not in cells.
func trunkOctets(d *descriptor) int64 { return int64(d.length) + frame.FCSOctets }

// enterTrunk counts a frame on its way out by p, and updates the holds that depend on it.
func (s *Switch) enterTrunk(p *portState, d *descriptor, a *Arrival) {
	t, from := s.throughTrunkOf(p, d)
	if t == nil {
		return
	}
	octets := trunkOctets(d)
	if p.member == uplink {
		d.metered, d.eligible, d.at = t.metered(a), a.header.TCI.DEI(), a.At
		t.toUplink.Add(from.member, d.prio, octets)
		t.unjudged.Add(from.member, d.prio, octets)
	} else {
		t.toMembers.Add(p.member, d.prio, octets)
		t.distributor.Chosen(p.member, len(t.cfg.Members))
		tally := &t.count.distributed[p.member][d.prio]
		tally.Frames++
		tally.Octets += uint64(octets)
	}
	if t.cfg.Flow.Lossless&(1<<d.prio) != 0 {
		s.updateHoldsBehind(p)
	}
}

// deliver puts a frame into its egress queue, or, where it leaves a trunk by the uplink, into its member's arbiter
// queue, where it counts as on its way into the egress queue.
func (s *Switch) deliver(p *portState, d uint32) {
	dsc := &s.memory.descs[d]
	t, from := s.throughTrunkOf(p, dsc)
	if t == nil || p.member != uplink {
		s.push(p, d)
		return
	}
	q := &t.queues[from.member]
	if q.head == none {
		q.head = d
		t.waiting |= 1 << from.member
	} else {
		s.memory.descs[q.tail].next = d
	}
	q.tail = d
	p.queues[dsc.queue].staged++
	s.markPending(p)
}

// turnPatience is for how many ns a turn waits at most: a worker that gets no CPU does not stop the uplink.
const turnPatience = 200_000

// FramesInRings reports whether the rings of port i have frames that its next burst will bring. Where the port is a
// member of a trunk, its turn waits for them, since another member's burst may be in the arbiter queues already. It
// returns whether the turn waits: then the driver reports when the rings are empty.
func (s *Switch) FramesInRings(i int, are bool, now int64) (waits bool) {
	p := s.ports[i]
	if p == nil || p.trunk == nil || p.member == uplink {
		return false
	}
	t := p.trunk
	if are {
		t.toCome[p.member] = now + turnPatience
	} else if t.toCome[p.member] != 0 {
		t.toCome[p.member] = 0
		if out := s.ports[t.cfg.Uplink]; t.waiting != 0 && out != nil {
			s.markPending(out)
		}
	}
	return are
}

// Members returns the members of the trunk whose uplink port i is.
func (s *Switch) Members(i int) []int {
	if p := s.ports[i]; p != nil && p.trunk != nil && p.member == uplink {
		return p.trunk.cfg.Members
	}
	return nil
}

// expected returns the members whose turn waits for frames in their rings.
func (t *trunkState) expected(now int64) (members uint64) {
	for m, until := range t.toCome {
		if until > now {
			members |= 1 << m
		}
	}
	return members
}

// nextInTurn takes the next frame out of the arbiter queues; none where they are empty, or where it is the turn of an
// expected member that has none there.
func (s *Switch) nextInTurn(t *trunkState, expected uint64) (d uint32, member int) {
	turn := t.arbiter
	if member = turn.Next(t.waiting | expected); member < 0 || t.waiting>>member&1 == 0 {
		return none, member
	}
	t.arbiter = turn
	q := &t.queues[member]
	d = q.head
	dsc := &s.memory.descs[d]
	if q.head = dsc.next; q.head == none {
		q.tail = none
		t.waiting &^= 1 << member
	}
	dsc.next = none
	s.ports[t.cfg.Uplink].queues[dsc.queue].staged--
	t.unjudged.Add(member, dsc.prio, -trunkOctets(dsc))
	return d, member
}

// arbitrate empties the arbiter queues, one frame of each member in turn, up to the turn of a member whose frames are
// still in its rings. Each frame is judged, and goes to the area of its priority, which is the uplink's egress queue,
// or is dropped. Meters count a frame at the time of its arrival,
// however late it is judged. RED counts the frames that wait in the areas, and none that waits for its turn.
func (s *Switch) arbitrate(p *portState) {
	t := p.trunk
	expected := t.expected(s.now)
	d, member := s.nextInTurn(t, expected)
	for ; d != none; d, member = s.nextInTurn(t, expected) {
		dsc := &s.memory.descs[d]
		octets := trunkOctets(dsc)
		f := trunk.Frame{Member: member, Priority: dsc.prio, Octets: octets, Metered: int64(dsc.metered),
			Lossless: dsc.charge == chargeLossless,
			Waiting:  t.toUplink.Priority[dsc.prio] - t.unjudged.Priority[dsc.prio] - octets,
			All:      t.toUplink.Total - t.unjudged.Total - octets}
		if t.cfg.Aware && dsc.eligible {
			f.Colour = trunk.Yellow
		}
		switch t.aggregator.Judge(&f, dsc.at) {
		case trunk.Pass:
			s.link(p, d)
		case trunk.DropRED:
			s.dropQueued(p, d, DropRED)
		case trunk.DropMeterRed:
			s.dropQueued(p, d, DropMeterRed)
		}
	}
	if member >= 0 {
		t.turnEnds = t.toCome[member]
	}
}

// emptied reports an empty area to the trunk whose uplink p is.
func (p *portState) emptied(q uint8, now int64) {
	if p.trunk != nil && p.member == uplink {
		p.trunk.aggregator.Emptied(q, p.occupied == 0, now)
	}
}

// metered is the number of octets by which a frame is metered.
func (t *trunkState) metered(a *Arrival) uint32 {
	if t.cfg.IPOctets {
		return uint32(trunk.PacketOctets(a.Data, &a.header))
	}
	return uint32(frame.WireOctets(len(a.Data)))
}

// passAll empties the arbiter queues of a trunk that is taken apart. No frame is judged.
func (s *Switch) passAll(t *trunkState) {
	p := s.ports[t.cfg.Uplink]
	if p == nil {
		return // RemovePort has dropped its frames
	}
	for d, _ := s.nextInTurn(t, 0); d != none; d, _ = s.nextInTurn(t, 0) {
		s.push(p, d)
	}
}

// purgeArbiter drops the frames in the arbiter queues of p.
func (s *Switch) purgeArbiter(p *portState, r DropReason) {
	if p.trunk == nil || p.member != uplink {
		return
	}
	for d, _ := s.nextInTurn(p.trunk, 0); d != none; d, _ = s.nextInTurn(p.trunk, 0) {
		s.dropQueued(p, d, r)
	}
}
