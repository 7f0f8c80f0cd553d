package dataplane

// push puts a frame into its egress queue and says so to the transmit task.
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
