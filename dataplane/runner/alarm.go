package runner

import (
	"slices"
	"sync"
	"time"

	"pfcswitch/dataplane/port"
)

// An Alarm calls a function at a time. It is for what an idle switch does: all Alarms of the process share one
// port.Timer, so that those that are due together wake the process once.
type Alarm struct {
	ring func()
	at   int64 // noDeadline where it is not set
}

// alarms are those of the process.
var alarms struct {
	sync.Mutex
	timer *port.Timer // nil where there are no Alarms
	all   []*Alarm
	next  int64 // when the timer ends
}

// NewAlarm returns an Alarm that is not set. ring must return at once.
func NewAlarm(ring func()) (*Alarm, error) {
	alarms.Lock()
	defer alarms.Unlock()
	if alarms.timer == nil {
		t, err := port.NewTimer()
		if err != nil {
			return nil, err
		}
		alarms.timer, alarms.next = t, noDeadline
		go runAlarms(t)
	}
	a := &Alarm{ring, noDeadline}
	alarms.all = append(alarms.all, a)
	return a, nil
}

// Set makes the Alarm ring at a time, and not when was set before.
func (a *Alarm) Set(at int64) {
	alarms.Lock()
	defer alarms.Unlock()
	if a.at = at; at < alarms.next {
		setAlarms(at)
	}
}

// Close ends the Alarm. It may ring once more if it does now.
func (a *Alarm) Close() error {
	alarms.Lock()
	defer alarms.Unlock()
	alarms.all = slices.DeleteFunc(alarms.all, func(other *Alarm) bool { return other == a })
	t := alarms.timer
	if len(alarms.all) > 0 || t == nil {
		return nil
	}
	alarms.timer = nil
	return t.Close()
}

// setAlarms sets the timer. alarms is locked.
func setAlarms(at int64) {
	if alarms.next = at; alarms.timer != nil && at != noDeadline {
		_ = alarms.timer.Set(time.Duration(at - Now())) // fails for no time
	}
}

// runAlarms rings until t is closed.
func runAlarms(t *port.Timer) {
	for t.Wait() == nil {
		for _, a := range dueAlarms(t, Now()) {
			a.ring()
		}
	}
}

// dueAlarms returns the Alarms of t that are due, and sets it for the others.
func dueAlarms(t *port.Timer, now int64) (due []*Alarm) {
	alarms.Lock()
	defer alarms.Unlock()
	if alarms.timer != t {
		return nil
	}
	next := int64(noDeadline)
	for _, a := range alarms.all {
		if a.at <= now {
			a.at, due = noDeadline, append(due, a)
		}
		next = min(next, a.at)
	}
	setAlarms(next)
	return due
}
