package deadlock

import (
	"cmp"
	"math/bits"
	"slices"
)

// counts of one queue never go back.
type counts struct {
	Detected, Recovered uint64 // storms
	Recurred            uint64 // times that PFC was switched off because the deadlock kept coming back
	// Sent and Dropped are frames that ended storms let out and discarded. LastSent and LastDropped are of the last
	// storm.
	Sent, Dropped         uint64
	LastSent, LastDropped uint64
}

// A Status is the state of one watched queue.
type Status struct {
	Name   string // of the port
	Queue  uint8
	Config Config
	State  string // operational, stormed, or closed: PFC is off because the deadlock kept coming back
	Since  int64  // when the running storm began; 0: none runs

	Detected, Recovered, Recurred uint64
	// Sent and Dropped are frames that storms let out and discarded, in all. LastSent and LastDropped are of the last
	// storm, also while it runs.
	Sent, Dropped         uint64
	LastSent, LastDropped uint64
}

// The states of a Status.
const (
	Operational = "operational"
	Stormed     = "stormed"
	Closed      = "closed"
)

// Blocked reports whether a storm runs or PFC is off.
func (s *Status) Blocked() bool { return s.State != Operational }

// Status appends the state of every lossless queue, by name of the port and queue, to dst.
func (w *Watchdog) Status(dst []Status, now int64) []Status {
	from := len(dst)
	for _, p := range w.ports {
		if p == nil {
			continue
		}
		for m := p.mask; m != 0; m &= m - 1 {
			dst = append(dst, w.status(&p.queues[bits.TrailingZeros16(m)], now))
		}
	}
	slices.SortFunc(dst[from:], func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Queue, b.Queue))
	})
	return dst
}

// RemovedCounts appends the counts of queues that are not in Status, in no order: those of removed ports, and those
// that are lossless no more. Such a queue goes on from there when it comes back.
func (w *Watchdog) RemovedCounts(dst []Status) []Status {
	add := func(c *counts, name string, queue int) {
		if *c != (counts{}) {
			dst = append(dst, c.status(name, uint8(queue)))
		}
	}
	for name, all := range w.removed {
		for q := range all {
			add(&all[q], name, q)
		}
	}
	for _, p := range w.ports {
		for q := range NumQueues {
			if p != nil && p.mask>>q&1 == 0 {
				add(&p.queues[q].counts, p.name, q)
			}
		}
	}
	return dst
}

func (c *counts) status(name string, queue uint8) Status {
	return Status{Name: name, Queue: queue, State: Operational, Detected: c.Detected, Recovered: c.Recovered,
		Recurred: c.Recurred, Sent: c.Sent, Dropped: c.Dropped, LastSent: c.LastSent, LastDropped: c.LastDropped}
}

func (w *Watchdog) status(q *queue, now int64) Status {
	s := q.counts.status(q.port.name, q.number)
	s.Config = q.port.config
	switch q.state {
	case stormed:
		s.State = Stormed
		s.LastSent, s.LastDropped = q.stormFrames(w.read(q, now))
		s.Sent, s.Dropped, s.Since = s.Sent+s.LastSent, s.Dropped+s.LastDropped, q.since
	case closed:
		s.State = Closed
	}
	return s
}
