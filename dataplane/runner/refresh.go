package runner

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A refresh is what the Refresher knows of a port: the newest MAC Control frame, which may hold the peer, and until
// when a worker has to look at the lossless rings. The frame is set before it is sent the first time, so that no older
// frame follows a newer one.
type refresh struct {
	due    atomic.Int64  // when the frame is to be sent again; noDeadline where it holds nobody
	lookBy atomic.Int64  // when a worker has to have looked; noDeadline where it sleeps until a frame comes
	late   atomic.Bool   // no worker looked in time, so that the peer is held: the next look decides
	sent   atomic.Uint64 // how often a frame was sent since Taken was asked

	sync.Mutex // held for a copy or for one send call; guards the rest
	resend
	at    int64 // when it was last sent again
	guard *guard
}

// A resend is what is sent again on a port.
type resend struct {
	port  port.Port
	frame xoff
	all   bool  // the frame holds all that is lossless, because no worker looked
	due   int64 // when set; then refresh.due counts
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
	waiting func() bool // whether a frame waits in these rings
	hold    xoff        // for all that is lossless
	wake    func()      // ends the sleep of the worker that has to look
}

// set replaces what is sent again. It returns what was before.
func (f *refresh) set(to resend) (was resend) {
	f.Lock()
	defer f.Unlock()
	was, f.resend = f.resend, to
	was.due = f.due.Swap(to.due)
	return was
}

// protect replaces the guard; nil for none.
func (f *refresh) protect(g *guard) {
	f.Lock()
	defer f.Unlock()
	f.guard = g
}

// run does what is due at time now and returns when to look again. It waits for nobody: the thread that has locked f
// may get no CPU. sent is called for each frame that has left: again, or because no worker has looked.
func (f *refresh) run(now int64, sent func(b []byte, again bool)) (next int64) {
	if next = min(f.due.Load(), f.lookBy.Load()); now < next {
		return next
	}
	if !f.TryLock() {
		return now + macctl.MinRefresh
	}
	defer f.Unlock()
	if now >= f.due.Load() && !f.send(now, true, sent) {
		f.due.Store(f.frame.due(now))
	}
	return min(f.due.Load(), f.checkLook(now, sent))
}

// send sends the frame, and again when that is due. It reports whether the kernel took it.
func (f *refresh) send(now int64, again bool, sent func(b []byte, again bool)) bool {
	b := f.frame.frame[:f.frame.octets]
	if f.port.SendControl(b) != nil {
		return false
	}
	f.at = now
	f.sent.Add(1)
	sent(b, again)
	f.due.Store(f.frame.due(now))
	return true
}

// checkLook holds the peer where frames wait and no worker has looked in time. It returns when to check again.
func (f *refresh) checkLook(now int64, sent func(b []byte, again bool)) (next int64) {
	if next = f.lookBy.Load(); now < next {
		return next
	}
	if f.guard == nil {
		return noDeadline
	}
	if g := f.guard; !f.all && g.waiting() {
		was := f.resend
		f.resend = resend{port: g.port, frame: g.hold, all: true}
		if f.send(now, false, sent) {
			f.late.Store(true)
			g.wake()
		} else { // the kernel has no room: nobody is held, and the next check tries again
			f.resend = was
		}
	}
	return now + lookWithin(f.guard.hold.every)
}

// How long a worker may not look at a lossless ring before the peer is held: half of a pause, within these bounds. A
// worker that runs looks after each burst.
const (
	lookWithinMin = 1_000_000
	lookWithinMax = 8_000_000
)

func lookWithin(every int64) int64 { return max(lookWithinMin, min(every, lookWithinMax)) }

// A Refresher holds peers while the goroutine that reads their frames gets no CPU: at 10 Gbit/s a pause lasts 3.4 ms,
// and a busy machine may run other threads for longer. It sends XOFF again in time, and it sends XOFF where frames wait
// and nobody looks. Its thread sleeps nearly all the time, so that the kernel runs it soon after it wakes up. It never
// takes the switch's lock, which a worker without CPU may have.
type Refresher struct {
	ports  []refresh
	sent   func(i int, b []byte, again bool, now int64)
	poller *port.Poller
	until  atomic.Int64 // when its sleep ends
	quit   atomic.Bool
	done   sync.WaitGroup
}

