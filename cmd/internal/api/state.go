package api

import (
	"fmt"
)

// What a State has of events, and of each port's samples.
const (
	newestEvents  = 100
	newestSamples = 5
)

// State is the whole state of a switch at one moment, for the page. Its counters are those since the start, whatever
// the user has cleared.
type State struct {
	Header
	Version   string          `json:"version"`
	Ports     []Port          `json:"ports"`
	PFC       []PFCPort       `json:"pfc"`
	Pools     []Pool          `json:"pools"`
	Buffer    []BufferPort    `json:"buffer"`
	Queues    []QueuesPort    `json:"queues"`
	Headroom  []HeadroomPort  `json:"headroom"`
	Watchdog  []WatchdogQueue `json:"watchdog"`
	Trunks    []Trunk         `json:"trunks"`
	LLDP      []LLDPPort      `json:"lldp"`
	History   []PortHistory   `json:"history"`    // the newest 5 samples: who has the history need not ask again
	Events    []Event         `json:"events"`     // the newest 100, oldest first
	NextEvent uint64          `json:"next_event"` // sequence number of the first event that this state may not show
}

// History returns the history of the last minutes.
func (s *Server) History() *History { return s.since(s.begin, nil, 0).readHistory() }

// State returns the state of the switch at this moment.
func (s *Server) State() *State { return s.since(s.begin, nil, 0).state() }

func (m *moment) state() *State {
	next := m.source.NextEvent()
	buffer := m.readBuffer()
	return &State{Header: m.Header, Version: m.version.Version, NextEvent: next, Ports: m.readPorts().Ports,
		PFC: m.readPFC().Ports, Pools: buffer.Pools, Buffer: buffer.Ports, Queues: m.readQueues().Ports,
		Headroom: m.readHeadroom().Ports, Watchdog: m.readWatchdog().Queues, Trunks: m.readTrunk().Trunks,
		LLDP: m.readLLDP().Ports, History: m.past(newestSamples), Events: newest(m.readEvents().Events)}
}

func newest(events []Event) []Event { return events[max(0, len(events)-newestEvents):] }

// Text implements Reply.
func (s *State) Text() string {
	up := 0
	for _, p := range s.Ports {
		if p.Up {
			up++
		}
	}
	return fmt.Sprintf("%s%s: %d of %d ports up\n", s.headline(), s.Switch, up, len(s.Ports))
}
