package lldp

import (
	"cmp"
	"math"
	"slices"
)

// MaxNeighbours is how many neighbours an Agent keeps. A link has one neighbour. More mean an attack, or a bridge that
// forwards what it must not forward. Where another one comes, the one that was not heard for longest is forgotten.
const MaxNeighbours = 16

// crowdHold is for how many seconds a neighbour holds at least where there are others, whatever its time to live: the
// default of IEEE 802.1AB. A neighbour that this end knows keeps its place for that time too.
const crowdHold = 121

// provenAfter is how long after its first frame a neighbour must be heard again to become known. Neighbours with a fast
// start are after a second.
const provenAfter = second / 2

// A Neighbour is what another end has announced.
type Neighbour struct {
	PDU
	Source  [6]byte // of its last frame
	Since   int64   // when its first frame came
	Changed int64   // when its last frame with a change came
	Seen    int64   // when its last frame came
	Expires int64   // when it is forgotten
	Frames  uint64

	raw string
}

// Proven reports whether the neighbour was heard again after its first frames. Whoever sends made-up frames only once
// is not.
func (n *Neighbour) Proven() bool { return n.Seen-n.Since >= provenAfter }

// A neighbourTable holds the neighbours of a port. The known neighbour, if there is one, keeps its place in a table
// that is full.
type neighbourTable struct {
	list []*Neighbour
	hold int64 // ns for which a neighbour holds at most where there are others

	known      MSAP
	knownHeard int64 // when the known neighbour was heard, or could not be heard since there was no link
}

func (t *neighbourTable) find(who MSAP) int {
	return slices.IndexFunc(t.list, func(n *Neighbour) bool { return n.MSAP() == who })
}

// refresh prolongs a neighbour that announces the same again. It returns false where there is a change.
func (t *neighbourTable) refresh(who MSAP, source [6]byte, raw string, now int64) bool {
	i := t.find(who)
	if i < 0 || t.list[i].raw != raw {
		return false
	}
	t.list[i].Source = source
	t.heard(t.list[i], now)
	return true
}

func (t *neighbourTable) heard(n *Neighbour, now int64) {
	n.Seen = now
	n.Frames++
	if n.MSAP() == t.known {
		t.knownHeard = now
	}
	t.limit()
}

// limit sets when each neighbour is forgotten. A neighbour that is alone holds for as long as it says.
func (t *neighbourTable) limit() {
	for _, n := range t.list {
		life := int64(n.TTL) * second
		if len(t.list) > 1 {
			life = min(life, t.hold)
		}
		n.Expires = n.Seen + life
	}
}

// store keeps an announcement. isNew tells whether the neighbour is new, and forgotten is the one that had to make
// room.
func (t *neighbourTable) store(p PDU, source [6]byte, raw string, now int64) (n *Neighbour, isNew bool,
	forgotten *Neighbour) {
	if i := t.find(p.MSAP()); i >= 0 {
		n = t.list[i]
	} else {
		if len(t.list) == MaxNeighbours {
			forgotten = t.remove(t.leastHeard())
		}
		n, isNew = &Neighbour{Since: now}, true
		t.list = append(t.list, n)
	}
	n.PDU, n.Source, n.raw, n.Changed = p, source, raw, now
	t.heard(n, now)
	return n, isNew, forgotten
}

// leastHeard returns the neighbour that was not heard for longest, but not the known one.
func (t *neighbourTable) leastHeard() MSAP {
	others := slices.DeleteFunc(slices.Clone(t.list), func(n *Neighbour) bool { return n.MSAP() == t.known })
	return slices.MinFunc(others, func(a, b *Neighbour) int { return cmp.Compare(a.Seen, b.Seen) }).MSAP()
}

func (t *neighbourTable) remove(who MSAP) *Neighbour {
	i := t.find(who)
	if i < 0 {
		return nil
	}
	n := t.list[i]
	t.list = slices.Delete(t.list, i, i+1)
	t.limit()
	return n
}

// expire removes and returns the neighbours whose time is over.
func (t *neighbourTable) expire(now int64) (gone []*Neighbour) {
	t.list = slices.DeleteFunc(t.list, func(n *Neighbour) bool {
		if n.Expires > now {
			return false
		}
		gone = append(gone, n)
		return true
	})
	t.limit()
	return gone
}

func (t *neighbourTable) clear() (gone []*Neighbour) {
	gone, t.list = t.list, nil
	return gone
}

// next returns when expire has something to do.
func (t *neighbourTable) next() int64 {
	next := int64(math.MaxInt64)
	for _, n := range t.list {
		next = min(next, n.Expires)
	}
	return next
}

// follow returns the neighbour that a port with several is to follow: the known one, else the newest that was heard
// again and suits, which is known from then on. Another becomes the known one only after that one was silent for hold.
func (t *neighbourTable) follow(suits func(*Neighbour) bool, now int64) *Neighbour {
	if i := t.find(t.known); i >= 0 {
		return t.list[i]
	}
	var newest *Neighbour
	for _, n := range t.list {
		if n.Proven() && suits(n) && (newest == nil || n.Since >= newest.Since) {
			newest = n
		}
	}
	if newest != nil && (t.known == MSAP{} || now-t.knownHeard >= t.hold) {
		t.known, t.knownHeard = newest.MSAP(), now
		return newest
	}
	if len(t.list) == 1 {
		return t.list[0]
	}
	return nil
}

// An Agreement says which ends of a port's link support automatic headroom measurement. Both announce it by a reserved
// bit of the PFC TLV that DCBX sends (mask 0x20 of its flags in the IEEE version, 0x10 in the older ones).
type Agreement struct {
	Port      string  // of the switch
	Own, Peer bool    // the bit as this end sends it, and as the peer sent it last; without a peer Peer is false
	Neighbour string  // name of the peer for messages: its system name, else its chassis ID; "" where there is none
	Address   [6]byte // of the peer, the source of its last frame
}

// Agreed reports whether both ends support it. Only then measurement frames are sent and answered.
func (a Agreement) Agreed() bool { return a.Own && a.Peer }
