package deadlock

import "time"

// A Kind says which transition an Event is.
type Kind uint8

// The kinds of events.
const (
	Armed     Kind = iota // a queue holds frames and is paused: it is polled from now on
	Disarmed              // the queue holds no frames or is not paused
	Detected              // first notification: a continuous deadlock
	Changed               // the action was changed while a storm lasts
	Recovered             // second notification: XOFF is obeyed and detection started again
	Recurring             // the deadlock keeps coming back: PFC is off for the queue
	Reopened              // PFC is on again, slow detection started again
)

var kindNames = [...]string{"armed", "disarmed", "detected", "changed", "recovered", "recurring", "reopened"}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// An Event is one transition of one queue.
type Event struct {
	Kind   Kind
	Port   int
	Name   string // of the port
	Queue  uint8
	At     int64
	Reason string
	Action Action
	Held   int // frames that the queue holds
	// Lasted is the time for which polls found the queue blocked (Detected), or that of the storm (Changed, Recovered,
	// Recurring).
	Lasted time.Duration
	// Sent and Dropped are the frames that the storm let out and discarded (Recovered, Recurring).
	Sent, Dropped uint64
}

// Unwatched is the reason of a transition after which a queue is not watched: detection has not started again.
const Unwatched = "it is not watched any more"

// Why transitions happen.
const (
	reasonStuck     = "it holds frames and is paused"
	reasonEmpty     = "it holds no frames"
	reasonFree      = "it is not paused"
	reasonCount     = "it held frames, sent none and was paused all the time, at each look in a row"
	reasonTime      = "it held frames, sent none and was paused for the whole detection time"
	reasonElapsed   = "the recovery time is over"
	reasonQuiet     = "the peer has not asked for a pause for the restoration time"
	reasonUnblocked = "it has not been blocked for the restoration time"
	reasonLink      = "the link went down"
	reasonAction    = "the action was changed"
	reasonSettings  = "the settings were changed"
	reasonThreshold = "more deadlocks within a slow period than the threshold allows"
	reasonPeriod    = "the next slow period has begun"
)

func (w *Watchdog) emit(q *queue, k Kind, reason string, now int64) *Event {
	w.events = append(w.events, Event{Kind: k, Port: q.port.number, Name: q.port.name, Queue: q.number, At: now,
		Reason: reason, Action: q.port.config.Action})
	return &w.events[len(w.events)-1]
}
