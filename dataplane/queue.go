package dataplane

// A Move is a frame copy whose octets the caller has to Store, outside of the lock, before the arrival's memory is
// reused.
type Move struct {
	desc uint32
	port int
	cell uint32
	data []byte
}

// Settle gives every copy of a burst that is still queued cells of its own, and appends what Store has to copy to
// moves. Only the worker that owns a port reads its descriptors, and this worker calls Store before it sends again.
func (s *Switch) Settle(burst []Arrival, moves []Move) []Move {
	for i := range burst {
		a := &burst[i]
		for d := a.copies; d != none; {
			dsc := &s.memory.descs[d]
			next := dsc.sibling
			dsc.sibling = none
			if dsc.gone {
				s.memory.freeDescriptor(d)
			} else if dsc.cell = s.memory.alloc(int(dsc.length)); dsc.cell != none {
				moves = append(moves, Move{cell: dsc.cell, data: a.Data})
			}
			d = next
		}
		a.copies = none
	}
	return moves
}

// Staged appends the copies that the last call of Ingress made for ports of other workers. They are charged, and not
// queued before Store and Publish.
func (s *Switch) Staged(moves []Move) []Move {
	moves = append(moves, s.staged...)
	s.staged = s.staged[:0]
	return moves
}

// Store copies the octets of moves into the packet memory. It needs no lock.
func (s *Switch) Store(moves []Move) {
	for _, m := range moves {
		s.memory.store(m.cell, m.data)
	}
}

// Publish queues stored copies.
func (s *Switch) Publish(moves []Move, now int64) {
	s.setTime(now)
	for _, m := range moves {
		if m.port == inRoom {
			continue
		}
		p := s.ports[m.port]
		p.queues[s.memory.descs[m.desc].queue].staged--
		s.deliver(p, m.desc)
	}
}

// push puts a frame into its egress queue and gives the transmit task work.
func (s *Switch) push(p *portState, d uint32) {
	s.link(p, d)
	s.markPending(p)
}

// link puts a frame at the end of its egress queue.
func (s *Switch) link(p *portState, d uint32) {
	q := s.memory.descs[d].queue
	queue := &p.queues[q]
	if queue.head == none {
		queue.head = d
		p.occupied |= 1 << q
	} else {
		s.memory.descs[queue.tail].next = d
	}
	queue.tail = d
	queue.frames++
	p.count.QueueBytes[q] += int64(s.memory.descs[d].length)
	p.count.QueueBytesMax[q] = max(p.count.QueueBytesMax[q], p.count.QueueBytes[q])
}

// pop takes the head off a queue.
func (s *Switch) pop(p *portState, q uint8) uint32 {
	queue := &p.queues[q]
	d := queue.head
	queue.head = s.memory.descs[d].next
	if queue.head == none {
		queue.tail = none
		p.occupied &^= 1 << q
		p.emptied(q, s.now)
	}
	queue.frames--
	p.count.QueueBytes[q] -= int64(s.memory.descs[d].length)
	return d
}