// NewRefresher starts a Refresher for ports 0 to n−1. It calls sent, if it is not nil, for each frame that has left:
// again, or because no worker has looked.
func NewRefresher(n int, sent func(i int, b []byte, again bool, now int64)) (*Refresher, error) {
	poller, err := port.NewPoller()
	if err != nil {
		return nil, err
	}
	r := newRefresher(n)
	r.sent, r.poller = sent, poller
	r.done.Add(1)
	go r.runRefreshes()
	return r, nil
}

// newRefresher returns a Refresher that is not started.
func newRefresher(n int) *Refresher {
	r := &Refresher{ports: make([]refresh, n)}
	for i := range r.ports {
		r.Stop(i)
	}
	return r
}

// Set takes over the MAC Control frame b, which the caller sends on port i right after, at time now. From then on it is
// sent again after every ns each; 0: never. Where the kernel does not take the frame, the caller calls Undo with what
// Set returned.
func (r *Refresher) Set(i int, p port.Port, b []byte, now, every int64) (was resend) {
	to := newResend(p, newXoff(b, every), now)
	was = r.ports[i].set(to)
	r.wakeFor(to.due)
	return was
}

// Undo takes back the last Set of port i, whose frame was not sent.
func (r *Refresher) Undo(i int, was resend) {
	r.ports[i].set(was)
	r.wakeFor(was.due)
}

// Stop ends what is done for port i. When it returns, the port may be closed.
func (r *Refresher) Stop(i int) {
	f := &r.ports[i]
	f.protect(nil)
	f.set(resend{due: noDeadline})
	f.lookBy.Store(noDeadline)
	f.late.Store(false)
}

// wakeFor ends the sleep where it is longer than until due.
func (r *Refresher) wakeFor(due int64) {
	if due < r.until.Load() {
		r.poller.Wake()
	}
}

// Taken returns how often a frame was sent on port i since the last call, when last, and whether the last one holds
// all that is lossless because no worker looked.
func (r *Refresher) Taken(i int) (n uint64, at int64, all bool) {
	f := &r.ports[i]
	if f.sent.Load() == 0 {
		return 0, 0, false
	}
	f.Lock()
	defer f.Unlock()
	return f.sent.Swap(0), f.at, f.all
}

// looked says that a worker looks at the lossless rings of port i at time now, and will again within wait ns.
func (r *Refresher) looked(i int, now, wait int64) {
	due := now + wait
	r.ports[i].lookBy.Store(due)
	r.wakeFor(due)
}

// resting tells whether the worker of port i sleeps, or has slept and not looked since.
func (r *Refresher) resting(i int) bool { return r.ports[i].lookBy.Load() == noDeadline }

// rests says that the worker sleeps until a frame comes to the lossless rings of port i.
func (r *Refresher) rests(i int) { r.ports[i].lookBy.Store(noDeadline) }

// runRefreshes sleeps until something is due. What is set meanwhile is either seen by the second look, or its setter
// sees the later end of the sleep and ends it.
func (r *Refresher) runRefreshes() {
	defer r.done.Done()
	runtime.LockOSThread() // for ever: the thread ends with this goroutine
	_ = port.Urgent()      // without it refreshes may be late where other threads want the CPUs
	for !r.quit.Load() {
		next := r.run(Now())
		r.until.Store(next)
		if r.run(Now()) < next {
			continue
		}
		d := time.Duration(-1)
		if next != noDeadline {
			d = time.Duration(max(0, next-Now()))
		}
		r.poller.Poll(d)
	}
}

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
	r.quit.Store(true)
	r.poller.Wake()
	r.done.Wait()
	return r.poller.Close()
}
