package deadlock

import (
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

const ms = int64(time.Millisecond)

// patent is a configuration of the usual kind: detection after 2 polls, 100 ms apart.
func patent() Config {
	return Config{Fast: true, Period: 100 * time.Millisecond, Count: 2, Action: Forward,
		Recovery: 200 * time.Millisecond}
}

// sonic is a configuration with the names and defaults of SONiC's pfcwd.
func sonic() Config {
	return Config{Fast: true, Period: 200 * time.Millisecond, Detection: 200 * time.Millisecond, Action: Drop,
		Restore: Quiet, Recovery: 200 * time.Millisecond}
}

type fakeKey struct {
	port  int
	queue uint8
}

// A fakeQueue is an egress queue whose peer pauses it by timers, as macctl's Receiver counts them.
type fakeQueue struct {
	QueueState
	from, until int64 // the latest pause
	asked       int64 // end of the latest pause that was ignored
	total       int64
	order       Order
	await       bool
	lost        bool // its link has been down since the watchdog was told
}

// A rig is a fake switch with a watchdog under virtual time.
type rig struct {
	now    int64
	lag    func() int64 // how late polls are; nil: not at all
	w      *Watchdog
	queues map[fakeKey]*fakeQueue
	events []Event
	polls  int
}

func newRig() *rig {
	r := &rig{now: 1000 * ms, queues: map[fakeKey]*fakeQueue{}}
	r.w = New(r)
	return r
}

// watchOne is a rig with one port whose queue 3 is watched.
func watchOne(t *testing.T, c Config) (*rig, *fakeQueue) {
	t.Helper()
	r := newRig()
	r.set(t, 0, 1<<3, c)
	return r, r.queue(0, 3)
}

func (r *rig) set(t *testing.T, port int, queues uint16, c Config) {
	t.Helper()
	assert.Must(t, r.w.Set(port, string(rune('a'+port)), queues, c, r.now))
	r.collect()
}

func (r *rig) queue(port int, q uint8) *fakeQueue {
	k := fakeKey{port, q}
	if r.queues[k] == nil {
		r.queues[k] = &fakeQueue{}
	}
	return r.queues[k]
}

// Read implements Switch.
func (r *rig) Read(port int, queue uint8, now int64, v *QueueState) {
	q := r.queue(port, queue)
	*v = q.QueueState
	v.PausedNs = q.total + max(0, min(now, q.until)-q.from)
	v.PausedNow = q.until > now
	v.Requested = v.PausedNow || q.asked > now
}

// NotifyPaused implements Switch.
func (r *rig) NotifyPaused(port int, queue uint8, on bool) { r.queue(port, queue).await = on }

// Order implements Switch.
func (r *rig) Order(port int, queue uint8, o Order, now int64) {
	q := r.queue(port, queue)
	if q.order == Obey && o != Obey {
		q.asked = q.until
		q.load(now, 0)
	}
	if q.order != Obey && o == Obey && q.asked > now {
		q.load(now, q.asked-now)
	}
	q.order = o
	if o == Discard {
		q.Dropped += uint64(q.Held)
		q.Held = 0
	}
}

func (q *fakeQueue) load(at, d int64) {
	if at >= q.until {
		if d == 0 {
			return
		}
		q.total += q.until - q.from
		q.from = at
	}
	q.until = at + d
}

// pause lets the peer of a queue say XOFF for d, or XON.
func (r *rig) pause(q *fakeQueue, d int64) {
	if d > 0 {
		q.Xoffs++
	}
	if q.order == Obey {
		q.load(r.now, d)
	} else {
		q.asked = r.now + d
	}
	r.notify()
}

// hold says how many frames wait.
func (r *rig) hold(q *fakeQueue, frames int) {
	if q.order == Discard {
		q.Dropped += uint64(frames)
		frames = 0
	}
	q.Held = frames
	r.notify()
}

// flap takes the link of a queue down for a moment.
func (r *rig) flap(q *fakeQueue) {
	q.load(r.now, 0)
	q.Session++
	q.Held, q.asked, q.order, q.lost = 0, 0, Obey, true
	r.notify()
}

// notify tells the watchdog what it asked for.
func (r *rig) notify() {
	for k, q := range r.queues {
		if q.lost || q.await && q.Held > 0 && q.until > r.now {
			q.lost, q.await = false, false
			r.w.Notify(k.port, r.now)
		}
	}
	r.collect()
}

func (r *rig) collect() { r.events = append(r.events, r.w.Events()...) }

// run lets d pass.
func (r *rig) run(d int64) {
	end := r.now + d
	for {
		at := r.w.Next()
		if r.lag != nil && at != math.MaxInt64 {
			at += r.lag()
		}
		if at > end {
			break
		}
		r.now = max(r.now, at)
		r.polls++
		r.w.Poll(r.now)
		r.collect()
	}
	r.now = end
}

// block lets a queue hold frames and be paused without end.
func (r *rig) block(q *fakeQueue) {
	r.hold(q, 5)
	r.pause(q, 1<<50)
}

// kinds are the kinds of the events but Armed and Disarmed.
func (r *rig) kinds() (all []Kind) {
	for _, e := range r.events {
		if e.Kind != Armed && e.Kind != Disarmed {
			all = append(all, e.Kind)
		}
	}
	return all
}

// event returns the n-th event of a kind.
func (r *rig) event(t *testing.T, k Kind, n int) Event {
	t.Helper()
	for _, e := range r.events {
		if e.Kind == k {
			if n == 0 {
				return e
			}
			n--
		}
	}
	t.Fatalf("no event %v number %d in %+v", k, n, r.events)
	return Event{}
}

func (r *rig) status(t *testing.T) Status {
	t.Helper()
	all := r.w.Status(nil, r.now)
	assert.MustEqual(t, len(all), 1, "queues are watched, want 1: %+v", all)
	return all[0]
}
