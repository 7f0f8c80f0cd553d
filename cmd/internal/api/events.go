package api

import (
	"time"
)

// Events is the answer to show events.
type Events struct {
	Header
	Events []Event `json:"events"` // oldest first
	Next   uint64  `json:"next"`   // sequence number to ask for next
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
	r := &Events{Header: m.Header, Events: []Event{}, Next: m.since}
	for _, e := range m.source.Events(m.since) {
		v := Event{Seq: e.Seq, Time: m.source.WallOf(e.Time).UTC(), SwitchNs: e.Time, Kind: string(e.Kind), Port: present(e.Port), Text: e.Text, Count: e.Count}
		if e.Peer != 0 {
			v.Peer = present(macAddress(e.Peer))
		}
		if e.Priority >= 0 {
			p := Priority(e.Priority)
			v.Priority = &p
		}
		r.Events = append(r.Events, v)
		r.Next = e.Seq + 1
	}
	return r
}

// Text implements Reply.
func (r *Events) Text() string {
	t := newTable("TIME", "KIND", "PORT", "PRIO", "PEER", ">COUNT", "TEXT")
	for _, e := range r.Events {
		priority := none
		if e.Priority != nil {
			priority = e.Priority.String()
		}
		t.row(e.Time.Format("2006-01-02T15:04:05.000Z07:00"), e.Kind, text(e.Port), priority, text(e.Peer), count(e.Count), e.Text)
	}
	return sections(r.headline(), section{"", t})
}
