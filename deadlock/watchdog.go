package deadlock

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Queues of a port: 0 to 7 are its priorities, All is the whole of an 802.3x PAUSE port.
const (
	All       = 8
	NumQueues = 9
)

// A QueueState is what a switch knows of an egress queue at one moment. Counters never go back while Session is the
// same.
type QueueState struct {
	Held      int    // frames that wait
	Sent      uint64 // frames that left, in all
	Dropped   uint64 // frames that were discarded by an Order, in all
	PausedNs  int64  // ns for which the peer paused the queue, in all and up to this moment
	PausedNow bool   // the peer pauses the queue now
	Requested bool   // PausedNow, or a pause would run now if it were not ignored
	Xoffs     uint64 // XOFFs that came, obeyed or not, in all
	Session   uint32 // changes when the link goes down
}

// stuck reports whether the queue holds frames that it must not send.
func (r *QueueState) stuck() bool { return r.Held > 0 && r.PausedNow }

// An Order is what a switch does with a queue.
type Order uint8

// The orders.
const (
	Obey    Order = iota // obey XOFF
	Ignore               // count XOFF and do not obey it; a running pause ends
	Discard              // as Ignore, and drop all frames that the queue holds and gets
)

// A Switch is what a Watchdog sees and orders. Only the Watchdog's methods call it. A link that goes down ends every
// order.
type Switch interface {
	// Read fills r with the state of a queue at time now, zero for a queue that does not exist.
	Read(port int, queue uint8, now int64, r *QueueState)
	// NotifyPaused asks for one Notify when the queue next holds frames and is paused. With on false it asks for none.
	NotifyPaused(port int, queue uint8, on bool)
	// Order puts an order in force.
	Order(port int, queue uint8, o Order, now int64)
}

// noDeadline is a time that never comes.
const noDeadline = math.MaxInt64

// A Watchdog watches the lossless egress queues of one switch. Times are nanoseconds of one monotonic clock. It is not
// safe for concurrent use, and neither is the Switch while a method runs.
type Watchdog struct {
	sw           Switch
	ports        []*port  // by number; nil where there is none
	active       []*queue // with a poll to come, in no order
	next         int64
	slow         int64 // first end of a slow period that has to be judged
	events       []Event
	reading      QueueState
	removed      map[string]*[NumQueues]counts // of ports that are gone, by name
	removedNames []string                      // in removed, the oldest first
}

// maxRemoved is how many removed ports are remembered. A port that comes back later than that begins at 0.
const maxRemoved = 1024

// maxPorts bounds port numbers.
const maxPorts = 1 << 16

type port struct {
	number  int
	name    string
	config  Config
	mask    uint16 // its lossless queues
	queues  [NumQueues]queue
	records [NumQueues]stormRecord
	slow    slow
}

// New returns a watchdog without ports.
func New(sw Switch) *Watchdog {
	return &Watchdog{sw: sw, next: noDeadline, slow: noDeadline, removed: map[string]*[NumQueues]counts{}}
}

// Set adds or changes a port, by its number, also in the middle of a storm. Bit n of queues is set for each lossless
// queue. A port that was removed goes on counting under its name. After an error, which wraps ErrConfig, nothing has
// changed.
func (w *Watchdog) Set(number int, name string, queues uint16, c Config, now int64) error {
	if err := c.Check(); err != nil {
		return err
	}
	if number < 0 || number >= maxPorts {
		return fmt.Errorf("%w: port number %d: 0 to %d are possible", ErrConfig, number, maxPorts-1)
	}
	p := w.port(number)
	if p != nil && p.name != name {
		w.Remove(number, now)
		p = nil
	}
	if p == nil {
		p = w.newPort(number, name)
	}
	old, before := p.config, p.watched()
	if old == c && p.mask == queues {
		return nil
	}
	p.config, p.mask = c, queues
	after := p.watched()
	if old.Slow != c.Slow || old.SlowPeriod != c.SlowPeriod || old.Threshold != c.Threshold {
		w.restartSlow(p, now)
	}
	for m := before &^ after; m != 0; m &= m - 1 { // these first: All and the priorities have the same frames
		w.release(&p.queues[bits.TrailingZeros16(m)], Unwatched, now)
	}
	for m := after; m != 0; m &= m - 1 {
		w.change(&p.queues[bits.TrailingZeros16(m)], &old, now)
	}
	return nil
}

