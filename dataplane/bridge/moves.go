package bridge

import "time"

// A station that moves more often than moveLimit times within moveWindow is held where it was before, since two senders
// use its address. The hold lasts a second, and twice as long each time, up to 64 seconds. Then it may move as often
// again. A window without a hold ends the series.
const (
	moveLimit  = 5
	moveWindow = 60 // seconds, as are all times in moves
	maxDouble  = 6
)

// moves is what an entry knows of the moves of its station.
type moves struct {
	since  uint32 // when the window began; while a hold lasts, when it ends
	home   uint16 // the port before the window's first move
	count  uint8  // in the window
	double uint8  // how often the next hold is doubled
}

// settled tells whether the station has not moved since the table learned it, or since a hold that kept it here.
func (m *moves) settled(port int) bool { return m.count == 0 && int(m.home) == port }

func seconds(now int64) uint32 { return uint32(now / int64(time.Second)) }

// newMoves is that of a station that turns up on a port.
func newMoves(port int, now int64) moves { return moves{since: seconds(now), home: uint16(port)} }

// move counts a move of a live station from one port to another, and returns the port where the station is then. hold
// is how long it is held there, in seconds, from now on; 0 if no hold begins.
func (m *moves) move(from, to int, limit uint8, now int64) (at int, hold uint32) {
	s := seconds(now)
	switch {
	case s < m.since:
		return from, 0
	case s-m.since >= moveWindow:
		*m = newMoves(from, now)
	}
	if m.count++; m.count <= limit {
		return to, 0
	}
	hold = 1 << m.double
	m.since, m.count, m.double = s+hold, 0, min(m.double+1, maxDouble)
	return int(m.home), hold
}

// limit is how often the station of a live entry may move to a port within the window. The LLDP neighbour of its port
// does not move at all. LLDP proves nothing, and so it decides only how soon a hold begins, not where: a station that
// has moved, as one has whose address another host announces, moves as others do. So does the neighbour of both ports.
func (f *fdb) limit(e *entry, port int) uint8 {
	mac, from := e.key>>12, int(e.port)
	if mac == f.neighbours[from] && mac != f.neighbours[port] && e.moves.settled(from) {
		return 0
	}
	return f.moveLimit
}

// SetNeighbour sets the address of the LLDP neighbour of port i; 0: there is none. SetNeighbour ignores unknown ports.
func (b *Bridge) SetNeighbour(i int, mac uint64) {
	if uint(i) < MaxPorts && b.ports[i].present {
		b.fdb.neighbours[i] = mac
	}
}

// moveLive moves a live entry to a port, or where its moves let it be.
func (f *fdb) moveLive(e *entry, port int, now int64) {
	key, from := e.key, int(e.port)
	limit := f.limit(e, port)
	at, hold := e.moves.move(from, port, limit, now)
	if hold > 0 {
		if !f.up.Has(at) { // nobody is there any more
			at = port
		}
		f.holds++
		f.tell(Notice{Kind: StationHeld, Port: other(at, from, port), Home: at, MAC: key >> 12,
			VID: uint16(key & 0xFFF), Hold: time.Duration(hold) * time.Second, Neighbour: limit == 0}, now)
	}
	if at == from {
		f.refused++
		return
	}
	f.moves++
	f.move(key, at, now)
}

// other returns which of two ports is not home.
func other(home, a, b int) int {
	if a == home {
		return b
	}
	return a
}
