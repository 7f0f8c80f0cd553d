package api

import "fmt"

// State is what moves in a switch, in one answer: with it a stream of events begins, and "top" shows nothing else.
type State struct {
	Header
	Ports     []Port          `json:"ports"`
	PFC       []PFCPort       `json:"pfc"`
	Pools     []Pool          `json:"pools"`
	Watchdog  []WatchdogQueue `json:"watchdog"`
	NextEvent uint64          `json:"next_event"` // sequence number of the first event that this state may not show
}

func (m *moment) readState() Reply {
	return &State{Header: m.Header, Ports: m.readPorts().(*Ports).Ports, PFC: m.readPFC().(*PFC).Ports,
		Pools: m.readBuffer().(*Buffer).Pools, Watchdog: m.readWatchdog().(*Watchdog).Queues, NextEvent: m.source.NextEvent()}
}

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
