package lldp

// An EventKind says what happened to a neighbour.
type EventKind uint8

// The kinds of events.
const (
	EventNew      EventKind = iota // its first frame came
	EventAged                      // its time to live is over
	EventShutdown                  // its shutdown frame came
	EventGone                      // the link went down, or this end was switched off
	EventTooMany                   // there was no room for it any more
	EventAnother                   // its first frame came, and there are others
)

var eventTexts = [...]string{"is the neighbour", "is silent and forgotten", "has stopped speaking LLDP",
	"is forgotten with the link", "is forgotten: there are too many neighbours, although LLDP crosses no bridge",
	"is one more neighbour on this link, which should have only one: a device between passes LLDP on, " +
		"or a host makes it up"}

// String returns the end of a sentence that begins with the neighbour.
func (k EventKind) String() string {
	if int(k) >= len(eventTexts) {
		return "?"
	}
	return eventTexts[k]
}

// An Event is something that a person should know.
type Event struct {
	Kind   EventKind
	Name   string // of the neighbour
	Port   string // of the neighbour, where the link ends
	Source [6]byte
}

// Events are limited, so that a peer with invented neighbours cannot hide all others.
const (
	eventBurst  = 8
	eventPeriod = 5 * second // until one more may follow
)

// An EventLimiter limits events that a peer can cause: 8 at once, and one more every 5 s.
type EventLimiter struct {
	spent  int // of eventBurst
	refill int64
}

// Allow reports whether there may be an event at time now, in ns, and counts that event.
func (l *EventLimiter) Allow(now int64) bool {
	if back := int((now - l.refill) / eventPeriod); l.spent == 0 || back >= l.spent {
		l.spent, l.refill = 0, now
	} else {
		l.spent -= back
		l.refill += int64(back) * eventPeriod
	}
	if l.spent >= eventBurst {
		return false
	}
	l.spent++
	return true
}

type eventLog struct {
	list []Event
	EventLimiter
}

func (l *eventLog) add(k EventKind, n *Neighbour, now int64) {
	if !l.Allow(now) {
		return
	}
	l.list = append(l.list, Event{Kind: k, Name: n.Name(), Port: n.PortText(), Source: n.Source})
	if len(l.list) > eventBurst {
		l.list = l.list[1:]
	}
}

// Events returns what has happened since the last call. A storm of events is cut short.
func (a *Agent) Events() []Event {
	events := a.log.list
	a.log.list = nil
	return events
}