func (p *port) watched() uint16 {
	if !p.config.Fast {
		return 0
	}
	return p.mask & (1<<NumQueues - 1)
}

func (w *Watchdog) newPort(number int, name string) *port {
	p := &port{number: number, name: name, slow: slow{due: noDeadline}}
	for q := range p.queues {
		p.queues[q] = queue{port: p, stormRecord: &p.records[q], number: uint8(q), due: noDeadline}
		if old := w.removed[name]; old != nil {
			p.queues[q].counts = old[q]
			p.queues[q].baseline = old[q].Detected
		}
	}
	w.forgetRemoved(name)
	for len(w.ports) <= number {
		w.ports = append(w.ports, nil)
	}
	w.ports[number] = p
	return p
}

// port returns a port, nil where there is none.
func (w *Watchdog) port(number int) *port {
	if uint(number) >= uint(len(w.ports)) {
		return nil
	}
	return w.ports[number]
}

// Remove removes a port and keeps its counts.
func (w *Watchdog) Remove(number int, now int64) {
	p := w.port(number)
	if p == nil {
		return
	}
	var kept [NumQueues]counts
	watched := p.watched()
	p.mask = 0
	for q := range p.queues {
		if watched&(1<<q) != 0 {
			w.release(&p.queues[q], Unwatched, now)
		}
		kept[q] = p.queues[q].counts
	}
	p.slow.due = noDeadline
	w.ports[number] = nil
	w.forgetRemoved(p.name) // an older port of that name
	w.removed[p.name], w.removedNames = &kept, append(w.removedNames, p.name)
	if len(w.removedNames) > maxRemoved {
		w.forgetRemoved(w.removedNames[0])
	}
}

// forgetRemoved drops the counts of a port that is gone.
func (w *Watchdog) forgetRemoved(name string) {
	if i := slices.Index(w.removedNames, name); i >= 0 {
		w.removedNames = slices.Delete(w.removedNames, i, i+1)
	}
	delete(w.removed, name)
}

// change makes a queue follow the new configuration of its port.
func (w *Watchdog) change(q *queue, old *Config, now int64) {
	c := &q.port.config
	switch q.state {
	case idle:
		w.await(q, now)
	case armed:
		w.disarm(q, reasonSettings, now)
		w.await(q, now)
	case stormed:
		if c.Action != old.Action {
			w.order(q, now)
			w.emit(q, Changed, reasonAction, now).Lasted = q.stormAge(now)
		}
		w.schedule(q, q.stormDue(now))
	}
}

// Notify says that queues of a port hold frames and are paused, which NotifyPaused asked for, or that the link of the
// port has gone down.
func (w *Watchdog) Notify(number int, now int64) {
	p := w.port(number)
	if p == nil {
		return
	}
	for m := p.watched(); m != 0; m &= m - 1 {
		q := &p.queues[bits.TrailingZeros16(m)]
		switch {
		case q.session != w.read(q, now).Session:
			w.linkDown(q, now)
		case q.state == idle:
			w.await(q, now)
		}
	}
}

// Next returns when Poll has to be called, or math.MaxInt64.
func (w *Watchdog) Next() int64 { return w.next }

// Poll polls every queue that is due.
func (w *Watchdog) Poll(now int64) {
	if now < w.next {
		return
	}
	w.next = noDeadline
	left := w.active[:0]
	for _, q := range w.active {
		if q.due <= now {
			w.pollQueue(q, now)
		}
		if q.listed = q.due != noDeadline; q.listed {
			left = append(left, q)
			w.next = min(w.next, q.due)
		}
	}
	w.active = left
	if w.slow <= now {
		w.endSlowPeriods(now)
	}
	w.next = min(w.next, w.slow)
}

// Events returns what has happened since the last call, in order. The slice is valid until the next call of any method.
func (w *Watchdog) Events() []Event {
	all := w.events
	w.events = w.events[:0]
	return all
}

// schedule sets when a queue is polled next.
func (w *Watchdog) schedule(q *queue, at int64) {
	q.due = at
	w.next = min(w.next, at)
	if !q.listed && at != noDeadline {
		q.listed = true
		w.active = append(w.active, q)
	}
}

// read returns the state of a queue, which is valid until the next call.
func (w *Watchdog) read(q *queue, now int64) *QueueState {
	w.sw.Read(q.port.number, q.number, now, &w.reading)
	return &w.reading
}
