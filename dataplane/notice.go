package dataplane

import (
	"fmt"

	"pfcswitch/dataplane/bridge"
)

// noticeEvent adds the event of what the bridge noticed about the filtering database.
func (s *Switch) noticeEvent(n bridge.Notice) {
	name := s.portName(n.Port)
	e := Event{Kind: EventStations, Port: name, Priority: -1}
	switch n.Kind {
	case bridge.PortFull:
		e.Text = fmt.Sprintf("%d stations sent frames here, as many as the port learns: those that were silent for "+
			"longest are forgotten. If so many are meant to be here, raise ports.%s.stations", n.Stations, name)
	case bridge.TableFull:
		e.Text = fmt.Sprintf("the filtering database is full, and this port has most of it, %d stations: its stations "+
			"that were silent for longest are forgotten. Lower ports.%s.stations", n.Stations, name)
	case bridge.StationHeld:
		e.Kind, e.Peer = EventMoves, n.MAC
		home := s.portName(n.Home)
		e.Text = fmt.Sprintf("a station of VLAN %d moves between %s and %s all the time: two senders use its address. "+
			"It is held at %s for %v. Find the other one at %s, or write ports.%s.secure", n.VID, home, name, home,
			n.Hold, name, home)
	}
	s.event(e)
}
