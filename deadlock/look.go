package deadlock

import "time"

// state is where a queue stands.
//
//	           holds frames, is paused       N blocked looks in a row
//	┌────────┐ ────────────────────▶ ┌────────┐ ─────────────▶ ┌─────────┐
//	│  idle  │                       │ armed  │                │ stormed │
//	└────────┘ ◀──────────────────── └────────┘                └─────────┘
//	  ▲   ▲        holds none, or                                 │  │
//	  │   │        is not paused                                  │  │
//	  │   └───────────────────────────────────────────────────────┘  │
//	  │                      recovery is over                        │
//	  │ the next slow period                                         │
//	┌────────┐                                                       │
//	│ closed │ ◀─────────────────────────────────────────────────────┘
//	└────────┘   more detections in a slow period than the threshold
//
// A queue may be closed from any state, since the end of a slow period may fall anywhere; it is idle again with the next, or
// with other settings of slow detection. A link that goes down, and settings that do not want the queue watched, lead to idle
// from everywhere, other settings from armed to idle. An idle queue that holds frames and is paused is armed at once.
type state uint8

const (
	idle    state = iota
	armed         // looked at every period
	stormed       // detected; the action is in force
	closed        // PFC is off for it until the next slow period
)

// queue is the watch of one egress queue: what an ordinary look needs, in 64 octets, a line of the CPU's cache. The rest
// is in its record.
type queue struct {
	port *port
	*record
	due     int64 // when it is visited next
	last    mark  // the last look
	spent   int64 // ns of blocked looks, or of looks at which the peer was quiet, in a row
	session uint32
	left    int8 // blocked looks until detection
	number  uint8
	state   state
	listed  bool // in Watchdog.active
}

// A mark is what the next look is compared with.
type mark struct {
	at, paused int64
	sent       uint64
}

// A tally is what a queue has sent and discarded.
type tally struct{ sent, dropped uint64 }

// A record is what transitions and storms need of a queue.
type record struct {
	since    int64  // when its storm began
	first    tally  // when it began
	seen     tally  // at the last Save of it
	xoffs    uint64 // at the last look of a storm
	asked    bool   // likewise
	baseline uint64 // detections when the slow period began
	counts
}

// note keeps a reading for the next look.
func (q *queue) note(r *QueueState, now int64) {
	q.last.at, q.last.paused, q.last.sent, q.session = now, r.PausedNs, r.Sent, r.Session
}

// watched tells whether the queue is looked at at all.
func (q *queue) watched() bool { return q.port.watched()&(1<<q.number) != 0 }

// rest arms a queue that is stuck, and waits for others to be.
func (w *Watchdog) rest(q *queue, now int64) {
	q.state = idle
	r := w.read(q, now)
	q.note(r, now)
	if !r.stuck() {
		w.schedule(q, never)
		w.sw.NotifyStuck(q.port.number, q.number, true)
		return
	}
	q.state = armed
	q.refill()
	w.tell(q, Armed, becauseStuck, now).Held = r.Held
	w.schedule(q, now+int64(q.port.config.Period))
}

// refill forgets blocked looks.
func (q *queue) refill() { q.left, q.spent = int8(q.port.config.Count), 0 }

// disarm ends the suspicion.
func (w *Watchdog) disarm(q *queue, reason string, now int64) {
	q.state = idle
	w.tell(q, Disarmed, reason, now)
	w.schedule(q, never)
}

// visit looks at a queue whose look is due.
func (w *Watchdog) visit(q *queue, now int64) {
	r := w.read(q, now)
	switch {
	case r.Session != q.session:
		w.unlink(q, now)
	case q.state == armed:
		w.lookArmed(q, r, now)
	case q.state == stormed:
		w.lookStormed(q, r, now)
	default:
		w.schedule(q, never)
	}
}

// verdict is what one look says.
type verdict uint8

const (
	free    verdict = iota
	late            // too much time has passed: whoever stood still saw nothing
	blocked         // for the whole time since the last look
)

// judge compares a reading with that of the last look, elapsed ns ago.
func (q *queue) judge(r *QueueState, elapsed int64) verdict {
	switch {
	case elapsed > 2*int64(q.port.config.Period):
		return late
	case r.Held > 0 && r.Sent == q.last.sent && r.PausedNs-q.last.paused >= elapsed:
		return blocked
	}
	return free
}

// lookArmed counts a blocked look, and forgets all on a free one.
func (w *Watchdog) lookArmed(q *queue, r *QueueState, now int64) {
	elapsed, next := now-q.last.at, q.nextLook(now)
	switch q.judge(r, elapsed) {
	case free:
		q.refill()
		next = now + int64(q.port.config.Period) // this look may be late, and count looks have to span count periods
	case blocked:
		q.left--
		q.spent += elapsed
	}
	q.note(r, now)
	switch {
	case q.convicted():
		w.storm(q, r, now)
	case r.Held == 0:
		w.disarm(q, becauseEmpty, now)
		w.rest(q, now)
	case !r.PausedNow:
		w.disarm(q, becauseFree, now)
		w.rest(q, now)
	default:
		w.schedule(q, next)
	}
}

// tolerance is the share, in percent, of the detection time that is enough: a look cannot be exactly on time. It is that
// of SONiC's pfcwd.
const tolerance = 99

// convicted tells whether the queue has been blocked for long enough.
func (q *queue) convicted() bool {
	c := &q.port.config
	if c.Count == 0 {
		return 100*q.spent >= tolerance*int64(c.Detection)
	}
	return q.left <= 0
}

// nextLook is a period after the look that was due, so that lateness does not add up; where that has passed, a period
// after this one.
func (q *queue) nextLook(now int64) int64 {
	period := int64(q.port.config.Period)
	if at := q.due + period; at > now {
		return at
	}
	return now + period
}

// lasted is the time since the queue's storm began.
func (q *queue) lasted(now int64) time.Duration { return time.Duration(now - q.since) }
