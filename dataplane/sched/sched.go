// Package sched decides which egress queue of a port sends next and when. It has strict priority before
// deficit-weighted round robin (802.1Q 8.6.8 transmission selection, ETS of clause 37), and a token bucket that gives
// a virtual link its speed. It holds no frames and has no clock: the data plane tells it which queues have frames, how
// long their first frames are, and what time it is.
//
//	sched.go    which queue: strict and weighted
//	shaper.go   when: the port's speed
//	backlog.go  what a slow receiver has not taken yet
package sched

import "math/bits"

// NumQueues is the number of egress queues of a port, one per priority.
const NumQueues = 8

// A Queue is the configuration of one egress queue.
type Queue struct {
	Strict bool // served before all weighted queues, the highest number first
	Weight int  // share of what the strict queues leave, relative to the other weighted queues; at least 1
}

// A Config is the transmission selection of one port.
type Config struct {
	strict  uint8
	quantum [NumQueues]int64 // octets that a round gives to each weighted queue
}

// NewConfig returns the selection for eight queues. maxFrame is the largest frame in octets on the wire. The queue with
// the largest weight gets that much in a round, so that shares are fair over a few frames.
func NewConfig(queues [NumQueues]Queue, maxFrame int) Config {
	var c Config
	heaviest := 1
	for q, queue := range queues {
		if queue.Strict {
			c.strict |= 1 << q
		} else {
			heaviest = max(heaviest, queue.Weight)
		}
	}
	for q, queue := range queues {
		c.quantum[q] = max(1, int64(max(1, queue.Weight))*int64(maxFrame)/int64(heaviest))
	}
	return c
}

// A State is the progress of the weighted round. It is small and copied, so that a burst can be planned and undone.
type State struct {
	deficit [NumQueues]int32 // up to the queue's head and its quantum
	owed    uint8            // queues that may have a deficit other than 0
	current uint8
}

// Pick returns the queue that sends next, or -1 if ready is 0, and charges the queue for its head. Bit n of occupied
// is set if queue n holds frames, bit n of ready if it may also send them now (not paused). head is the length of each
// ready queue's first frame in octets on the wire.
func (c *Config) Pick(s *State, occupied, ready uint8, head *[NumQueues]int64) int {
	if strict := ready & c.strict; strict != 0 {
		return bits.Len8(strict) - 1
	}
	if ready == 0 {
		return -1
	}
	for empty := s.owed &^ occupied; empty != 0; empty &= empty - 1 {
		s.deficit[bits.TrailingZeros8(empty)] = 0
	}
	s.owed &= occupied
	q := c.next(s, ready, head)
	if q < 0 {
		c.refill(s, ready, head)
		q = c.next(s, ready, head)
	}
	s.deficit[q] -= int32(head[q])
	s.current = uint8(q)
	return q
}

// next returns the first ready queue from the current one on whose deficit covers its head, or -1.
func (c *Config) next(s *State, ready uint8, head *[NumQueues]int64) int {
	for r := bits.RotateLeft8(ready, -int(s.current)); r != 0; r &= r - 1 {
		q := (int(s.current) + bits.TrailingZeros8(r)) % NumQueues
		if int64(s.deficit[q]) >= head[q] {
			return q
		}
	}
	return -1
}

// refill gives every ready queue the quanta of as many rounds as the first of them needs to send.
func (c *Config) refill(s *State, ready uint8, head *[NumQueues]int64) {
	rounds := int64(1 << 62)
	for r := ready; r != 0; r &= r - 1 {
		q := bits.TrailingZeros8(r)
		if missing := head[q] - int64(s.deficit[q]); missing <= c.quantum[q] {
			rounds = 1
		} else {
			rounds = min(rounds, (missing+c.quantum[q]-1)/c.quantum[q])
		}
	}
	for r := ready; r != 0; r &= r - 1 {
		q := bits.TrailingZeros8(r)
		s.deficit[q] += int32(rounds * c.quantum[q])
	}
	s.owed |= ready
	s.current = (s.current + 1) % NumQueues
}
