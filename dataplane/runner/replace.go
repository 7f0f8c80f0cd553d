package runner

import (
	"fmt"
	"math"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// How long the lossless ring of a port may take to run empty before it is replaced, and how often it is looked at. A
// peer that obeys late, on a machine that is short of CPU, fills the ring meanwhile: what is left at the end is lost.
const (
	drainPatience = time.Second
	drainPeriod   = 2 * time.Millisecond
)

// A Prepared is a port that receives nothing before Start.
type Prepared interface {
	port.Port
	Start() error
}

// Replace gives port number i, which has sockets, others that are open already. The port stays up and keeps what it
// has learned and queued. Its peer is held until the lossless ring has run empty; what still waits in the rings then
// is forwarded before anything from the new ones. Frames that have no room in the buffer even then, and those that
// are not lossless and too many, are counted as lost in their ring; how many lossless ones is returned. Where Replace
// fails, the sockets of before stay.
func (r *Runner) Replace(i int, p Prepared) (lost int, err error) {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return 0, fmt.Errorf("port number %d has no sockets to replace", i)
	}
	program, err := dataplane.Steering(&t.cfg)
	if err != nil {
		return 0, err
	}
	t.allowXDP(p, new(port.PacketSockets))
	r.drain(t)
	old, until := t.port, int64(0)
	err = r.quiesce(func() (err error) {
		until, err = t.takeOver(p)
		r.mu.Lock()
		defer r.mu.Unlock()
		t.draining = false
		t.freeRing(r.sw)
		if err != nil {
			return fmt.Errorf("port %s: %w", t.cfg.Name, err)
		}
		t.obeyLast(r.sw, p, until)
		r.sw.ReadLosses(i, t.losses(), Now())
		r.sw.RingsReplaced(i, Now())
		t.port, t.program = p, program
		t.blocked, t.pieces = [port.NumClasses]bool{}, [port.NumClasses]int{}
		r.assign(r.sw)
		return nil
	})
	if err != nil {
		return 0, err
	}
	time.Sleep(drainPeriod) // a CPU may have stood still between the old sockets and the new ones
	frames := make([]port.Frame, lookFrames)
	_ = r.do(func(sw *dataplane.Switch) error {
		lost = skip(old, port.Lossless, until, frames)
		sw.RingLost(i, port.Lossless, lost, Now())
		sw.RingLost(i, port.Other, skip(old, port.Other, until, frames), Now())
		return nil
	})
	r.warn(t, "closing the sockets that were replaced", old.Close())
	return lost, nil
}

// lastOthers is how many frames that are not lossless a standstill has time for, which is a millisecond or so.
const lastOthers = 1024

// takeOver makes p receive, and forwards what the sockets of before have received up to the moment, which it returns,
// from which on p receives everything. The workers stand still.
func (t *portTask) takeOver(p Prepared) (until int64, err error) {
	w := t.rx
	// so that little is left for the moment that counts
	w.takeLast(t, port.Lossless, t.port.Backlog(port.Lossless).Frames)
	w.takeLast(t, port.Other, min(lastOthers, t.port.Backlog(port.Other).Frames))
	if err := p.Start(); err != nil {
		return 0, err
	}
	until = w.handover(p)
	for c, most := range [port.NumClasses]int{port.Other: lastOthers, port.Lossless: math.MaxInt} {
		skip(p, port.Class(c), until, w.frames[:])
		w.takeUntil(t, port.Class(c), until, most)
		skip(p, port.Class(c), until, w.frames[:]) // what has come to both meanwhile
	}
	return until, nil
}

// takeUntil takes the frames of a ring that came by a moment, but no more than most, up to one that has to wait for
// buffer.
func (w *worker) takeUntil(t *portTask, c port.Class, until int64, most int) {
	for {
		n, _ := stamped(t.port, c, until, w.frames[:])
		taken := w.takeLast(t, c, min(n, most))
		if most -= taken; n == 0 || taken < n {
			return
		}
	}
}

// takeLast takes the n oldest frames of a ring, up to one that has to wait for buffer. It returns how many it has
// taken.
func (w *worker) takeLast(t *portTask, c port.Class, n int) (taken int) {
	for taken < n {
		got, worked := w.receive(t, c, min(n-taken, w.schedule.frames))
		taken += got
		if !worked {
			break
		}
	}
	return taken
}

// handover returns the moment, by the stamps of frames, from which on all of them come to p, which has started: it
// lies before the first of those if one has come. The kernel shows a frame to p first, and to the sockets of before
// within handoverTime where it is not interrupted.
func (w *worker) handover(p port.Port) int64 {
	_, started := ClockPair()
	now := started
	for now < started+handoverTime {
		_, now = ClockPair()
	}
	until := now
	for c := range port.NumClasses {
		if _, next := stamped(p, c, started, w.frames[:]); next != 0 {
			until = min(until, next-1)
		}
	}
	return until
}

const handoverTime = 10_000 // ns

// lookFrames is how many frames are looked at in one go.
const lookFrames = 64

// stamped counts the oldest frames of a ring that came by a moment, as far as there is room to look at them, and
// returns the stamp of the one that follows them; 0 where none does.
func stamped(p port.Port, c port.Class, until int64, room []port.Frame) (n int, next int64) {
	defer p.Rewind(c)
	for n < len(room) {
		got := p.Receive(c, room[n:], math.MaxInt)
		if got == 0 {
			return n, 0
		}
		for _, f := range room[n : n+got] {
			if f.Stamp > until {
				return n, f.Stamp
			}
			n++
		}
	}
	return n, 0
}

// skip passes over the frames of a ring that came by a moment, and counts them.
func skip(p port.Port, c port.Class, until int64, room []port.Frame) (frames int) {
	for {
		n, _ := stamped(p, c, until, room)
		if n == 0 {
			return frames
		}
		n = p.Receive(c, room[:n], math.MaxInt)
		p.Release(c, n)
		frames += n
	}
}

// obeyLast takes the MAC Control frames that have come by a moment to sockets that are about to be closed, and passes
// over those of them that p has too.
func (t *portTask) obeyLast(sw *dataplane.Switch, p port.Port, until int64) {
	now, wall := ClockPair()
	for b, stamp := t.port.Control(); b != nil && stamp <= until; b, stamp = t.port.Control() {
		sw.Control(t.index, b, now-(wall-stamp), now)
		t.port.ControlDone()
	}
	for b, stamp := p.Control(); b != nil && stamp <= until; b, stamp = p.Control() {
		p.ControlDone()
	}
}

// drain holds the peer of a port and waits until nothing is on its way from it, and nothing waits in the lossless ring.
func (r *Runner) drain(t *portTask) {
	least := drainPeriod + 2*time.Duration(t.cfg.Delay)
	var begun, told time.Time // of the hold, and when XOFF had left
	for begun.IsZero() || time.Since(begun) < least+drainPatience {
		empty := false
		_ = r.do(func(sw *dataplane.Switch) error {
			if begun.IsZero() {
				begun = time.Now() // not before: a change may have to wait for its turn
			}
			t.holdRing(sw)
			t.draining = true
			if told.IsZero() && sw.XoffSent(t.index) {
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
