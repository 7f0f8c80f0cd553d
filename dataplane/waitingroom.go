package dataplane

import (
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A waitingRoom holds the frames of a port that wait for buffer: of an ingress queue the frame that found no room, and
// all that has followed it. Frames of other ingress queues pass. The frames lie in the packet memory, in cells that no
// pool has, and go on in the order of their arrival. They have been received, and count as held.
type waitingRoom struct {
	queues  [NumPriorities]roomQueue
	waiting uint8 // ingress queues with frames
	refused uint8 // those whose first frame was refused by the buffer
	turn    uint8 // ingress queue whose turn it is
	frames  int
	cells   int
	limit   int   // cells beyond which only the first frame of a queue enters
	since   int64 // when the buffer refused the first of refused
}

// roomQueue is a list of descriptors. head means nothing where the queue is not among those that wait.
type roomQueue struct{ head, tail uint32 }

// SetRoom makes the waiting room of port i as large as its lossless rings, which have so many octets. The workers stand
// still.
func (s *Switch) SetRoom(i, octets int) error {
	p := s.ports[i]
	if p == nil {
		return nil
	}
	p.room.limit = octets / s.memory.cell
	ports := 0
	for range s.existing() {
		ports++
	}
	return s.growMemory(ports)
}

// growMemory makes the packet memory large enough for the pools, and for the waiting rooms of so many ports: beyond its
// limit, a room takes a frame of each queue, and the one that is leaving it lies in the memory twice.
func (s *Switch) growMemory(ports int) error {
	cells := s.poolCells + ports*(NumPriorities+1)*s.memory.cells(port.MaxFrame)
	for p := range s.existing() {
		cells += p.room.limit
	}
	return s.memory.grow(cells)
}

// enterRoom puts a frame into the waiting room of p. It returns false where the room is full: the ring has to stop.
func (s *Switch) enterRoom(p *portState, a *Arrival) bool {
	r, q := &p.room, p.ingressQueueOf(a.priority)
	cells := s.memory.cells(len(a.Data))
	if r.waiting>>q&1 != 0 && r.cells+cells > r.limit {
		return false
	}
	d := s.memory.allocDescriptor()
	if d == none {
		return false
	}
	cell := s.memory.alloc(len(a.Data))
	if cell == none {
		s.memory.freeDescriptor(d)
		return false
	}
	s.count(p, a)
	s.overspeed(p, a)
	a.waits, s.onlyLongQueues = true, true
	s.memory.descs[d] = descriptor{next: none, sibling: none, cell: cell, length: uint32(len(a.Data)), vnet: a.Vnet,
		in: uint16(p.index), prio: a.priority, at: a.At}
	s.staged = append(s.staged, Move{desc: d, port: inRoom, cell: cell, data: a.Data})
	r.cells += cells
	r.frames++
	s.linkInRoom(r, q, d)
	return true
}

// inRoom stands for a port in a Move into a waiting room.
const inRoom = -1

func (s *Switch) linkInRoom(r *waitingRoom, q uint8, d uint32) {
	if r.waiting>>q&1 == 0 {
		r.queues[q].head = d
	} else {
		s.memory.descs[r.queues[q].tail].next = d
	}
	r.queues[q].tail = d
	r.waiting |= 1 << q
}

// takeFromRoom takes the first frame of a queue out of the room. Its descriptor and cells stay.
func (s *Switch) takeFromRoom(r *waitingRoom, q uint8) (d uint32) {
	d = r.queues[q].head
	dsc := &s.memory.descs[d]
	if r.queues[q].head = dsc.next; dsc.next == none {
		r.waiting &^= 1 << q
	}
	dsc.next = none
	return d
}

// freeInRoom frees a frame that has left the room.
func (s *Switch) freeInRoom(r *waitingRoom, d uint32) {
	r.cells -= s.memory.cells(int(s.memory.descs[d].length))
	r.frames--
	s.memory.freeFrame(d)
}

// RoomWaits reports whether frames wait in the waiting room of port i.
func (s *Switch) RoomWaits(i int) bool { return s.ports[i] != nil && s.ports[i].room.waiting != 0 }

// LeaveRoom offers frames of the waiting room of port i to the buffer again, one of each ingress queue in turn, at most
// most of them. It returns how many went on. A driver calls LeaveRoom when buffer was given back (Departures).
func (s *Switch) LeaveRoom(i, most int, now int64) (left int) {
	p := s.at(i, now)
	if p == nil {
		return 0
	}
	stay := uint8(0)
	for r := &p.room; left < most && r.waiting&^stay != 0; r.turn = (r.turn + 1) % NumPriorities {
		switch q := r.turn; {
		case r.waiting&^stay>>q&1 == 0:
		case s.leaveRoom(p, q):
			left++
		default:
			stay |= 1 << q
		}
	}
	return left
}

// leaveRoom offers the first frame of an ingress queue. It returns false where the frame has to stay.
func (s *Switch) leaveRoom(p *portState, q uint8) bool {
	r := &p.room
	a := s.loadFromRoom(r.queues[q].head)
	a.learned = r.refused>>q&1 != 0 // it was offered before
	if !s.forward(p, a, none) {
		return false
	}
	s.endWait(p, q, len(a.Data))
	s.captureWaited(p, a)
	s.freeInRoom(r, s.takeFromRoom(r, q))
	return true
}

// loadFromRoom makes an arrival of a frame of a waiting room. It is valid until the next call.
func (s *Switch) loadFromRoom(d uint32) *Arrival {
	dsc, a := &s.memory.descs[d], &s.fromRoom
	if s.roomFrame == nil {
		s.roomFrame = make([]byte, port.MaxFrame+frame.TagOctets)
	}
	*a = Arrival{Data: s.roomFrame[:dsc.length], Vnet: dsc.vnet, At: dsc.at, priority: dsc.prio, copies: none,
		waits: true}
	s.memory.load(dsc.cell, a.Data)
	a.header, _ = frame.Parse(a.Data)
	s.disposition = 0
	return a
}

// emptyRoom drops the frames in the waiting room of a port whose link has gone down.
func (s *Switch) emptyRoom(p *portState) {
	for q, r := uint8(0), &p.room; r.waiting != 0; q = (q + 1) % NumPriorities {
		for r.waiting>>q&1 != 0 {
			d := s.takeFromRoom(r, q)
			a := s.loadFromRoom(d)
			s.drop(p, a.priority, DropPortDown, p.undecided(a))
			s.captureWaited(p, a)
			s.freeInRoom(r, d)
		}
		s.endWait(p, q, 0)
	}
}

// sortRoom sorts the frames in a waiting room by ingress queue anew, where a configuration has changed what a queue is.
func (s *Switch) sortRoom(p *portState) {
	old := p.room
	p.room.waiting = 0
	for q := range uint8(NumPriorities) {
		for old.waiting>>q&1 != 0 {
			d := s.takeFromRoom(&old, q)
			s.linkInRoom(&p.room, p.ingressQueueOf(s.memory.descs[d].prio), d)
		}
		s.endWait(p, q, 0)
	}
}

// startWait notes that the buffer refuses the first waiting frame of an ingress queue.
func (s *Switch) startWait(p *portState, a *Arrival) {
	r, bit := &p.room, uint8(1)<<p.ingressQueueOf(a.priority)
	if r.refused&bit != 0 {
		return
	}
	if r.refused == 0 {
		r.since = s.now
	}
	r.refused |= bit
	s.noRoomEvent(p, a, s.countNoRoom(p, a), EventRingHold, waitsForRoom)
}

// endWait notes that the first waiting frame of an ingress queue, of so many octets, goes on.
func (s *Switch) endWait(p *portState, q uint8, octets int) {
	r, bit := &p.room, uint8(1)<<q
	if r.refused&bit == 0 {
		return
	}
	s.buffer.CancelWait(p.index, q)
	p.count.RingHoldBytes += uint64(octets)
	if r.refused &^= bit; r.refused == 0 {
		p.count.RingHoldNs += uint64(s.now - r.since)
	}
}

// captureWaited captures a frame that leaves the waiting room of p, as it came.
func (s *Switch) captureWaited(p *portState, a *Arrival) {
	s.setDisposition(a)
	recorder := s.captureTap.Recorder()
	if recorder == nil || !recorder.Wants(p.index) {
		return
	}
	r := capture.Record{Port: p.index, Time: a.At, Held: s.now - a.At, Length: len(a.Data), Note: a.Note()}
	recorder.Lock()
	b := recorder.Put(&r)
	copy(b, a.Data)
	a.Unmark(b)
	recorder.Unlock()
}
