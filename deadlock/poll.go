package deadlock

import "time"

// state is where a queue stands.
//
//	           holds frames, is paused       N blocked polls in a row
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
// A slow period may end in any state, so a queue may be closed from any state. The next slow period, or other settings
// of slow detection, lead from closed to idle. A link that goes down, or settings that do not watch the queue, lead to
// idle from everywhere. Other settings lead from armed to idle. An idle queue that holds frames and is paused is armed
// at once.
type state uint8

const (
	idle    state = iota
	armed         // polled every period
	stormed       // detected; the action is in force
	closed        // PFC is off for it until the next slow period
)

// queue is the watch of one egress queue. It holds what an ordinary poll needs in 64 octets, one cache line. The rest
// is in its stormRecord.
type queue struct {
	port *port
	*stormRecord
	due       int64  // when it is polled next
	last      sample // at the last poll
	elapsed   int64  // ns of blocked polls in a row, in a storm of quiet ones
	unproven  int64  // ns of the last poll of a storm, which was quiet and late
	session   uint32
	pollsLeft int8 // blocked polls until detection
	number    uint8
	state     state
	listed    bool // in Watchdog.active
}

// A sample is what the next poll is compared with.
type sample struct {
	at, paused int64
	sent       uint64
}

// frameCounts are the frames that a queue has sent and discarded.
type frameCounts struct{ sent, dropped uint64 }

// A stormRecord is what transitions and storms need of a queue.
type stormRecord struct {
	since     int64       // when its storm began
	first     frameCounts // when it began
	seen      frameCounts // at the last SaveCounts
	xoffs     uint64      // at the last poll of a storm
	requested bool        // likewise
	baseline  uint64      // detections when the slow period began
	counts
}

// keep stores a reading for the next poll.
func (q *queue) keep(r *QueueState, now int64) {
	q.last.at, q.last.paused, q.last.sent, q.session = now, r.PausedNs, r.Sent, r.Session
}

func (q *queue) watched() bool { return q.port.watched()&(1<<q.number) != 0 }

// await arms a queue that is stuck, and waits for one that is not stuck yet.
func (w *Watchdog) await(q *queue, now int64) {
	q.state = idle
	r := w.read(q, now)
	q.keep(r, now)
	if !r.stuck() {
		w.schedule(q, noDeadline)
		w.sw.NotifyPaused(q.port.number, q.number, true)
		return
	}
	q.state = armed
	q.resetCount()
	w.emit(q, Armed, reasonStuck, now).Held = r.Held
	w.schedule(q, now+int64(q.port.config.Period))
}

// resetCount forgets blocked polls.
func (q *queue) resetCount() { q.pollsLeft, q.elapsed = int8(q.port.config.Count), 0 }

// disarm ends the suspicion.
func (w *Watchdog) disarm(q *queue, reason string, now int64) {
	q.state = idle
	w.emit(q, Disarmed, reason, now)
	w.schedule(q, noDeadline)
}

func (w *Watchdog) pollQueue(q *queue, now int64) {
	r := w.read(q, now)
	switch {
	case r.Session != q.session:
		w.linkDown(q, now)
	case q.state == armed:
		w.pollArmed(q, r, now)
	case q.state == stormed:
		w.pollStormed(q, r, now)
	default:
		w.schedule(q, noDeadline)
	}
}

// A verdict is the result of one poll.
type verdict uint8

const (
	free    verdict = iota
	late            // too much time has passed: the switch stood still and saw nothing
	blocked         // for the whole time since the last poll
)

// judge compares a reading with that of the last poll, elapsed ns ago.
func (q *queue) judge(r *QueueState, elapsed int64) verdict {
	switch {
	case elapsed > 2*int64(q.port.config.Period):
		return late
	case r.Held > 0 && r.Sent == q.last.sent && r.PausedNs-q.last.paused >= elapsed:
		return blocked
	}
	return free
}

// pollArmed counts a blocked poll, and begins anew after a free one.
func (w *Watchdog) pollArmed(q *queue, r *QueueState, now int64) {
	elapsed, next := now-q.last.at, q.nextPoll(now)
	switch v := q.judge(r, elapsed); {
	case v == free, v == late && r.Sent != q.last.sent: // frames left, however long ago the last poll was
		q.resetCount()
		next = now + int64(q.port.config.Period) // this poll may be late, and Count polls have to span Count periods
	case v == blocked:
		q.pollsLeft--
		q.elapsed += elapsed
	}
	q.keep(r, now)
	switch {
	case q.detected():
		w.storm(q, r, now)
	case r.Held == 0:
		w.disarm(q, reasonEmpty, now)
		w.await(q, now)
	case !r.PausedNow:
		w.disarm(q, reasonFree, now)
		w.await(q, now)
	default:
		w.schedule(q, next)
	}
}

// tolerance is the share, in percent, of the detection time that is enough, since a poll cannot be exactly on time. The
// value is that of SONiC's pfcwd.
const tolerance = 99

// detected reports whether the queue has been blocked for long enough.
func (q *queue) detected() bool {
	c := &q.port.config
	if c.Count == 0 {
		return 100*q.elapsed >= tolerance*int64(c.Detection)
	}
	return q.pollsLeft <= 0
}

// nextPoll returns a time one period after the poll that was due, so that lateness does not add up. Where that time has
// passed, the next poll is one period after this one.
func (q *queue) nextPoll(now int64) int64 {
	period := int64(q.port.config.Period)
	if at := q.due + period; at > now {
		return at
	}
	return now + period
}

// stormAge is the time since the queue's storm began.
func (q *queue) stormAge(now int64) time.Duration { return time.Duration(now - q.since) }
