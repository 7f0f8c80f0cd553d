package bridge

import "pfcswitch/dataplane/frame"

// Secure is which stations may send by a port. No other port may send for the stations of a secure port.
type Secure uint8

// The kinds of source guard.
const (
	SecureOff    Secure = iota
	SecureSticky        // those that came first, up to the port's limit, as long as the link is up
	SecureStatic        // those with a static entry
)

// refuses tells whether the source guard drops a frame from src that port in received: the station belongs to a secure
// port, or the port is secure itself and the station has no place there.
func (b *Bridge) refuses(in int, src uint64, vid uint16, now int64) bool {
	if b.secure.Empty() {
		return false
	}
	i, known := b.fdb.find(fdbKey(src, vid))
	from := &b.fdb.slots[i]
	known = known && !b.fdb.dead(from, now)
	here := known && b.fdb.leads(from, in)
	if known && !here && b.leadsToSecure(from) {
		return true
	}
	switch b.ports[in].secure {
	case SecureStatic:
		return !here || !from.static
	case SecureSticky:
		s := &b.fdb.stations[in]
		return !here && (frame.IsGroup(src) || src == 0 || s.limit > 0 && b.fdb.learned[in] >= s.limit)
	}
	return false
}

// leadsToSecure tells whether the station of an entry is behind a secure port.
func (b *Bridge) leadsToSecure(e *entry) bool {
	if int(e.port) < MaxPorts {
		return b.secure.Has(int(e.port))
	}
	secure := b.fdb.groups.all[int(e.port)-MaxPorts].ports
	secure.intersect(&b.secure)
	return !secure.Empty()
}

// noticeSource leaves a notice of a frame that the source guard drops.
func (b *Bridge) noticeSource(in int, src uint64, vid uint16, now int64) {
	n := Notice{Kind: SourceDropped, Port: in, Home: -1, MAC: src, VID: vid}
	if at := b.Lookup(src, vid, now); at.Known && at.Port != in {
		if n.Home = at.Port; !at.Group.Empty() {
			n.Home = b.homeOf(at.Group)
		}
	}
	b.fdb.tell(n, now)
}

// homeOf returns the port of a group that a notice names: the first secure one, since that keeps the station from
// others, or else the first.
func (b *Bridge) homeOf(group PortSet) int {
	secure := group
	if secure.intersect(&b.secure); !secure.Empty() {
		group = secure
	}
	for port := range group.All() {
		return port
	}
	return -1
}
