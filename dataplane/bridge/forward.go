package bridge

import "pfcswitch/dataplane/frame"

const (
	// 802.1Q table 8-1: 01-80-C2-00-00-00 to -0F; and the All LANs Bridge Management Group Address.
	reservedBlock    = 0x0180_C200_0000 >> 4
	bridgeManagement = 0x0180_C200_0010
)

// Reserved tells whether a bridge never forwards frames to mac.
func Reserved(mac uint64) bool { return mac>>4 == reservedBlock || mac == bridgeManagement }

// Forward decides where a frame goes that port in received, and learns its source address. vid is the result of
// Ingress. octets is the frame's length without FCS. now is in nanoseconds. Addresses have no bits above the 48th.
//
// Nothing is learned from a frame to a reserved address: its sender is the neighbour's port, not a station. Nothing is
// learned either from a frame that loop detection stops. That frame left by another port before, so learning from it
// would move its sender to the wrong side.
func (b *Bridge) Forward(in int, dst, src uint64, vid uint16, octets int, now int64) Decision {
	b.until = 0
	if d, done := b.refuse(in, dst, src, vid, now); done {
		if d.Reason == DropSourceGuard {
			b.noticeSource(in, src, vid, now)
		}
		return d
	}
	known := b.learn(in, src, vid, now)
	d := b.deliver(in, dst, vid, octets, now)
	if !known || d.Kind != Unicast {
		b.until = 0
	}
	return d
}

// Until returns until when, in ns, each frame with the port, the addresses and the VLAN of the last call of Forward
// goes the same way, as long as Changes is the same and nobody changes the bridge. It is 0 unless that was from a known
// station to another one, and where the destination is behind a group: frames of two flows have the same addresses.
func (b *Bridge) Until() int64 { return b.until }

// Retry decides again about a frame that Forward has learned from, and that had to wait.
func (b *Bridge) Retry(in int, dst, src uint64, vid uint16, octets int, now int64) Decision {
	if d, done := b.refuse(in, dst, src, vid, now); done {
		return d
	}
	return b.deliver(in, dst, vid, octets, now)
}

// deliver chooses where a frame goes, and charges the storm limit.
func (b *Bridge) deliver(in int, dst uint64, vid uint16, octets int, now int64) Decision {
	d := b.choose(in, dst, vid, now)
	if d.Kind == Flood && !b.ports[in].storm.charge(octets, now) {
		b.fdb.tell(Notice{Kind: PortStorm, Port: in}, now)
		return drop(DropStorm)
	}
	if d.Kind == Flood && dst != ProbeAddress { // else the probes of two switches would never become rare
		b.countFlood()
	}
	return d
}

// refuse makes the decisions before a frame's sender is learned. done is false if the frame goes on.
func (b *Bridge) refuse(in int, dst, src uint64, vid uint16, now int64) (d Decision, done bool) {
	if d, done := b.precheck(in, dst, vid, now); done {
		return d, true
	}
	if b.refuses(in, src, vid, now) {
		return drop(DropSourceGuard), true
	}
	if b.strayProbe(in, dst, src, vid, now) {
		return drop(DropFiltered), true
	}
	return d, false
}

// precheck makes the decisions that need no destination entry. done is false if the frame goes on.
func (b *Bridge) precheck(in int, dst uint64, vid uint16, now int64) (d Decision, done bool) {
	if uint(in) >= MaxPorts || !b.up.Has(in) {
		return drop(DropPortDown), true
	}
	if b.ports[in].wired {
		return b.crossConnect(b.ports[in].wire), true
	}
	if !b.member(in, vid) || Reserved(dst) {
		return drop(DropFiltered), true
	}
	if b.shut.Has(in) {
		if _, known := b.fdb.lookup(fdbKey(dst, vid), now); !known {
			return drop(DropFiltered), true
		}
	}
	return d, false
}

// choose looks up the destination station, and floods if it is unknown.
func (b *Bridge) choose(in int, dst uint64, vid uint16, now int64) Decision {
	if !frame.IsGroup(dst) { // the database holds no group address
		if i, found := b.fdb.find(fdbKey(dst, vid)); found && !b.fdb.dead(&b.fdb.slots[i], now) {
			e := &b.fdb.slots[i]
			if int(e.port) >= MaxPorts {
				return Decision{Kind: Grouped, Port: int(e.port) - MaxPorts}
			}
			b.until = b.fdb.until(e, now)
			return b.unicast(in, int(e.port), vid)
		}
	}
	return b.flood(in, dst, vid)
}

