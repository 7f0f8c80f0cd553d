package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"pfcswitch/dataplane"
)

// Events is the answer to show events.
type Events struct {
	Header
	Events []Event `json:"events"`               // oldest first
	Next   uint64  `json:"next"`                 // sequence number to ask for next
	CutOff uint64  `json:"slow_readers_cut_off"` // of those who followed the events, since the start
}

// Event is something that a person should know.
type Event struct {
	Seq      uint64    `json:"seq"`
	Time     time.Time `json:"time"`
	SwitchNs int64     `json:"switch_time_ns"` // of the switch's monotonic clock
	Kind     string    `json:"kind"`
	Port     *string   `json:"port"`     // null: the whole switch
	Priority *Priority `json:"priority"` // null: the whole port
	Peer     *string   `json:"peer"`     // address of the station at the other end; null: none, or unknown
	Text     string    `json:"text"`
	Count    uint64    `json:"count"` // how often, or how many frames were lost; equal events within a second are one
}

func (m *moment) readEvents() *Events {
	r := &Events{Header: m.Header, Next: m.since, CutOff: m.cutOff}
	for _, e := range m.source.Events(m.since) {
		r.Events = append(r.Events, eventOf(m.source, &e))
		r.Next = e.Seq + 1
	}
	return r
}

// Text implements Reply.
func (r *Events) Text() string {
	t := newTable("TIME", "KIND", "PORT", "PRIO", "PEER", ">COUNT", "TEXT")
	for _, e := range r.Events {
		t.row(e.Time.Format("2006-01-02T15:04:05.000Z07:00"), e.Kind, e.Port, optional(e.Priority, Priority.String),
			e.Peer, e.Count, e.Text)
	}
	headline := r.headline()
	if r.CutOff > 0 {
		headline += fmt.Sprintf("%s readers of the events were too slow and cut off\n", count(r.CutOff))
	}
	return sections(headline, section{"", t})
}

// A Line is a line of the event stream. The first line has the state; event lines follow. Equal events within a second
// are one event: when its count grows, the event comes again with the same sequence number. A gap in the sequence
// numbers means that the switch had forgotten those events. If the switch ends the stream, the last line says why.
type Line struct {
	Schema int     `json:"schema"`
	Type   string  `json:"type"`   // state, event or end
	State  *State  `json:"state"`  // null in other lines
	Event  *Event  `json:"event"`  // likewise
	Reason *string `json:"reason"` // of the end
}

// The types of a Line.
const (
	LineState = "state"
	LineEvent = "event"
	LineEnd   = "end"
)

const (
	maxFollowers = 64
	// A reader that leaves more events unread than followBacklog, beside what the kernel holds for it, is cut off. It
	// then has followGrace for the remaining lines and the reason.
	followBacklog = 1024
	followGrace   = 5 * time.Second
	followEvery   = 100 * time.Millisecond
	// The switch merges an event with an equal one among the newest mergeWindow events.
	mergeWindow = 8
)

// follow answers with the state and then with each event, until the reader closes the connection or is too slow.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) (any, error) {
	since, err := sequence(r, s.source.NextEvent())
	if err != nil {
		return nil, err
	}
	defer s.followers.Add(-1)
	if s.followers.Add(1) > maxFollowers {
		return nil, withStatus(http.StatusServiceUnavailable,
			fmt.Errorf("%d readers follow the events already: end one of them", maxFollowers))
	}
	f := follower{server: s, events: make(chan *Event, followBacklog), next: min(since, s.source.NextEvent())}
	f.remember() // before the state: what an older event grows by after it is sent
	state := s.State()
	state.Events = nil // they are lines of their own
	clearDeadlines(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	c := http.NewResponseController(w)
	f.slow = func() { _ = c.SetWriteDeadline(time.Now().Add(followGrace)) }
	go f.runPoll(r.Context().Done())
	if f.write(w, c, Line{Type: LineState, State: state}) != nil {
		return nil, nil // the reader is gone
	}
	for e := range f.events {
		if f.write(w, c, Line{Type: LineEvent, Event: e}) != nil {
			return nil, nil
		}
	}
	if f.cut {
		reason := fmt.Sprintf("this reader was too slow: %d events waited for it; read faster, or begin again",
			followBacklog)
		_ = f.write(w, c, Line{Type: LineEnd, Reason: &reason}) // a reader that does not read misses the reason
	}
	return nil, nil
}

// CutOff returns how many readers of events were too slow, and cut off, since the start.
func (s *Server) CutOff() uint64 { return uint64(s.cutOff.Load()) }

// A follower is a stream of events. runPoll fills events and closes it at the end; cut may be read after that.
type follower struct {
	server *Server
	events chan *Event
	next   uint64              // first event that was not sent yet
	counts [mergeWindow]uint64 // of the newest events that were sent, or are older, by sequence number
	slow   func()              // is called once the reader is too slow
	cut    bool
}

var errTooSlow = errors.New("too slow")

// runPoll polls for events until done.
func (f *follower) runPoll(done <-chan struct{}) {
	defer close(f.events)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if f.poll() != nil {
			f.cut = true
			f.server.cutOff.Add(1)
			f.slow()
			return
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// remember notes the counts of the events before the stream, which may still grow.
func (f *follower) remember() {
	for _, e := range f.server.source.Events(f.next - min(f.next, mergeWindow)) {
		if e.Seq < f.next {
			f.counts[e.Seq%mergeWindow] = e.Count
		}
	}
}

// poll hands new events to the reader. It never waits for the reader.
func (f *follower) poll() error {
	first := f.next
	for _, e := range f.server.source.Events(first - min(first, mergeWindow)) {
		known := &f.counts[e.Seq%mergeWindow]
		if e.Seq < first && e.Count <= *known {
			continue // it has not changed
		}
		v := eventOf(f.server.source, &e)
		select {
		case f.events <- &v:
		default:
			return errTooSlow
		}
		*known = e.Count
		f.next = max(f.next, e.Seq+1)
	}
	return nil
}

func (f *follower) write(w http.ResponseWriter, c *http.ResponseController, line Line) error {
	line.Schema = Schema
	if err := WriteJSONLine(w, &line); err != nil {
		return err
	}
	if len(f.events) > 0 {
		return nil // more comes at once
	}
	return c.Flush()
}

func eventOf(s Source, e *dataplane.Event) Event {
	v := Event{Seq: e.Seq, Time: s.WallOf(e.Time).UTC(), SwitchNs: e.Time, Kind: string(e.Kind), Port: nonZero(e.Port),
		Text: e.Text, Count: e.Count}
	if e.Peer != 0 {
		v.Peer = nonZero(macAddress(e.Peer))
	}
	if e.Priority >= 0 {
		p := Priority(e.Priority)
		v.Priority = &p
	}
	return v
}
