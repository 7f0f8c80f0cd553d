package dataplane

// A Move is a frame copy whose octets the caller has to Store, outside of the lock, before the arrival's memory is
// reused.
type Move struct {
	desc uint32
	port int
	cell uint32
	data []byte
}

// Settle gives every copy of a burst that is still queued cells of its own and appends what has to be stored to moves.
// Only the worker that owns a port reads its descriptors, and it stores before it sends again.
func (s *Switch) Settle(burst []Arrival, moves []Move) []Move {
	for i := range burst {
		a := &burst[i]
		for d := a.copies; d != none; {
			dsc := &s.memory.descs[d]
			next := dsc.sibling
			dsc.sibling = none
			if dsc.gone {
				s.memory.forget(d)
			} else if dsc.cell = s.memory.alloc(int(dsc.length)); dsc.cell != none {
				moves = append(moves, Move{cell: dsc.cell, data: a.Data})
			}
			d = next
		}
		a.copies = none
	}
	return moves
}

// Staged appends the copies that the last call of Ingress made for ports of other workers. They are charged but not
// queued: after Store, Publish queues them.
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
	s.now = now
	for _, m := range moves {
		p := s.ports[m.port]
		p.queues[s.memory.descs[m.desc].queue].staged--
		s.deliver(p, m.desc)
	}
}