// learn is the Learning Process (802.1Q 8.7). It ignores group addresses, and the zero address, which broken senders
// use. It reports whether the database knew already that the station is behind port in.
func (b *Bridge) learn(in int, src uint64, vid uint16, now int64) (known bool) {
	return b.learnable(in, src) && b.fdb.learn(fdbKey(src, vid), in, now)
}

// See notes that a frame came from a station at time at, of which Forward has not heard. It only makes an entry that
// exists younger.
func (b *Bridge) See(in int, src uint64, vid uint16, at int64) {
	if i, found := b.fdb.find(fdbKey(src, vid)); found {
		if e := &b.fdb.slots[i]; int(e.port) == in && !b.fdb.dead(e, at) {
			e.seen, e.heard = max(e.seen, at), true
		}
	}
}

// strayProbe tells whether a frame is a loop probe of another switch that is behind another port: somebody behind port
// in has sent it back. It must not move that switch, else a second copy would pass. A loop there is found by this
// switch's own probes.
func (b *Bridge) strayProbe(in int, dst, src uint64, vid uint16, now int64) bool {
	if dst != ProbeAddress || !b.ports[in].loop {
		return false
	}
	i, known := b.fdb.find(fdbKey(src, vid))
	return known && !b.fdb.dead(&b.fdb.slots[i], now) && !b.fdb.leads(&b.fdb.slots[i], in)
}

func (b *Bridge) learnable(in int, src uint64) bool {
	return b.learning.Has(in) && !frame.IsGroup(src) && src != 0
}

// crossConnect decides for a frame from the other end of a wire, which carries every address.
func (b *Bridge) crossConnect(out int) Decision {
	if !b.up.Has(out) {
		return drop(DropPortDown)
	}
	return Decision{Kind: Unicast, Port: out}
}

func (b *Bridge) unicast(in, out int, vid uint16) Decision {
	switch {
	case out == in:
		return drop(DropSamePort)
	case !b.members(vid).Has(out):
		return drop(DropFiltered)
	case !b.up.Has(out):
		return drop(DropPortDown)
	}
	return Decision{Kind: Unicast, Port: out}
}

func (b *Bridge) flood(in int, dst uint64, vid uint16) Decision {
	to := &b.floodTo
	*to = *b.members(vid)
	to.Remove(in)
	to.intersect(&b.flooding)
	if to.Empty() {
		return drop(DropFiltered)
	}
	to.intersect(&b.up)
	if to.Empty() {
		return drop(DropPortDown)
	}
	return Decision{Kind: Flood, Cause: cause(dst), Port: -1, Ports: to}
}

func cause(dst uint64) Cause {
	switch {
	case dst == frame.Broadcast:
		return Broadcast
	case frame.IsGroup(dst):
		return Multicast
	default:
		return UnknownUnicast
	}
}

// Trace returns what Forward would decide now. It learns nothing and charges nothing.
func (b *Bridge) Trace(in int, dst, src uint64, vid uint16, now int64) Decision {
	if d, done := b.refuse(in, dst, src, vid, now); done {
		return d
	}
	if dst == src && b.learns(in, src, vid, now) {
		return drop(DropSamePort)
	}
	d := b.choose(in, dst, vid, now)
	if d.Kind == Flood && !b.ports[in].storm.allows(now) {
		return drop(DropStorm)
	}
	return d
}

// learns tells whether a frame from src would enter src, behind port in, into the filtering database.
func (b *Bridge) learns(in int, src uint64, vid uint16, now int64) bool {
	i, found := b.fdb.find(fdbKey(src, vid))
	if found {
		e := b.fdb.slots[i]
		if e.static {
			return false
		}
		at := in
		if !b.fdb.dead(&e, now) && int(e.port) != in {
			at, _ = e.moves.move(int(e.port), in, b.fdb.limit(&e, in), now)
		}
		return b.learnable(in, src) && at == in
	}
	room := b.fdb.used < b.fdb.max || b.fdb.used > b.fdb.static
	return b.learnable(in, src) && room
}

// An Entered is what the filtering database knows of a station.
type Entered struct {
	Known  bool
	Port   int     // where Group is empty, else -1
	Group  PortSet // of a static entry that leads to a group of ports
	Static bool
	AgeNs  int64 // since the station's last frame; 0 for a static entry
}

// Lookup returns what the filtering database knows of a station now.
func (b *Bridge) Lookup(mac uint64, vid uint16, now int64) Entered {
	i, found := b.fdb.find(fdbKey(mac, vid))
	if !found || b.fdb.dead(&b.fdb.slots[i], now) {
		return Entered{}
	}
	e := b.fdb.export(&b.fdb.slots[i], now)
	return Entered{Known: true, Port: e.Port, Group: e.Group, Static: e.Static, AgeNs: int64(e.Age)}
}
