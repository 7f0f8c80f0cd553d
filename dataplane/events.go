package dataplane

import (
	"cmp"
	"fmt"
	"time"

	"pfcswitch/macctl"
)

// EventKind says what an Event is about.
type EventKind string

// The kinds of events.
const (
	EventPortUp       EventKind = "port-up"
	EventPortDown     EventKind = "port-down"
	EventLosslessDrop EventKind = "lossless-drop"
	EventRingHold     EventKind = "ring-hold"
	EventIgnoresXoff  EventKind = "peer-ignores-xoff"
	EventOverspeed    EventKind = "overspeed"
	EventOversize     EventKind = "oversize"
	EventMalformed    EventKind = "malformed"
	EventLinkDrops    EventKind = "link-drops"
	EventLoop         EventKind = "loop"
	EventStations     EventKind = "stations"
	EventMoves        EventKind = "moves"
	EventSourceGuard  EventKind = "source-guard"
	EventStorm        EventKind = "storm"
	EventControlFlood EventKind = "control-flood"
	EventHeadroom     EventKind = "headroom"
	EventConfig       EventKind = "config"
	EventPort         EventKind = "port"
	// Of the deadlock watchdog: first and second notification, a deadlock that keeps coming back, the end of that
	// state, and an action that was changed meanwhile.
	EventDeadlock          EventKind = "deadlock"
	EventDeadlockRecovered EventKind = "deadlock-recovered"
	EventDeadlockRecurring EventKind = "deadlock-recurring"
	EventDeadlockReopened  EventKind = "deadlock-reopened"
	EventDeadlockAction    EventKind = "deadlock-action"
	EventCapture           EventKind = "capture"
	EventLLDP              EventKind = "lldp"
	EventDCBX              EventKind = "dcbx"
)

// An Event is something that a person should know. Priority is -1 where it concerns a whole port, AllPriorities where
// all of them are one queue. Peer is the address of the station at the other end where it matters and is known, else
// 0.
type Event struct {
	Seq      uint64    `json:"seq"`
	Time     int64     `json:"time_ns"` // switch time
	Kind     EventKind `json:"kind"`
	Port     string    `json:"port"`
	Priority int       `json:"priority"`
	Peer     uint64    `json:"peer"`
	Text     string    `json:"text"`
	// Count is how often it happened, or how many frames were lost. Equal events within eventJoin of the first are one.
	Count uint64 `json:"count"`
	// joins is what equal events share where Text has the figures of the first one, or is ""; else Text itself.
	joins string
	last  int64 // Time of the newest of the equal events
}

// AllPriorities stands for the one queue of an 802.3x PAUSE port.
const AllPriorities = Unknown + 1

const (
	maxEvents = 1024
	eventJoin = 1_000_000_000
)

// eventLog keeps the newest events. Equal ones within a second are joined, so that a flood of drops stays readable.
type eventLog struct {
	ring []Event // grows to maxEvents
	next uint64
}

func (s *Switch) event(e Event) {
	if e.joins = cmp.Or(e.joins, e.Text); !s.joined(&e) {
		s.events.add(e, s.now)
	}
}

// joined counts e with an equal event of the last second, where there is one among the newest. It reports whether there
// is.
func (s *Switch) joined(e *Event) bool {
	if e.Count = max(1, e.Count); e.Kind == EventLosslessDrop {
		s.captureTap.Lost()
	}
	l := &s.events
	for i := l.next; i > 0 && i+8 > l.next && i+maxEvents > l.next; i-- {
		last := &l.ring[(i-1)%maxEvents]
		if last.Kind == e.Kind && last.Port == e.Port && last.Priority == e.Priority && last.joins == e.joins &&
			s.now-last.Time < eventJoin {
			last.Count += e.Count
			last.last = s.now
			return true
		}
	}
	return false
}

func (l *eventLog) add(e Event, now int64) {
	e.Time, e.last, e.Seq = now, now, l.next
	if len(l.ring) < maxEvents {
		l.ring = append(l.ring, e)
	} else {
		l.ring[l.next%maxEvents] = e
	}
	l.next++
}

// peerEvent adds an event about a priority of a port and its peer: the sender of the newest MAC Control frame, or else
// of the newest lossless frame.
func (s *Switch) peerEvent(p *portState, kind EventKind, prio uint8, text string) {
	s.peerEvents(p, kind, prio, text, 1)
}

// peerEvents is peerEvent for n at once.
func (s *Switch) peerEvents(p *portState, kind EventKind, prio uint8, text string, n int) {
	e := p.newEvent(kind, prio)
	e.Text, e.Count = text, uint64(n)
	s.event(e)
}

// newEvent returns an event as peerEvent says, without a text.
func (p *portState) newEvent(kind EventKind, prio uint8) Event {
	e := Event{Kind: kind, Port: p.cfg.Name, Priority: int(prio), Peer: p.lastControlSource}
	switch {
	case prio == Unknown:
		e.Priority = -1
	case p.cfg.Mode == macctl.ModePause:
		e.Priority = AllPriorities
	}
	if e.Peer == 0 {
		e.Peer = p.lastLosslessSource
	}
	return e
}

// Note adds an event of the caller.
func (s *Switch) Note(e Event, now int64) {
	s.setTime(now)
	s.event(e)
}

// Events appends the events from sequence number since on to dst.
func (s *Switch) Events(dst []Event, since uint64) []Event {
	if s.events.next > maxEvents {
		since = max(since, s.events.next-maxEvents)
	}
	for ; since < s.events.next; since++ {
		dst = append(dst, s.events.ring[since%maxEvents])
		dst[len(dst)-1].tellFirst()
	}
	return dst
}

// tellFirst says in a text with figures that they are of the first of several frames.
func (e *Event) tellFirst() {
	if e.Count > 1 && e.joins != e.Text {
		e.Text += fmt.Sprintf(" (of the first of %d frames; the last one came %v later)", e.Count,
			time.Duration(e.last-e.Time))
	}
}

// NextEvent returns the sequence number that the next event will have.
func (s *Switch) NextEvent() uint64 { return s.events.next }
