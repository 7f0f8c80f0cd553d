package bridge

import "pfcswitch/dataplane/frame"

// mostGroups is how many groups entry.port can tell apart, behind the numbers of ports.
const mostGroups = 1<<16 - MaxPorts

// groups are the port groups of static entries, each set of ports once. An entry whose port is MaxPorts or more leads
// to one of them.
type groups struct {
	all    []group
	number map[PortSet]int
	free   []int // numbers of all
}

type group struct {
	ports   PortSet
	entries int // that lead to it
}

// enter counts an entry for a set of ports and returns the set's number. It fails where there are too many sets.
func (g *groups) enter(ports *PortSet) (number int, ok bool) {
	n, known := g.number[*ports]
	if !known {
		if n = len(g.all); len(g.free) > 0 {
			n, g.free = g.free[len(g.free)-1], g.free[:len(g.free)-1]
		} else if n == mostGroups {
			return 0, false
		} else {
			g.all = append(g.all, group{})
		}
		g.set(n, *ports)
	}
	g.all[n].entries++
	return n, true
}

// leave counts an entry of a group less.
func (g *groups) leave(number int) {
	if g.all[number].entries--; g.all[number].entries == 0 {
		g.set(number, PortSet{})
		g.free = append(g.free, number)
	}
}

// set gives a group other ports. No new entry finds it by them where another group has the same.
func (g *groups) set(number int, ports PortSet) {
	at := &g.all[number].ports
	if n, known := g.number[*at]; known && n == number {
		delete(g.number, *at)
	}
	*at = ports
	if g.number == nil {
		g.number = map[PortSet]int{}
	}
	if _, taken := g.number[ports]; !taken && !ports.Empty() {
		g.number[ports] = number
	}
}

// leaveGroups takes a port out of all groups. The entries of a group that has no other go.
func (f *fdb) leaveGroups(port int) {
	for n := range f.groups.all {
		without := f.groups.all[n].ports
		if !without.Has(port) {
			continue
		}
		if without.Remove(port); without.Empty() {
			f.unbindStatic(MaxPorts + n)
		} else {
			f.groups.set(n, without)
		}
	}
}

// leads tells whether the station of an entry is behind a port.
func (f *fdb) leads(e *entry, port int) bool {
	return int(e.port) == port || int(e.port) >= MaxPorts && f.groups.all[int(e.port)-MaxPorts].ports.Has(port)
}

// Pick turns a decision for a group into one for the port that a frame of a flow takes. Of the group's ports those
// count that are up, members of the VLAN and not the one that the frame came by. As long as these are the same, a flow
// has one port. When another port goes down or comes back, only flows of that port move.
func (b *Bridge) Pick(d Decision, in int, vid uint16, flow uint64) Decision {
	to := &b.pickFrom
	*to = b.fdb.groups.all[d.Port].ports
	if to.Remove(in); to.Empty() {
		return drop(DropSamePort)
	}
	if to.intersect(b.members(vid)); to.Empty() {
		return drop(DropFiltered)
	}
	if to.intersect(&b.up); to.Empty() {
		return drop(DropPortDown)
	}
	best, heaviest := -1, uint64(0)
	for port := range to.All() {
		if weight := frame.Weight(flow^b.salt, port); best < 0 || weight > heaviest {
			best, heaviest = port, weight
		}
	}
	return Decision{Kind: Unicast, Port: best, Ports: to}
}
