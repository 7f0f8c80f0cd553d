package dataplane

import (
	"fmt"
	"math"
	"time"

	"pfcswitch/dataplane/port"
)

// How long the lossless ring of a port may take to run empty before it is replaced, and how often it is looked at.
const (
	drainPatience = 200 * time.Millisecond
	drainPeriod   = 2 * time.Millisecond
)

// A Prepared is a port that receives nothing before Start.
type Prepared interface {
	port.Port
	Start() error
}

// Replace gives port number i, which has sockets, others that are open already. The port stays up and keeps what it has
// learned and queued. Its peer is held until the lossless ring has run empty; what still waits in the rings then is forwarded before
// anything from the new ones. Frames that have no room in the buffer even then are counted as lost in their ring, and lossless ones
// returned. Where Replace fails, the sockets of before stay.
func (r *Runner) Replace(i int, p Prepared) (lost int, err error) {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return 0, fmt.Errorf("port number %d has no sockets to replace", i)
	}
	program, err := Steering(&t.cfg)
	if err != nil {
		return 0, err
	}
	t.follow(p, new(port.Look))
	r.drain(t)
	old := t.port
	err = r.still(func() error {
		left, err := t.takeOver(p)
		r.mu.Lock()
		defer r.mu.Unlock()
		t.draining = false
		t.freeRing(r.sw)
		if err != nil {
			return fmt.Errorf("port %s: %w", t.cfg.Name, err)
		}
		t.obeyLast(r.sw)
		r.sw.ReadLosses(i, t.losses(), Now())
		r.sw.ports[i].losses = RingLosses{} // the new sockets count from 0
		r.sw.abandonWaits(r.sw.ports[i])
		for c, n := range left {
			r.sw.RingLost(i, port.Class(c), n, Now())
		}
		lost = left[port.Lossless]
		t.port, t.program = p, program
		t.blocked, t.pieces = [port.NumClasses]bool{}, [port.NumClasses]int{}
		r.assign(r.sw)
		return nil
	})
	if err != nil {
		return 0, err
	}
	r.regret(t, "closing the sockets that were replaced", old.Close())
	return lost, nil
}

// lastOthers is how many frames that are not lossless a standstill has time for, which is a millisecond or so.
const lastOthers = 1024

// takeOver makes p receive, and forwards what the sockets of before have received up to the moment from which on p receives everything.
// It returns how many of those frames could not be forwarded, and where p cannot start, the error. The workers stand still.
func (t *portTask) takeOver(p Prepared) (left [port.NumClasses]int, err error) {
	w := t.rx
	w.takeLast(t, port.Lossless, t.port.Backlog(port.Lossless).Frames) // so that little is left for the moment that counts
	w.takeLast(t, port.Other, min(lastOthers, t.port.Backlog(port.Other).Frames))
	if err := p.Start(); err != nil {
		return left, err
	}
	until := w.handover(p)
	for c, most := range [port.NumClasses]int{port.Other: lastOthers, port.Lossless: math.MaxInt} {
		w.skip(p, port.Class(c), until)
		if !w.takeUntil(t, port.Class(c), until, most) {
			left[c] = max(1, t.port.Backlog(port.Class(c)).Frames-p.Backlog(port.Class(c)).Frames)
		}
	}
	return left, nil
}

// takeUntil takes the frames of a ring that came by a moment, but no more than most, and returns whether it has taken all of them.
func (w *worker) takeUntil(t *portTask, c port.Class, until int64, most int) bool {
	for {
		n, _ := w.stamped(t.port, c, until)
		if n == 0 {
			return true
		}
		taken := w.takeLast(t, c, min(n, most))
		if most -= taken; taken < n {
			return false
		}
	}
}

// takeLast takes the n oldest frames of a ring, up to one that has to wait for buffer. It returns how many it has taken.
func (w *worker) takeLast(t *portTask, c port.Class, n int) (taken int) {
	for taken < n {
		got, worked := w.receive(t, c, min(n-taken, w.pace.frames))
		taken += got
		if !worked {
			break
		}
	}
	return taken
}

// handover returns the moment, by the stamps of frames, from which on all of them come to p, which has started: it lies before the
// first of those if one has come. A frame is seen by p first, and by the sockets of before within handoverTime.
func (w *worker) handover(p port.Port) int64 {
	_, started := ClockPair()
	now := started
	for now < started+handoverTime {
		_, now = ClockPair()
	}
	until := now
	for c := range port.NumClasses {
		if _, next := w.stamped(p, c, started); next != 0 {
			until = min(until, next-1)
		}
	}
	return until
}

const handoverTime = 10_000 // ns

// stamped counts the oldest frames of a ring that came by a moment, up to a few hundred, and returns the stamp of the one that follows
// them; 0 where none does.
func (w *worker) stamped(p port.Port, c port.Class, until int64) (n int, next int64) {
	defer p.Rewind(c)
	for n < len(w.frames) {
		got := p.Receive(c, w.frames[n:], math.MaxInt)
		if got == 0 {
			return n, 0
		}
		for _, f := range w.frames[n : n+got] {
			if f.Stamp > until {
				return n, f.Stamp
			}
			n++
		}
	}
	return n, 0
}

// skip passes over the frames of p's ring that came by a moment.
func (w *worker) skip(p port.Port, c port.Class, until int64) {
	for {
		n, _ := w.stamped(p, c, until)
		if n == 0 {
			return
		}
		p.Release(c, p.Receive(c, w.frames[:n], math.MaxInt))
	}
}

// obeyLast takes the MAC Control frames that have come to sockets that are about to be closed.
func (t *portTask) obeyLast(sw *Switch) {
	now, wall := ClockPair()
	for b, stamp := t.port.Control(); b != nil; b, stamp = t.port.Control() {
		sw.Control(t.index, b, now-(wall-stamp), now)
		t.port.ControlDone()
	}
}

// drain holds the peer of a port and waits until nothing is on its way from it, and nothing waits in the lossless ring.
func (r *Runner) drain(t *portTask) {
	least := drainPeriod + 2*time.Duration(t.cfg.Delay)
	var begun, told time.Time // of the hold, and when XOFF had left
	for begun.IsZero() || time.Since(begun) < least+drainPatience {
		empty := false
		_ = r.do(func(sw *Switch) error {
			if begun.IsZero() {
				begun = time.Now() // not before: a change may have to wait for its turn
			}
			if !t.ringHeld {
				t.ringHeld = true
				sw.RingHold(t.index, true, Now())
			}
			t.draining = true
			if told.IsZero() && sw.told(t.index) {
				told = time.Now()
			}
			empty = t.port.Backlog(port.Lossless).Frames == 0
			return nil
		})
		if empty && !told.IsZero() && time.Since(told) > least {
			return
		}
		time.Sleep(drainPeriod)
	}
}
