package bridge

const (
	broadcast = 0xFFFF_FFFF_FFFF
	groupBit  = 1 << 40 // I/G bit: the lowest bit of the first octet

	// 802.1Q table 8-1: 01-80-C2-00-00-00 to -0F; and the All LANs Bridge Management Group Address.
	reservedBlock    = 0x0180_C200_0000 >> 4
	bridgeManagement = 0x0180_C200_0010
)

func group(mac uint64) bool { return mac&groupBit != 0 }

// Reserved tells whether a bridge never forwards frames to mac.
func Reserved(mac uint64) bool { return mac>>4 == reservedBlock || mac == bridgeManagement }

// Forward decides where a frame goes that port in received, and learns its source address. vid is what Ingress
// returned; octets is the frame's length without FCS; now is in nanoseconds. Addresses have no bits above the 48th.
//
// Nothing is learned from a frame to a reserved address: its sender is the neighbour's port, not a station to be
// reached. Nor from a frame that loop detection stops: it left by another port before, and learning from it would
// move its sender to the wrong side.
func (b *Bridge) Forward(in int, dst, src uint64, vid uint16, octets int, now int64) Decision {
	if d, done := b.enter(in, dst, vid, now); done {
		return d
	}
	b.learn(in, src, vid, now)
	d := b.choose(in, dst, vid, now)
	if d.Kind == Flood && !b.ports[in].storm.take(octets, now) {
		return drop(DropStorm)
	}
	return d
}

// enter decides what needs no look at the stations: done is false for a frame that the bridge goes on with.
func (b *Bridge) enter(in int, dst uint64, vid uint16, now int64) (d Decision, done bool) {
	if uint(in) >= MaxPorts || !b.up.Has(in) {
		return drop(DropPortDown), true
	}
	if b.ports[in].wired {
		return b.across(b.ports[in].wire), true
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

// choose looks for the station, and floods where it is not known.
func (b *Bridge) choose(in int, dst uint64, vid uint16, now int64) Decision {
	if !group(dst) { // no group address is ever in the database
		if out, known := b.fdb.lookup(fdbKey(dst, vid), now); known {
			return b.unicast(in, out, vid)
		}
	}
	return b.flood(in, dst, vid)
}

// learn is the Learning Process (802.1Q 8.7). A group address is no station; neither is the zero address, which
// broken senders use.
func (b *Bridge) learn(in int, src uint64, vid uint16, now int64) {
	if b.learning.Has(in) && !group(src) && src != 0 {
		b.fdb.learn(fdbKey(src, vid), in, now)
	}
}

// across decides for a frame from the other end of a wire, which carries every address.
func (b *Bridge) across(out int) Decision {
	if !b.up.Has(out) {
		return drop(DropPortDown)
	}
	return Decision{Kind: Unicast, Port: out}
}

func (b *Bridge) unicast(in, out int, vid uint16) Decision {
	switch {
	case out == in:
		return drop(DropSamePort)
	case !b.members[vid].Has(out):
		return drop(DropFiltered)
	case !b.up.Has(out):
		return drop(DropPortDown)
	}
	return Decision{Kind: Unicast, Port: out}
}

func (b *Bridge) flood(in int, dst uint64, vid uint16) Decision {
	d := Decision{Kind: Flood, Cause: cause(dst), Port: -1, Ports: b.members[vid]}
	d.Ports.Remove(in)
	d.Ports.and(&b.flooding)
	if d.Ports.Empty() {
		return drop(DropFiltered)
	}
	d.Ports.and(&b.up)
	if d.Ports.Empty() {
		return drop(DropPortDown)
	}
	return d
}

func cause(dst uint64) Cause {
	switch {
	case dst == broadcast:
		return Broadcast
	case group(dst):
		return Multicast
	default:
		return UnknownUnicast
	}
}
