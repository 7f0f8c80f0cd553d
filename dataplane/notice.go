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
		if n.Neighbour {
			e.Text = fmt.Sprintf("frames from the LLDP neighbour of %s come here, in VLAN %d: somebody here uses its "+
				"address, or it has moved. It is held at %s for %v. Find it here; if it has moved, take the link of "+
				"%s down, or write ports.%s.secure", home, n.VID, home, n.Hold, home, home)
			break
		}
		e.Text = fmt.Sprintf("a station of VLAN %d moves between %s and %s all the time: two senders use its address. "+
			"It is held at %s for %v. Find the other one at %s, or write ports.%s.secure", n.VID, home, name, home,
			n.Hold, name, home)
	case bridge.PortStorm:
		e.Kind = EventStorm
		e.Text = fmt.Sprintf("more frames come here to be flooded than ports.%s.storm allows: the others are dropped "+
			"(storm). A host sends them to everybody or to unknown stations, or there is a loop", name)
	case bridge.SourceDropped:
		e.Kind, e.Peer = EventSourceGuard, n.MAC
		e.Text = s.sourceGuardText(n, name)
	}
	s.event(e)
}

// sourceGuardText says why a source guard drops a station's frames, and what to do.
func (s *Switch) sourceGuardText(n bridge.Notice, name string) string {
	if n.Home < 0 {
		return fmt.Sprintf("frames of a station of VLAN %d are dropped (source-guard): this port is secure, and the "+
			"station is none of its own. If it may send here, write it to fdb, or raise ports.%s.stations", n.VID, name)
	}
	home := s.portName(n.Home)
	return fmt.Sprintf("frames of a station of VLAN %d are dropped (source-guard): it belongs to %s, so somebody here "+
		"uses its address, or it has moved. Find it here; if it has moved, take the link of %s down, or change fdb",
		n.VID, home, home)
}
