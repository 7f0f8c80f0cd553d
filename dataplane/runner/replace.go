package runner

import (
	"fmt"
	"math"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// A peer that obeys late, on a machine that is short of CPU, fills the lossless ring while it drains. Frames that are
// left after drainPatience are lost.
const (
	drainPatience = time.Second          // that the ring may take to run empty before it is replaced
	drainPeriod   = 2 * time.Millisecond // between two looks at the ring
)

// A Prepared is a port that receives nothing before Start.
type Prepared interface {
	port.Port
	Start() error
}

// Replace gives port number i, which has sockets, new sockets that are open already. The port stays up and keeps its
// learned addresses and queued frames. Its peer is held until the lossless ring has run empty. Frames that are left in
// the old rings go before any frame of the new rings. Frames that find no room in the buffer, and under a lasting
// overload lossy frames beyond lastOthers, count as lost in their ring. Replace returns the number of lossless frames
// among them. On error the old sockets stay.
func (r *Runner) Replace(i int, p Prepared) (lost int, err error) {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return 0, fmt.Errorf("port number %d has no sockets to replace", i)
	}
	if err := r.do(func(sw *dataplane.Switch) error { return sw.SetRoom(i, p.Octets(port.Lossless)) }); err != nil {
		return 0, fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	t.allowXDP(p, new(port.PacketSockets))
	r.awaitOthers(t)
	r.drain(t)
	old, until := t.port, int64(0)
	err = r.quiesce(func() (err error) {
		t.suspend() // a frame is decided about twice while two ports have sockets
		until, err = t.takeOver(p)
		r.mu.Lock()
		defer r.mu.Unlock()
		t.draining = false
		t.releasePeerForRing(r.sw)
		r.refresher.Stop(i)
		if err != nil { // the old sockets stay
			t.suspended = false
			t.protect(r.sw, r)
			return fmt.Errorf("port %s: %w", t.cfg.Name, err)
		}
		t.obeyLast(r.sw, p, until)
		l, stopped := t.lastLosses(p)
		readLosses(r.sw, i, l, stopped)
		r.sw.RingsReplaced(i)
		t.port = p
		t.blocked, t.segmentsTaken = [port.NumClasses]bool{}, [port.NumClasses]int{}
		r.assign(r.sw)
		return nil
	})
	if err != nil {
		return 0, err
	}
	time.Sleep(drainPeriod) // a CPU may have stood still while it showed a frame to the new sockets and not yet the old
	frames := make([]port.Frame, lookFrames)
	_ = r.do(func(sw *dataplane.Switch) error {
		lost = skip(old, port.Lossless, until, frames)
		sw.RingLost(i, port.Lossless, lost, Now())
		sw.RingLost(i, port.Other, skip(old, port.Other, until, frames), Now())
		return nil
	})
	r.warn(t, "closing the sockets that were replaced", old.Close())
	return lost, r.quiesce(func() error {
		t.suspended = false
		return nil
	})
}

// lastOthers is how many lossy frames a standstill of about a millisecond has time for.
const lastOthers = 1024

// takeOver starts p. It returns the moment from which on p receives every frame, and forwards the frames that the old
// sockets received before. The workers stand still.
func (t *portTask) takeOver(p Prepared) (until int64, err error) {
	w := t.rx
	// Now, so that few frames are left after Start.
	w.receiveLast(t, port.Lossless, t.port.Backlog(port.Lossless).Frames)
	w.receiveLast(t, port.Other, min(lastOthers, t.port.Backlog(port.Other).Frames))
	if err := p.Start(); err != nil {
		return 0, err
	}
	until = handover(p, w.frames[:], ClockPair)
	for c, most := range [port.NumClasses]int{port.Other: lastOthers, port.Lossless: math.MaxInt} {
		skip(p, port.Class(c), until, w.frames[:])
		w.receiveUntil(t, port.Class(c), until, most)
		skip(p, port.Class(c), until, w.frames[:]) // what has come to both meanwhile
	}
	return until, nil
}

// receiveUntil receives the frames of a ring that came by a moment: at most most frames, up to a frame that waits for
// buffer.
func (w *worker) receiveUntil(t *portTask, c port.Class, until int64, most int) {
	for {
		n, _ := stamped(t.port, c, until, w.frames[:])
		taken := w.receiveLast(t, c, min(n, most))
		if most -= taken; n == 0 || taken < n {
			return
		}
	}
}

// receiveLast receives the n oldest frames of a ring, up to a frame that waits for buffer. It returns their number.
func (w *worker) receiveLast(t *portTask, c port.Class, n int) (taken int) {
	for taken < n {
		got, worked := w.receive(t, c, min(n-taken, burstFrames))
		taken += got
		if !worked {
			break
		}
	}
	return taken
}

// handover returns the moment, by the stamps of frames, from which on every frame comes to p, which has started. The
// moment is before the first frame of p. The kernel shows a frame to p first, and to the old sockets within
// handoverTime where it is not interrupted. Stamps are of the real-time clock, which may jump, and only the other one
// says how long the workers stand still.
func handover(p port.Port, room []port.Frame, clock func() (now, wall int64)) int64 {
	begun, started := clock()
	now, until := begun, started
	for now < begun+handoverTime {
		now, until = clock()
	}
	for c := range port.NumClasses {
		if _, next := stamped(p, c, started, room); next != 0 {
			until = min(until, next-1)
		}
	}
	return until
}

const handoverTime = 10_000 // ns

// cameBy reports whether a frame came by a moment. A stamp of the future is from before the clock was set back.
func cameBy(stamp, until int64) bool {
	if stamp <= until {
		return true
	}
	_, wall := ClockPair()
	return stamp > wall
}

// lookFrames is how many frames are looked at in one go.
const lookFrames = 64

// stamped counts the oldest frames of a ring that came by a moment, up to the length of room. It returns the stamp of
// the frame that follows them, 0 where none does.
func stamped(p port.Port, c port.Class, until int64, room []port.Frame) (n int, next int64) {
	defer p.Rewind(c)
	for n < len(room) {
		got := p.Receive(c, room[n:], math.MaxInt)
		if got == 0 {
			return n, 0
		}
		for _, f := range room[n : n+got] {
			if !cameBy(f.Stamp, until) {
				return n, f.Stamp
			}
			n++
		}
	}
	return n, 0
}

// skip releases the frames of a ring that came by a moment, and counts them.
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

// obeyLast obeys the MAC Control frames that the old sockets have received by a moment, and releases the same frames in
// the control ring of p.
func (t *portTask) obeyLast(sw *dataplane.Switch, p port.Port, until int64) {
	now, wall := ClockPair()
	for b, stamp := t.port.Control(); b != nil && cameBy(stamp, until); b, stamp = t.port.Control() {
		sw.Control(t.index, b, now-(wall-stamp), now)
		t.port.ControlDone()
	}
	for b, stamp := p.Control(); b != nil && cameBy(stamp, until); b, stamp = p.Control() {
		p.ControlDone()
	}
}

// lastLosses returns the losses of the old sockets, and which of their rings the kernel has stopped. A stopped ring has
// counted each frame that has come to p since.
func (t *portTask) lastLosses(p port.Port) (l dataplane.RingLosses, stopped [port.NumClasses]bool) {
	waiting := func() (n [port.NumClasses]int) {
		for c := range n {
			n[c] = p.Backlog(port.Class(c)).Frames
		}
		return n
	}
	n, before := waiting(), [port.NumClasses]int{-1}
	for tries := 0; n != before && tries < burstFrames; tries++ { // none comes between the two looks
		before, l = n, t.losses()
		n = waiting()
	}
	stopped = t.stopped()
	if stopped[port.Lossless] {
		l.Lossless -= uint64(n[port.Lossless])
	}
	if stopped[port.Other] {
		l.Other -= uint64(n[port.Other])
	}
	return l, stopped
}

// awaitOthers waits until no more lossy frames wait than a standstill has time for. It waits as long as for the
// lossless ring, and holds nobody.
func (r *Runner) awaitOthers(t *portTask) {
	for range drainPatience / drainPeriod {
		waiting := 0
		_ = r.do(func(*dataplane.Switch) error {
			waiting = t.port.Backlog(port.Other).Frames
			return nil
		})
		if waiting <= lastOthers {
			return
		}
		time.Sleep(drainPeriod)
	}
}

// drain holds the peer of a port and waits until nothing is on its way from it, and nothing waits in the lossless ring.
func (r *Runner) drain(t *portTask) {
	least := drainPeriod + 2*time.Duration(t.cfg.Delay)
	var begun, left time.Time // when the hold began, and when XOFF had left
	for begun.IsZero() || time.Since(begun) < least+drainPatience {
		empty := false
		_ = r.do(func(sw *dataplane.Switch) error {
			if begun.IsZero() {
				begun = time.Now() // not before: a change may have to wait for its turn
			}
			t.holdPeerForRing(sw)
			t.draining = true
			if left.IsZero() && sw.XoffSent(t.index) {
				left = time.Now()
			}
			empty = t.port.Backlog(port.Lossless).Frames == 0
			return nil
		})
		if empty && !left.IsZero() && time.Since(left) > least {
			return
		}
		time.Sleep(drainPeriod)
	}
}
