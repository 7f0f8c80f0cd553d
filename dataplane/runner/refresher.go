package runner

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/port"
)

// A Refresher holds peers while the goroutine that reads their frames gets no CPU: at 10 Gbit/s a pause lasts 3.4 ms,
// and a busy machine may run other threads for longer. It sends XOFF again in time, and it sends XOFF where frames wait
// and nobody looks. Its threads sleep nearly all the time, so that the kernel runs them soon after they wake up. They
// never take the switch's lock, which a worker without CPU may have. A Refresher that has nothing to send and nobody to
// watch has none.
//
// One real-time thread is enough (Urgent). Where that is not allowed, there is a thread on each of a few CPUs, and the
// first one that runs does what is due: on a CPU where other groups of threads (sessions, control groups) run, a thread
// may wait for long, and the kernel moves a thread that waits from a CPU to another.
type Refresher struct {
	ports   []refresh
	sent    func(i int, b []byte, again bool, now int64)
	threads []refreshThread
	cpus    []int       // that the threads may use
	urgent  atomic.Bool // the first thread is to become a real-time thread
	alone   atomic.Bool // it is one, so the others end
	starts  sync.Mutex  // of threads; guards quit where it is set
	quit    atomic.Bool
	done    sync.WaitGroup
}

type refreshThread struct {
	poller *port.Poller
	idle   []int32 // rings that its sleep listens to
	runs   atomic.Bool
	until  atomic.Int64 // when its sleep ends; noDeadline where it does not run
	cpu    int          // that it runs on where it is no real-time thread; -1: any
}

// maxThreads is the number of CPUs up to which a Refresher without real-time has a thread on each. Of more CPUs, one is
// seldom busy.
const maxThreads = 4

