package bridge

// stations is the list of the learned entries of one port, those first that are forgotten first. A link is the number
// of a slot plus one; 0 is none. A static entry is in no list.
type stations struct {
	first, last uint32
	limit       int               // most entries; 0: none of its own
	quietUntil  [numNotices]int64 // no notice of the kind before
}

// append puts the entry of slot i at the end of its port's list.
func (f *fdb) append(i int) {
	e := &f.slots[i]
	s := f.stations[e.port]
	e.older, e.newer, e.heard = s.last, 0, false
	f.relink(i)
}

// unlink takes the entry of slot i out of its port's list.
func (f *fdb) unlink(i int) {
	e := &f.slots[i]
	if !e.static {
		f.link(e, e.newer, e.older)
	}
}

// relink makes the neighbours of the entry in slot i point to the slot.
func (f *fdb) relink(i int) {
	if e := &f.slots[i]; !e.static {
		f.link(e, uint32(i)+1, uint32(i)+1)
	}
}

// link makes next the successor of what comes before e in its list, and previous the predecessor of what comes after.
func (f *fdb) link(e *entry, next, previous uint32) {
	s := &f.stations[e.port]
	if e.older == 0 {
		s.first = next
	} else {
		f.slots[e.older-1].newer = next
	}
	if e.newer == 0 {
		s.last = previous
	} else {
		f.slots[e.newer-1].older = previous
	}
}

// How many entries of a list one frame may look at.
const (
	forgetLooks = 8
	roomLooks   = 32
)

// makePortRoom tells whether one more station of a port fits under the port's limit. If the port has reached it, the
// stations that were silent for longest are forgotten.
func (f *fdb) makePortRoom(port int, now int64) bool {
	s := &f.stations[port]
	if s.limit == 0 || f.learned[port] < s.limit {
		return true
	}
	f.tell(Notice{Kind: PortFull, Port: port, Stations: s.limit}, now)
	for range roomLooks { // entries of a former generation, which do not count, may come first
		f.forget(port)
		if f.learned[port] < s.limit {
			return true
		}
	}
	return false
}

// forgetForPort makes room in a full table for a station of a port, at the cost of the port that has most stations,
// except of some. It fails if they have none.
func (f *fdb) forgetForPort(port int, except PortSet, now int64) bool {
	most, stations := port, 0
	for i, n := range f.learned {
		if (n > stations || n == stations && i == port) && !except.Has(i) {
			most, stations = i, n
		}
	}
	if stations == 0 {
		return false
	}
	f.tell(Notice{Kind: TableFull, Port: most, Stations: f.learned[most]}, now)
	f.forget(most)
	return true
}

// forget removes the entry of a port that was silent for longest, roughly: an entry heard since it got its place goes
// to the end of the list instead, up to so many in a row.
func (f *fdb) forget(port int) {
	s := &f.stations[port]
	for range forgetLooks {
		e := &f.slots[s.first-1]
		if !e.heard || e.generation != f.generation[port] {
			break
		}
		i := int(s.first) - 1
		f.unlink(i)
		f.append(i)
	}
	f.forgot++
	f.remove(int(s.first) - 1)
}
