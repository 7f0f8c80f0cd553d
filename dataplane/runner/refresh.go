package runner

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A refresh is the newest MAC Control frame of a port, which may hold the peer. It is set before the frame is sent the
// first time, so that no older frame follows a newer one.
type refresh struct {
	due  atomic.Int64  // when the frame is to be sent again; noDeadline where it holds nobody
	sent atomic.Uint64 // how often it was sent again since Taken was asked

	sync.Mutex // held for a copy or for one send call; guards the rest
	port       port.Port
	frame      [macctl.FrameSize]byte
	octets     int
	every      int64
	at         int64 // when it was last sent again
}

// set replaces the frame at time now and returns when it is due. every is 0 for a frame that holds nobody.
func (f *refresh) set(p port.Port, b []byte, now, every int64) (due int64) {
	f.Lock()
	defer f.Unlock()
	f.port, f.octets, f.every = p, copy(f.frame[:], b), every
	due = noDeadline
	if every > 0 {
		due = now + every
	}
	f.due.Store(due)
	return due
}

// send sends the frame again where it is due, and returns when to look again. It waits for nobody: the thread that
// has locked the frame may get no CPU.
func (f *refresh) send(i int, now int64, sent func(i int, b []byte, now int64)) (next int64) {
	if next = f.due.Load(); now < next {
		return next
	}
	if !f.TryLock() {
		return now + macctl.MinRefresh
	}
	defer f.Unlock()
	if next = f.due.Load(); now < next {
		return next
	}
	if b := f.frame[:f.octets]; f.port.SendControl(b) == nil {
		f.at = now
		f.sent.Add(1)
		if sent != nil {
			sent(i, b, now)
		}
	}
	next = now + f.every
	f.due.Store(next)
	return next
}

// A Refresher sends XOFF again in time while the goroutine that has sent it gets no CPU: at 10 Gbit/s a pause lasts
// 3.4 ms, and a busy machine may run other threads for longer. Its thread sleeps nearly all the time, so that the
// kernel runs it soon after it wakes up. It never takes the switch's lock, which a worker without CPU may have.
type Refresher struct {
	ports  []refresh
	sent   func(i int, b []byte, now int64)
	poller *port.Poller
	until  atomic.Int64 // when its sleep ends
	quit   atomic.Bool
	done   sync.WaitGroup
}

// NewRefresher starts a Refresher for ports 0 to n−1. It calls sent, if it is not nil,
// for each frame that has left.
func NewRefresher(n int, sent func(i int, b []byte, now int64)) (*Refresher, error) {
	poller, err := port.NewPoller()
	if err != nil {
		return nil, err
	}
	r := &Refresher{ports: make([]refresh, n), sent: sent, poller: poller}
	for i := range r.ports {
		r.ports[i].due.Store(noDeadline)
	}
	r.done.Add(1)
	go r.runRefreshes()
	return r, nil
}

// Set takes over the MAC Control frame b, which the caller sends on port i right after, at time now. From then on it is
// sent again after every ns each; 0: never. The port must be able to send from two goroutines.
func (r *Refresher) Set(i int, p port.Port, b []byte, now, every int64) {
	if r.ports[i].set(p, b, now, every) < r.until.Load() {
		r.poller.Wake()
	}
}

// Stop ends the refreshes of port i. When it returns, the port may be closed.
func (r *Refresher) Stop(i int) { r.ports[i].set(nil, nil, 0, 0) }

// Taken returns how often the frame of port i was sent again since the last call, and when last.
func (r *Refresher) Taken(i int) (n uint64, at int64) {
	f := &r.ports[i]
	if f.sent.Load() == 0 {
		return 0, 0
	}
	f.Lock()
	defer f.Unlock()
	return f.sent.Swap(0), f.at
}

// runRefreshes sleeps until a frame is due. A frame that is set meanwhile is either seen by the second look, or its
// setter sees the later end of the sleep and ends it.
func (r *Refresher) runRefreshes() {
	defer r.done.Done()
	runtime.LockOSThread() // for ever: the thread ends with this goroutine
	_ = port.Urgent()      // without it refreshes may be late where other threads want the CPUs
	for !r.quit.Load() {
		next := r.send(Now())
		r.until.Store(next)
		if r.send(Now()) < next {
			continue
		}
		d := time.Duration(-1)
		if next != noDeadline {
			d = time.Duration(max(0, next-Now()))
		}
		r.poller.Poll(d)
	}
}

// send sends what is due and returns when to look again.
func (r *Refresher) send(now int64) (next int64) {
	next = noDeadline
	for i := range r.ports {
		next = min(next, r.ports[i].send(i, now, r.sent))
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
