package runner

import (
	"sync"
	"sync/atomic"

	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A refresh is what the Refresher knows of a port: the newest MAC Control frame that has left, which may hold the peer,
// and until when a worker has to look at the lossless rings. The frame is set before it is sent the first time, so that
// no older frame follows a newer one.
type refresh struct {
	due    atomic.Int64 // when the frame is to be sent again; noDeadline where it holds nobody
	within atomic.Int64 // in ns, from a look to the next: less where a threshold is near; 0: nobody has to look
	lookBy atomic.Int64 // when a worker has to have looked; noDeadline where no frame has come for long
	hold   ringHold
	holds  atomic.Uint32 // how many late holds have begun
	sent   atomic.Uint64 // how often a frame was sent since Taken was asked
	back   atomic.Bool   // undo has put back the frame of a late hold since then

	sync.Mutex // held for a copy or for one send call; guards the rest
	resend
	at     int64      // when it was last sent again
	lateAt int64      // when the newest late hold began
	still  standstill // of who has to look; from the first frame on that sent counts
	// answered is how many late holds the newest frame knows of that was put into the port's delay line. The answer to
	// those is on its way, and what is sent again until it leaves is not newer.
	answered uint32

	guard atomic.Pointer[guard] // nil: nothing is done where nobody looks
}

// A ringHold says whether the peer of a port is held for its lossless rings: not, by the worker that has looked, or
// because nobody looked in time. In the last case the next look decides.
type ringHold struct{ state atomic.Int32 }

const (
	notHeld int32 = iota
	held
	heldLate
)

// begin holds because nobody looked in time.
func (h *ringHold) begin() { h.state.Store(heldLate) }

func (h *ringHold) held() bool { return h.state.Load() != notHeld }
func (h *ringHold) late() bool { return h.state.Load() == heldLate }

// taken makes the caller, who looks now, responsible for a late hold. It reports whether there was one.
func (h *ringHold) taken() bool { return h.state.CompareAndSwap(heldLate, held) }

// set is what a look decides. A late hold that has begun since stays for the next look.
func (h *ringHold) set(on bool) {
	if on {
		h.state.CompareAndSwap(notHeld, held)
	} else {
		h.state.CompareAndSwap(held, notHeld)
	}
}

// A resend is what is sent again on a port.
type resend struct {
	port  port.Port
	frame xoff
	due   int64 // when set; then refresh.due counts
	late  bool  // it is the guard's, which held all that is lossless then
	// leaving says that who set the frame has not sent it yet, and early that the Refresher has, meanwhile: that counts
	// as the sender's.
	leaving, early bool
}

// An xoff is a MAC Control frame that is to be sent again after every ns each; 0: never.
type xoff struct {
	frame  [macctl.FrameSize]byte
	octets int
	every  int64
}

func newXoff(b []byte, every int64) (x xoff) {
	x.octets, x.every = copy(x.frame[:], b), every
	return x
}

// newResend is for a frame that is sent at time now.
func newResend(p port.Port, x xoff, now int64) resend {
	return resend{port: p, frame: x, due: x.due(now)}
}

// due is when a frame that was sent at time now is to be sent again.
func (x *xoff) due(now int64) int64 {
	if x.every == 0 {
		return noDeadline
	}
	return now + x.every
}

// A guard is what is to be done where no worker looks at the lossless rings of a port in time.
type guard struct {
	port    port.Port
	rings   []int32     // descriptors that are readable where a frame waits
	waiting func() bool // whether a frame waits in these rings
	hold    xoff        // for all that is lossless
	watched Watched
}

// Watched is who has to look at a port's lossless rings, and to ask Taken.
type Watched struct {
	Wake    func()       // ends the sleep of who looks
	Looks   func() Pulse // of its thread; nil: nothing can be seen
	Decides func() Pulse // likewise of the thread that asks Taken
	// ByKernel says that a program in the kernel holds the peer where nobody looks: the Refresher only repeats.
	ByKernel bool
}

// set replaces what is sent again. It returns what was before.
func (f *refresh) set(to resend) (was resend) {
	f.Lock()
	defer f.Unlock()
	return f.swap(to)
}

func (f *refresh) swap(to resend) (was resend) {
	was, f.resend = f.resend, to
	was.due = f.due.Swap(to.due)
	return was
}

// setDelayed is set for a frame that was decided after so many late holds. Where another one has begun since,
// setDelayed changes nothing and returns when, else 0.
func (f *refresh) setDelayed(to resend, holds uint16) (was resend, overtaken int64) {
	f.Lock()
	defer f.Unlock()
	if uint16(f.holds.Load()) != holds {
		return was, f.lateAt
	}
	return f.swap(to), 0
}

// undo puts back what set has replaced, unless a late hold has replaced that, or the frame has left after all, because
// the Refresher has sent it. It reports whether that is so.
func (f *refresh) undo(was resend) (left bool) {
	f.Lock()
	defer f.Unlock()
	switch {
	case f.late:
	case f.early:
		f.leaving, f.early = false, false
		return true
	default:
		f.resend = was
		f.due.Store(was.due)
		f.back.Store(was.late)
	}
	return false
}

// repeat sends the frame of a late hold again, where one has begun since the frame that has left was set. Sent is
// called as by run.
func (f *refresh) repeat(now int64, sent func(b []byte, again bool)) {
	f.Lock()
	defer f.Unlock()
	if f.late && !f.send(now, true, sent) {
		f.due.Store(now) // the Refresher tries again
	}
	f.left()
}

// left ends the time in which the newest frame is leaving.
func (f *refresh) left() {
	if f.early {
		f.count(f.at)
	}
	f.leaving, f.early = false, false
}

// count counts a frame that was sent at time at. f is locked.
func (f *refresh) count(at int64) {
	if f.sent.Add(1) == 1 {
		f.still = newStandstill(at)
	}
}

// holdsAll tells whether the newest frame holds all that is lossless.
func (f *refresh) holdsAll() bool {
	g := f.guard.Load()
	return f.late || g != nil && f.frame == g.hold
}

// taken returns what was sent since the last call. f is locked.
func (f *refresh) taken() (s Sendings) {
	news := f.back.Swap(false)
	s.N, s.At = f.sent.Swap(0), f.at
	s.All = (s.N > 0 || news) && f.late && f.holds.Load() != f.answered
	return s
}

// run does what is due at time now and returns when to look again. It waits for nobody: the thread that has locked f
// may get no CPU. sent is called for each frame that has left: again, or because no worker has looked.
func (f *refresh) run(now int64, sent func(b []byte, again bool)) (next int64) {
	if lookBy := f.lookBy.Load(); now < min(f.due.Load(), lookBy) {
		return f.next(now, lookBy)
	}
	if !f.TryLock() {
		return now + macctl.MinRefresh
	}
	defer f.Unlock()
	switch {
	case now < f.due.Load():
	case f.forgotten(now):
		f.due.Store(noDeadline)
	case !f.send(now, true, sent):
		f.due.Store(f.frame.due(now))
	}
	return f.next(now, f.checkLook(now, sent))
}

// next is when to run again, where the look has to be checked at a time. Workers look again and again: one check of all
// ports in a while is enough, and wakes the thread less often.
func (f *refresh) next(now, check int64) int64 { return min(f.due.Load(), max(check, now+lookSoon)) }

// forgotten tells whether nobody has asked Taken since the first frame that was sent, and nobody will, because the
// worker hangs that has to do it, or first to look. f is locked.
func (f *refresh) forgotten(now int64) bool {
	switch g := f.guard.Load(); {
	case f.sent.Load() == 0:
		return false
	case g == nil:
		return f.still.hangs(now, nil)
	default:
		return f.still.hangs(now, func() Pulse { return f.pulse(g) })
	}
}

// pulse is of the worker whose turn it is: to look, because of a late hold, and then to decide. Who looks too late
// again does not speak for the one that has to decide.
func (f *refresh) pulse(g *guard) Pulse {
	of := g.watched.Decides
	if f.hold.late() {
		of = g.watched.Looks
	}
	if of == nil {
		return Pulse{}
	}
	return of()
}

// send sends the frame, and again when that is due. It reports whether the kernel took it.
func (f *refresh) send(now int64, again bool, sent func(b []byte, again bool)) bool {
	b := f.frame.frame[:f.frame.octets]
	if f.port.SendControl(b) != nil {
		return false
	}
	f.at = now
	if f.leaving && !f.early {
		f.early = true
	} else {
		f.count(now)
	}
	sent(b, again)
	f.due.Store(f.frame.due(now))
	return true
}

// checkLook holds the peer where frames wait and no worker has looked in time. It returns when to check again.
func (f *refresh) checkLook(now int64, sent func(b []byte, again bool)) (next int64) {
	if next = f.lookBy.Load(); now < next {
		return next
	}
	g := f.guard.Load()
	switch {
	case g == nil || g.watched.ByKernel:
		f.lookBy.CompareAndSwap(next, noDeadline)
		return noDeadline
	case f.forgotten(now):
	case f.holdsAll():
		if f.leaving && !f.early && g.waiting() { // its sender has lost the CPU before the kernel took the frame
			f.send(now, true, sent)
		}
	case !g.waiting():
		if now-next > idleAfter && f.lookBy.CompareAndSwap(next, noDeadline) {
			return noDeadline
		}
	default:
		was := f.resend
		f.resend = resend{port: g.port, frame: g.hold, late: true}
		if f.send(now, false, sent) {
			if was.early {
				f.count(now)
			}
			f.begin(now)
			g.watched.Wake()
		} else { // the kernel has no room: nobody is held, and the next check tries again
			f.resend = was
		}
	}
	return now + f.within.Load()
}

// begin begins a late hold, whose XOFF has left at time at. f is locked.
func (f *refresh) begin(at int64) {
	f.lateAt = at
	f.holds.Add(1) // after sent: who sees the one sees the other
	f.hold.begin()
}

// heldByKernel begins a late hold whose XOFF the program in the kernel has sent at time at.
func (f *refresh) heldByKernel(at int64) {
	f.Lock()
	defer f.Unlock()
	f.begin(at)
}

// idleAfter is how long no frame has come until a frame, not the time, starts the next check.
const idleAfter = 100_000_000 // ns

// arrived starts the time to look at rings that were idle, where a frame waits.
func (f *refresh) arrived(now int64) {
	if g := f.idle(); g != nil && g.waiting() {
		f.lookBy.CompareAndSwap(noDeadline, now+f.within.Load())
	}
}

// idle returns the guard of rings whose next frame starts the time to look; nil where that runs.
func (f *refresh) idle() *guard {
	g := f.guard.Load()
	if f.lookBy.Load() != noDeadline || g != nil && g.watched.ByKernel {
		return nil
	}
	return g
}

// How long a worker may not look at a lossless ring before the peer is held: half of a pause, within these bounds. A
// worker that runs looks after each burst.
const (
	lookWithinMin = 1_000_000
	lookSoon      = 250_000 // where what comes meanwhile may cross a threshold
	lookWithinMax = 8_000_000
)

func lookWithin(every int64) int64 { return max(lookWithinMin, min(every, lookWithinMax)) }
