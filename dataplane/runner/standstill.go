package runner

import (
	"sync/atomic"

	"pfcswitch/dataplane/port"
)

// A Pulse is what can be seen of a thread that does not look at its rings. The zero value says nothing.
type Pulse struct {
	Thread int   // its number
	CPU    int64 // ns that it has run
	Ready  bool  // it runs, or waits for a CPU
	Waits  bool  // it waits for another thread of the switch, which may get no CPU
}

// An Observed is a thread whose pulse other threads take. A goroutine that is back from a system call may also wait
// for one of GOMAXPROCS, while its thread sleeps: that cannot be seen, and waits does not say it. A switch in use has a
// place for each worker, so that it takes three other goroutines, all without a CPU, or a garbage collection that stops
// the Refresher too.
type Observed struct {
	thread atomic.Pointer[port.Thread] // nil: unknown
	waits  atomic.Bool
}

// Begin makes the calling thread the one that is observed. The caller has locked its goroutine to the thread.
func (o *Observed) Begin() {
	if t, err := port.ThisThread(); err == nil {
		o.thread.Store(t)
	}
}

// Pulse returns what can be seen now.
func (o *Observed) Pulse() Pulse {
	t := o.thread.Load()
	if t == nil {
		return Pulse{}
	}
	return Pulse{Thread: t.ID(), CPU: t.CPU(), Ready: t.Ready(), Waits: o.waits.Load()}
}

// Close ends the observation.
func (o *Observed) Close() error {
	if t := o.thread.Swap(nil); t != nil {
		return t.Close()
	}
	return nil
}

// How long a peer is held for a worker that gives no sign of life, in ns: one that waits for what nobody knows, and one
// that waits for another thread of the switch. A worker that has run for holdMost without a look goes round in circles.
const (
	holdMost    = 5_000_000_000
	holdWaiting = 60_000_000_000
	pulseEvery  = 100_000_000 // ns between two looks at the pulse: each asks the kernel
)

// A standstill tells whether the worker that has to look hangs. A slow machine is no reason: the time in which the
// worker waits for a CPU does not count.
type standstill struct {
	signAt int64 // when the worker last gave a sign of life
	next   int64 // when its pulse is looked at again
	most   int64 // how long it may give none
	first  Pulse // of its thread
	last   Pulse // the newest
}

// newStandstill is of a worker that has given a sign of life before time now.
func newStandstill(now int64) standstill {
	return standstill{signAt: now, next: now + pulseEvery, most: holdMost}
}

// hangs tells, at time now, whether the worker hangs. It calls pulse where it is time to look again; nil: it gives no
// sign.
func (s *standstill) hangs(now int64, pulse func() Pulse) bool {
	if pulse != nil && now >= s.next {
		s.next = now + pulseEvery
		s.see(now, pulse())
	}
	return now-s.signAt > s.most || s.last.CPU-s.first.CPU > holdMost
}

func (s *standstill) see(now int64, p Pulse) {
	if p.Thread != s.first.Thread {
		s.first, s.last = p, p
	}
	if p.Ready || p.CPU != s.last.CPU {
		s.signAt = now
	}
	if s.most = holdMost; p.Waits {
		s.most = holdWaiting
	}
	s.last = p
}
