package daemon

import (
	"fmt"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
)

// reportedKinds are the watchdog events that a person should know, with their names. A queue that was stuck for a
// moment is not reported.
var reportedKinds = map[deadlock.Kind]dataplane.EventKind{
	deadlock.Detected:  dataplane.EventDeadlock,
	deadlock.Changed:   dataplane.EventDeadlockAction,
	deadlock.Recovered: dataplane.EventDeadlockRecovered,
	deadlock.Recurring: dataplane.EventDeadlockRecurring,
	deadlock.Reopened:  dataplane.EventDeadlockReopened,
}

// addWatchdogEvent adds a watchdog event to the switch's events.
func addWatchdogEvent(sw *dataplane.Switch, e *deadlock.Event) {
	if kind, ok := reportedKinds[e.Kind]; ok {
		sw.NoteWatch(e.Port, e.Name, e.Queue, kind, describe(e), e.At)
	}
}

// logEvent logs an event.
func (g *watchdog) logEvent(e *deadlock.Event) {
	kind, ok := reportedKinds[e.Kind]
	if !ok {
		return
	}
	log := g.log.Info
	if e.Kind == deadlock.Detected || e.Kind == deadlock.Recurring {
		log = g.log.Warn
	}
	log(describe(e), "port", e.Name, "priority", queueName(e.Queue), "kind", string(kind))
}

// queueName names a queue as metrics and tables do.
func queueName(q uint8) string {
	if q == deadlock.All {
		return "all"
	}
	return fmt.Sprint(q)
}

// consequences describe each action.
var consequences = map[deadlock.Action]string{
	deadlock.Alert:   "alert: the peer is still obeyed",
	deadlock.Forward: "forward: its XOFF is ignored",
	deadlock.Drop:    "drop: its XOFF is ignored and the queue is emptied",
}

// describe says what happened, and why.
func describe(e *deadlock.Event) string {
	switch e.Kind {
	case deadlock.Detected:
		return fmt.Sprintf("continuous deadlock: the queue holds %d frames, sent none and was paused for %v; action %s", e.Held,
			e.Lasted.Round(100*time.Microsecond), consequences[e.Action])
	case deadlock.Changed:
		return fmt.Sprintf("%s in a deadlock that lasts; action %s", e.Reason, consequences[e.Action])
	case deadlock.Recovered:
		if e.Action == deadlock.Alert && e.Held > 0 && e.Sent == 0 {
			return fmt.Sprintf("still blocked after %v: XOFF was obeyed throughout, no frame was sent and %d wait; detection started again, since %s",
				e.Lasted.Round(100*time.Microsecond), e.Held, e.Reason)
		}
		what := "detection started again"
		if e.Reason == deadlock.Unwatched {
			what = "XOFF is obeyed again"
		}
		return fmt.Sprintf("%s after %v, since %s; meanwhile %d frames were sent and %d dropped, %d wait",
			what, e.Lasted.Round(100*time.Microsecond), e.Reason, e.Sent, e.Dropped, e.Held)
	case deadlock.Recurring:
		return fmt.Sprintf("the deadlock keeps coming back (%s): XOFF for the queue is ignored for a slow period", e.Reason)
	}
	return fmt.Sprintf("XOFF for the queue is obeyed again, since %s", e.Reason)
}
