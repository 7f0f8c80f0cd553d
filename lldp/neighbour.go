package lldp

import (
	"math"
	"slices"
)

// MaxNeighbours is how many neighbours an Agent keeps. A link has one neighbour. More mean an attack, or a bridge that
// forwards what it must not forward.
const MaxNeighbours = 16

// A Neighbour is what another end has announced.
type Neighbour struct {
	PDU
	Source  [6]byte // of its last frame
	Since   int64   // when its first frame came
	Changed int64   // when its last frame with a change came
	Seen    int64   // when its last frame came
	Expires int64   // when its time to live ends
	Frames  uint64

	raw string
}

// A neighbourTable holds the neighbours of a port. fullUntil is when the last neighbour expires for which there was no
// room, 0 where there was room for all.
type neighbourTable struct {
	list      []*Neighbour
	fullUntil int64
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
	t.list[i].refresh(now)
	return true
}

func (n *Neighbour) refresh(now int64) {
	n.Seen, n.Expires = now, now+int64(n.TTL)*second
	n.Frames++
}

// store keeps an announcement. It returns nil where there is no room, and whether the neighbour is new.
func (t *neighbourTable) store(p PDU, source [6]byte, raw string, now int64) (n *Neighbour, isNew bool) {
	if i := t.find(p.MSAP()); i >= 0 {
		n = t.list[i]
	} else {
		if len(t.list) >= MaxNeighbours {
			t.fullUntil = max(t.fullUntil, now+int64(p.TTL)*second)
			return nil, false
		}
		n, isNew = &Neighbour{Since: now}, true
		t.list = append(t.list, n)
	}
	n.PDU, n.Source, n.raw, n.Changed = p, source, raw, now
	n.refresh(now)
	return n, isNew
}

func (t *neighbourTable) remove(who MSAP) *Neighbour {
	i := t.find(who)
	if i < 0 {
		return nil
	}
	n := t.list[i]
	t.list = slices.Delete(t.list, i, i+1)
	return n
}

// expireFull clears fullUntil when all neighbours have expired for which there was no room.
func (t *neighbourTable) expireFull(now int64) {
	if t.fullUntil <= now {
		t.fullUntil = 0
	}
}

// expire removes and returns the neighbours whose time to live is over.
func (t *neighbourTable) expire(now int64) (gone []*Neighbour) {
	t.list = slices.DeleteFunc(t.list, func(n *Neighbour) bool {
		if n.Expires > now {
			return false
		}
		gone = append(gone, n)
		return true
	})
	return gone
}

func (t *neighbourTable) clear() (gone []*Neighbour) {
	gone, t.list, t.fullUntil = t.list, nil, 0
	return gone
}

// next returns when expireFull or expire has something to do.
func (t *neighbourTable) next() int64 {
	next := int64(math.MaxInt64)
	for _, n := range t.list {
		next = min(next, n.Expires)
	}
	if t.fullUntil != 0 {
		next = min(next, t.fullUntil)
	}
	return next
}

// An Agreement says which ends of a port's link support automatic headroom measurement. Both announce it by a reserved
// bit of the PFC TLV that DCBX sends (mask 0x20 of its flags in the IEEE version, 0x10 in the older ones).
type Agreement struct {
	Port      string // of the switch
	Own, Peer bool   // the bit as this end sends it, and as the peer sent it last; without a peer Peer is false
	Neighbour string // name of the peer for messages: its system name, else its chassis ID; "" where there is none
}

// Agreed reports whether both ends support it. Only then measurement frames are sent and answered.
func (a Agreement) Agreed() bool { return a.Own && a.Peer }
