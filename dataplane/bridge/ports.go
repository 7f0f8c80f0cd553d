package bridge

import "fmt"

// PortConfig is what the bridge needs to know of a port.
type PortConfig struct {
	PVID     uint16  // VLAN of untagged frames, both ways: 1 to 4094
	Tagged   VLANSet // VLANs whose frames pass with their tag; a PVID among them leaves untagged all the same
	Admit    Admit   // types of frames that are accepted
	Learning bool    // learn source addresses
	Secure   Secure  // which stations may send
	Stations int     // most that are learned; 0: as many as there is room for
	Flood    bool    // let flooded frames leave by this port
	Storm    int64   // most that frames received here may flood, in bit/s of wire octets (frame + 24); 0: no limit
	Loop     bool    // send loop probes, and shut the port's flooding when one comes back

	// Wired joins the port to port Wire alone, in both directions and for every VLAN. Neither port is part of the
	// bridge then. Both ends must be set so.
	Wired bool
	Wire  int
}

// port is one row of the port table.
type port struct {
	present bool
	flood   bool
	loop    bool
	wired   bool
	pvid    uint16
	secure  Secure
	admit   Admit
	wire    int
	storm   storm
	guard   loopGuard
	backoff backoff
}

// SetPort adds a port, which is down until SetUp, or changes a port. A changed port keeps its link state and what it
// learned, but a port that leaves a VLAN is flushed. On an error nothing has changed. The event tells whether flooding
// came back because loop detection was switched off.
func (b *Bridge) SetPort(i int, c PortConfig) (LoopEvent, error) {
	if err := b.check(i, &c); err != nil {
		return LoopEvent{}, err
	}
	p := &b.ports[i]
	if p.storm.rate != c.Storm || !p.present {
		p.storm = newStorm(c.Storm)
	}
	p.present, p.flood, p.loop, p.wired, p.wire, p.admit = true, c.Flood, c.Loop, c.Wired, c.Wire, c.Admit
	if b.join(i, &c) {
		b.fdb.flush(i)
	}
	b.learning.set(i, c.Learning)
	p.secure = c.Secure
	b.secure.set(i, c.Secure != SecureOff)
	b.fdb.sticky.set(i, c.Secure == SecureSticky)
	b.fdb.stations[i].limit = c.Stations
	return b.updateGuard(i, DetectionOff), nil
}

func (b *Bridge) check(i int, c *PortConfig) error {
	switch {
	case uint(i) >= MaxPorts:
		return fmt.Errorf("bridge: port index %d (use 0 to %d)", i, MaxPorts-1)
	case c.PVID < minVID || c.PVID > maxVID:
		return fmt.Errorf("bridge: port %d: PVID %d does not exist (use %d to %d)", i, c.PVID, minVID, maxVID)
	case c.Wired && (uint(c.Wire) >= MaxPorts || c.Wire == i):
		return fmt.Errorf("bridge: port %d: wired to port %d (use another, 0 to %d)", i, c.Wire, MaxPorts-1)
	case c.Secure == SecureSticky && !c.Learning:
		return fmt.Errorf("bridge: port %d: sticky stations without learning (switch learning on, or write static)", i)
	case c.Stations < 0:
		return fmt.Errorf("bridge: port %d: %d stations (use 1 or more, or 0 for no limit)", i, c.Stations)
	case c.Storm < 0 || c.Storm > MaxStorm:
		return fmt.Errorf("bridge: port %d: storm limit of %d bit/s (use 1 to %d, or 0 for none)", i, c.Storm,
			int64(MaxStorm))
	case c.Loop && b.identity == Identity{}:
		return fmt.Errorf("bridge: port %d: loop detection without an identity (draw one at random for "+
			"Config.Identity)", i)
	}
	return nil
}

// join makes port i a member of exactly the VLANs in c, or of none if it is wired. It tells whether the port left a
// VLAN.
func (b *Bridge) join(i int, c *PortConfig) (left bool) {
	b.ports[i].pvid = c.PVID
	for vid := uint16(minVID); vid <= maxVID; vid++ {
		in := !c.Wired && (vid == c.PVID || c.Tagged.Has(vid))
		left = left || !in && b.members(vid).Has(i)
		if in && b.vlans[vid] == 0 {
			b.vlans[vid] = uint16(len(b.sets))
			b.sets = append(b.sets, PortSet{})
		}
		b.members(vid).set(i, in)
	}
	return left
}

// RemovePort forgets a port and all its entries, static ones too, but those that lead to other ports as well. Another
// port may get the index.
func (b *Bridge) RemovePort(i int) {
	if uint(i) >= MaxPorts {
		return
	}
	b.fdb.flush(i)
	b.fdb.unbindStatic(i)
	b.fdb.leaveGroups(i)
	for n := range b.sets {
		b.sets[n].Remove(i)
	}
	for _, s := range []*PortSet{&b.up, &b.learning, &b.flooding, &b.shut, &b.secure, &b.fdb.sticky} {
		s.Remove(i)
	}
	b.ports[i] = port{}
	b.fdb.stations[i].limit, b.fdb.stations[i].quietUntil = 0, [numNotices]int64{}
	b.fdb.neighbours[i] = 0
}

// SetUp tells the bridge the state of a port's link. A port that goes down forgets what it learned, and a loop found
// on it is over. SetUp ignores unknown ports.
func (b *Bridge) SetUp(i int, up bool) LoopEvent {
	if uint(i) >= MaxPorts || !b.ports[i].present {
		return LoopEvent{}
	}
	if !up && b.up.Has(i) {
		b.fdb.flush(i)
	}
	b.up.set(i, up)
	return b.updateGuard(i, LinkDown)
}
