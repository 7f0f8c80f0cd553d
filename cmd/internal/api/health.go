package api

import "fmt"

// Health tells whether the switch is ready: every port is in service.
type Health struct {
	Header
	Status          string   `json:"status"` // ok, or waiting: for Waiting
	Ready           bool     `json:"ready"`
	PortsConfigured int      `json:"ports_configured"`
	PortsUp         int      `json:"ports_up"`
	Waiting         []Absent `json:"waiting"`
}

// Absent is a port that is not in service.
type Absent struct {
	Port   string `json:"port"`
	Reason string `json:"reason"`
}

func (m *moment) readHealth() Reply {
	h := &Health{Header: m.Header, Status: "ok", Ready: true, Waiting: []Absent{}}
	for _, p := range m.readPorts().(*Ports).Ports {
		h.PortsConfigured++
		if p.Up {
			h.PortsUp++
			continue
		}
		h.Status, h.Ready = "waiting", false
		h.Waiting = append(h.Waiting, Absent{p.Port, *p.Reason})
	}
	return h
}

// Text implements Reply.
func (h *Health) Text() string {
	t := newTable("PORT", "WAITING FOR")
	for _, p := range h.Waiting {
		t.row(p.Port, p.Reason)
	}
	return sections(fmt.Sprintf("%s%s: %d of %d ports up\n", h.headline(), h.Status, h.PortsUp, h.PortsConfigured), section{"", t})
}
