package api

import (
	"fmt"
	"time"
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
	Count    uint64    `json:"count"` // equal events within a second are one
}

func (m *moment) readEvents() Reply {
	r := &Events{Header: m.Header, Events: []Event{}, Next: m.since, CutOff: m.cutOff}
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
		t.row(e.Time.Format("2006-01-02T15:04:05.000Z07:00"), e.Kind, optionalText(e.Port), optional(e.Priority, Priority.String), optionalText(e.Peer), count(e.Count), e.Text)
	}
	headline := r.headline()
	if r.CutOff > 0 {
		headline += fmt.Sprintf("%s readers of the events were too slow and cut off\n", count(r.CutOff))
	}
	return sections(headline, section{"", t})
}