// NewRefresher returns a Refresher for ports 0 to n−1. It calls sent, if it is not nil, for each frame that has left:
// again, or because no worker has looked.
func NewRefresher(n int, sent func(i int, b []byte, again bool, now int64)) (*Refresher, error) {
	r := newRefresher(n)
	r.cpus = port.CPUs()
	cpus := r.cpus
	if len(cpus) > maxThreads {
		cpus = []int{-1}
	}
	r.sent, r.threads = sent, make([]refreshThread, len(cpus))
	for i := range r.threads {
		t := &r.threads[i]
		t.cpu = cpus[i]
		t.until.Store(noDeadline)
		var err error
		if t.poller, err = port.NewPoller(); err != nil {
			r.threads = r.threads[:i]
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

func newRefresher(n int) *Refresher {
	r := &Refresher{ports: make([]refresh, n)}
	for i := range r.ports {
		r.Stop(i)
	}
	return r
}

// Urgent makes the Refresher use a real-time thread, where it may.
func (r *Refresher) Urgent() {
	r.urgent.Store(true)
	r.wake()
}

// Set takes over the MAC Control frame b, which the caller sends on port i right after, at time now. From then on it is
// sent again after every ns each; 0: never. Where the kernel does not take the frame, the caller calls Undo with what
// Set returned, else Repeat.
func (r *Refresher) Set(i int, p port.Port, b []byte, now, every int64) (was resend) {
	to := newResend(p, newXoff(b, every), now)
	to.leaving = true
	was = r.ports[i].set(to)
	r.wakeFor(to.due)
	return was
}

// Holds returns how many holds of port i have begun because nobody looked, for Answer and SendDelayed.
func (r *Refresher) Holds(i int) uint32 { return r.ports[i].holds.Load() }

// Answer says that a frame that knows of so many holds is put into the delay line of port i.
func (r *Refresher) Answer(i int, holds uint32) {
	f := &r.ports[i]
	f.Lock()
	defer f.Unlock()
	f.answered = holds
}

// SendDelayed takes over and sends, at time now, a MAC Control frame that has been in a delay line. Where a hold has
// begun since Holds returned holds, of which 16 bits are kept, the peer has newer orders, which have left past the
// line: then the frame is not sent, and SendDelayed returns when that hold began, else 0.
func (r *Refresher) SendDelayed(i int, p port.Port, b []byte, holds uint16, now, every int64) (over int64, err error) {
	to := newResend(p, newXoff(b, every), now)
	to.leaving = true
	was, over := r.ports[i].setDelayed(to, holds)
	if over != 0 {
		return over, nil
	}
	r.wakeFor(to.due)
	if err = p.SendControl(b); err == nil {
		r.Repeat(i, now)
	} else if r.Undo(i, was) {
		err = nil
	}
	return 0, err
}

// Undo takes back the last Set of port i, whose frame the kernel did not take. A hold that has begun since stays. Undo
// reports whether the frame has left all the same, because the Refresher has sent it.
func (r *Refresher) Undo(i int, was resend) (left bool) {
	left = r.ports[i].undo(was)
	r.wakeFor(was.due)
	return left
}

// Repeat is to be called once the frame of Set has left. A hold that has begun between Set and that moment, because
// nobody looked, left before it: XOFF leaves again.
func (r *Refresher) Repeat(i int, now int64) {
	r.ports[i].repeat(now, func(b []byte, again bool) {
		if r.sent != nil {
			r.sent(i, b, again, now)
		}
	})
}

// Stop ends what is done for port i. When it returns, the port may be closed.
func (r *Refresher) Stop(i int) {
	f := &r.ports[i]
	f.guard.Store(nil)
	f.set(resend{due: noDeadline})
	f.lookBy.Store(noDeadline)
	f.hold.state.Store(notHeld)
	r.wake() // a thread that listens to the rings would keep them open
}

// wake ends all sleeps.
func (r *Refresher) wake() {
	for i := range r.threads {
		if t := &r.threads[i]; t.runs.Load() {
			t.poller.Wake()
		}
	}
}

// wakeFor ends the sleeps that are longer than until due. A thread that does not run starts, unless the first is
// enough.
func (r *Refresher) wakeFor(due int64) {
	for i := range r.threads {
		switch t := &r.threads[i]; {
		case due >= t.until.Load() || i > 0 && r.alone.Load():
		case t.runs.Load():
			t.poller.Wake()
		default:
			r.start(t)
		}
	}
}

func (r *Refresher) start(t *refreshThread) {
	r.starts.Lock()
	defer r.starts.Unlock()
	if !r.quit.Load() && t.runs.CompareAndSwap(false, true) {
		r.done.Add(1)
		go r.runRefreshes(t)
	}
}

// Sendings tell what the Refresher has sent on a port.
type Sendings struct {
	N   uint64 // frames
	At  int64  // when the last one left
	All bool   // the newest frame is a hold because nobody looked, and nothing has been decided since
}

// Taken returns what was sent on port i since the last call.
func (r *Refresher) Taken(i int) (s Sendings) {
	f := &r.ports[i]
	if f.sent.Load() == 0 && !f.back.Load() {
		return s
	}
	f.Lock()
	defer f.Unlock()
	return f.taken()
}

// Protect makes the Refresher hold the peer of port i by the frame hold, which is to be sent again after every ns each,
// where frames wait and nobody looks (Look). It then wakes who is watched. Nothing is done where every is 0, or a
// program in the kernel does it. Protect returns the time within which somebody has to look; 0: nobody has to.
func (r *Refresher) Protect(i int, p port.Port, hold []byte, every int64, by Watched) (within int64) {
	defer r.wake() // a thread that watches nobody any more ends
	if every == 0 {
		r.ports[i].guard.Store(nil)
		r.ports[i].within.Store(0)
		return 0
	}
	rings := p.Descriptors(nil, port.WorkLossless)
	waiting := func() bool { // called by all threads
		fds := make([]unix.PollFd, 0, 4)
		for _, fd := range rings {
			fds = append(fds, unix.PollFd{Fd: fd, Events: unix.POLLIN})
		}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	}
	r.ports[i].guard.Store(&guard{port: p, rings: rings, waiting: waiting, hold: newXoff(hold, every), watched: by})
	if by.ByKernel {
		r.ports[i].within.Store(0)
		return 0
	}
	r.ports[i].within.Store(lookWithin(every))
	r.wakeFor(math.MinInt64)
	return lookWithin(every)
}

// Disarm ends what Protect has begun, and returns what Taken would. When it returns, no hold of port i begins any more
// because nobody looks. The newest frame is sent again until another one follows, but what it holds is not the hold of
// the next Protect.
func (r *Refresher) Disarm(i int) (s Sendings) {
	f := &r.ports[i]
	f.Lock()
	defer f.Unlock()
	s = f.taken()
	f.guard.Store(nil)
	f.late = false
	return s
}

// Look says that the caller is about to look at the lossless rings of port i, at time now, and will again within the
// time in force, or when a frame has come. Where no frame has come for long, only a frame counts: else each probe of an
// idle switch would wake the Refresher too.
func (r *Refresher) Look(i int, p port.Port, now int64) {
	f := &r.ports[i]
	within := f.within.Load()
	if within == 0 || f.lookBy.Load() == noDeadline && !p.BacklogExceeds(port.Lossless, 0) {
		return
	}
	for {
		f.lookBy.Store(now + within)
		sooner := f.within.Load() // LookSooner may not have seen what it has to make sooner
		if sooner >= within {
			break
		}
		within = sooner
	}
	r.wakeFor(now + within)
}

// LookWithin sets the time in force at port i from the next Look on, in ns. Calls of LookWithin and LookSooner for a
// port are not concurrent.
func (r *Refresher) LookWithin(i int, within int64) { r.ports[i].within.Store(within) }

// LookSooner says that from time now on nobody may be without a look at port i for longer than within, which may be
// less than the time in force.
func (r *Refresher) LookSooner(i int, now, within int64) {
	f := &r.ports[i]
	if within == 0 {
		return
	}
	f.within.Store(within)
	if by := f.lookBy.Load(); by != noDeadline {
		f.lookBy.CompareAndSwap(by, min(by, now+within))
		r.wakeFor(now + within) // also where it has to look by now, and the Refresher sleeps since the peer was held
	}
}

// TakeLate makes the caller, who looks now, responsible for a hold that began because nobody looked. It reports whether
// there was one.
func (r *Refresher) TakeLate(i int) bool { return r.ports[i].hold.taken() }

// runRefreshes is the goroutine of a thread.
func (r *Refresher) runRefreshes(t *refreshThread) {
	defer r.done.Done()
	port.OnOwnThread(func() { r.refresh(t) })
}

// refresh sleeps until something is due. What is set meanwhile is either seen by the second look, or its setter sees
// the later end of the sleep and ends it. The thread ends where it has nothing to wait for.
func (r *Refresher) refresh(t *refreshThread) {
	port.Name("refresher")
	first := t == &r.threads[0]
	asked := first && r.urgent.Load()
	if !asked || !r.askRealTime() {
		port.Brief(t.cpu)
	}
	for !r.quit.Load() {
		if first && !asked && r.urgent.Load() {
			asked = true
			r.askRealTime()
		}
		next := r.run(Now())
		t.until.Store(next)
		if r.run(Now()) < next {
			continue
		}
		if r.needless(t, next) {
			if r.end(t) {
				return
			}
			continue
		}
		d := time.Duration(-1)
		if next != noDeadline {
			d = time.Duration(max(0, next-Now()))
		}
		r.sleep(t, d)
	}
}

// askRealTime makes the calling thread, the first, a real-time thread, where it may be one: then the others end.
func (r *Refresher) askRealTime() bool {
	alone := port.RealTime(r.cpus)
	if r.alone.Store(alone); alone {
		r.wake()
	}
	return alone
}

// needless tells whether a thread has nothing to do, whose next frame is due at some time: it has none to send and
// nobody to watch, or the first thread does all that.
func (r *Refresher) needless(t *refreshThread, next int64) bool {
	return t != &r.threads[0] && r.alone.Load() || next == noDeadline && !r.watches()
}

// end tells whether a needless thread ends. What is set meanwhile is either seen here, or its setter starts the thread
// again, unless that goes on. Without the first thread, others are needed until it is a real-time thread again.
func (r *Refresher) end(t *refreshThread) bool {
	alone := t == &r.threads[0] && r.alone.Swap(false)
	t.until.Store(noDeadline)
	t.runs.Store(false)
	if r.needless(t, r.run(Now())) || !t.runs.CompareAndSwap(false, true) {
		return true
	}
	if alone {
		r.alone.Store(true)
	}
	return false
}

// watches reports whether the Refresher is to hold some peer where nobody looks.
func (r *Refresher) watches() bool {
	for i := range r.ports {
		if g := r.ports[i].guard.Load(); g != nil && !g.watched.ByKernel {
			return true
		}
	}
	return false
}

// sleep sleeps for d, -1 for ever, or until somebody wakes the thread, or a frame comes to idle rings.
func (r *Refresher) sleep(t *refreshThread, d time.Duration) {
	t.idle = t.idle[:0]
	for i := range r.ports {
		if g := r.ports[i].idle(); g != nil {
			t.idle = append(t.idle, g.rings...)
		}
	}
	t.poller.Watch(t.idle)
	from := time.Now()
	switch t.poller.Poll(d) {
	case port.Ready:
		for i := range r.ports {
			r.ports[i].arrived(Now())
		}
	case port.Failed: // until a worker has cleared the error
		t.poller.Watch(nil)
		if left := d - time.Since(from); d >= 0 && left < failedPause {
			t.poller.Poll(max(0, left))
		} else {
			t.poller.Poll(failedPause)
		}
	}
}

// failedPause is how long nobody listens to the rings after an error.
const failedPause = 10 * time.Millisecond

// run does what is due and returns when to look again.
func (r *Refresher) run(now int64) (next int64) {
	next = noDeadline
	for i := range r.ports {
		next = min(next, r.ports[i].run(now, func(b []byte, again bool) {
			if r.sent != nil {
				r.sent(i, b, again, now)
			}
		}))
	}
	return next
}

// Close ends all refreshes.
func (r *Refresher) Close() error {
	r.starts.Lock()
	r.quit.Store(true)
	r.starts.Unlock()
	r.wake()
	r.done.Wait()
	var errs []error
	for i := range r.threads {
		errs = append(errs, r.threads[i].poller.Close())
	}
	return errors.Join(errs...)
}
