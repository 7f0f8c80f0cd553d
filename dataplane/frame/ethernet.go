package frame

import "encoding/binary"

// Lengths of the parts of a frame (802.3 clause 3.1, 802.1Q clause 9).
const (
	AddressOctets = 6
	HeaderOctets  = 2*AddressOctets + 2 // destination, source, EtherType
	TagOctets     = 4                   // TPID, TCI
)

// Offsets in a frame; behind a tag the EtherType stands TagOctets later.
const (
	dstOffset  = 0
	srcOffset  = AddressOctets
	typeOffset = 2 * AddressOctets
	tciOffset  = typeOffset + 2
)

// EtherTypes that the switch looks at.
const (
	TypeIPv4       uint16 = 0x0800
	TypeARP        uint16 = 0x0806
	TypeVLAN       uint16 = 0x8100 // C-tag, the only tag that Parse takes for one
	TypeIPv6       uint16 = 0x86DD
	TypeMACControl uint16 = 0x8808
	TypeServiceTag uint16 = 0x88A8 // S-tag of a provider bridge
	TypeLLDP       uint16 = 0x88CC
)

// Broadcast is the address FF-FF-FF-FF-FF-FF.
const Broadcast uint64 = 1<<48 - 1

// Header is what forwarding needs to know of a frame, as a value.
type Header struct {
	Dst, Src  uint64 // 48 bits
	NetOffset int    // of the first octet behind the EtherType: 14, or 18 with a tag
	EtherType uint16 // the one behind the tag; below 0x0600 a length (802.3 clause 3.2.6)
	TCI       TCI    // 0 without a tag
	Tagged    bool   // VID 0 in TCI: priority-tagged
}

// Parse reads the header of b. It returns false for a malformed frame:
//   - shorter than 14 octets,
//   - a tag (EtherType 0x8100) and shorter than 18.
//
// Only an outer 0x8100 is a tag. A frame with an outer 0x88A8 is a provider's: this bridge is a C-VLAN bridge
// (802.1Q clause 5.9), to which such a frame is untagged with an unknown EtherType. A second tag is payload.
func Parse(b []byte) (h Header, ok bool) {
	if len(b) < HeaderOctets {
		return h, false
	}
	h.EtherType, h.NetOffset = binary.BigEndian.Uint16(b[typeOffset:]), HeaderOctets
	if h.EtherType == TypeVLAN {
		if len(b) < HeaderOctets+TagOctets {
			return Header{}, false
		}
		h.Tagged, h.NetOffset = true, HeaderOctets+TagOctets
		h.TCI = TCI(binary.BigEndian.Uint16(b[tciOffset:]))
		h.EtherType = binary.BigEndian.Uint16(b[typeOffset+TagOctets:])
	}
	// Two loads of eight octets each cover the twelve of both addresses.
	h.Dst = binary.BigEndian.Uint64(b[dstOffset:]) >> 16
	h.Src = binary.BigEndian.Uint64(b[srcOffset-2:]) & Broadcast
	return h, true
}

// Address reads the six octets of a MAC address at the start of b.
func Address(b []byte) uint64 {
	_ = b[AddressOctets-1]
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// PutAddress writes the six octets of address to the start of b.
func PutAddress(b []byte, address uint64) {
	_ = b[AddressOctets-1]
	binary.BigEndian.PutUint16(b, uint16(address>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(address))
}

// IsGroup reports whether address is a group address: multicast or broadcast.
func IsGroup(address uint64) bool { return address>>40&1 == 1 }

// TCI is the tag control information of an 802.1Q tag (802.1Q clause 9.6).
//
//	 3 bits: PCP
//	 1 bit:  DEI
//	12 bits: VID
type TCI uint16

// MakeTCI builds a TCI from a priority 0–7, the drop eligible indicator and a VLAN identifier 0–4095; higher bits are
// ignored.
func MakeTCI(pcp uint8, dei bool, vid uint16) TCI {
	t := TCI(pcp&7)<<13 | TCI(vid&0x0FFF)
	if dei {
		t |= 1 << 12
	}
	return t
}

// PCP returns the priority code point, 0–7.
func (t TCI) PCP() uint8 { return uint8(t >> 13) }

// DEI returns the drop eligible indicator.
func (t TCI) DEI() bool { return t>>12&1 == 1 }

// VID returns the VLAN identifier; 0 means that the tag carries a priority only.
func (t TCI) VID() uint16 { return uint16(t) & 0x0FFF }

// InsertTag puts a tag behind the addresses of the frame that starts at slot[off] and returns the frame's new start,
// off−4. The addresses move TagOctets to the left, and all else stays in place. There must be 4 octets of room before
// the frame (PACKET_RESERVE), and the frame must hold both addresses. The virtio header changes by Shift(TagOctets).
func InsertTag(slot []byte, off int, tpid uint16, tci TCI) int {
	start := off - TagOctets
	copy(slot[start:start+typeOffset], slot[off:off+typeOffset])
	binary.BigEndian.PutUint16(slot[start+typeOffset:], tpid)
	binary.BigEndian.PutUint16(slot[start+tciOffset:], uint16(tci))
	return start
}

// Octets of a frame on the wire that are not octets of the frame in memory.
const (
	FCSOctets  = 4
	GapOctets  = 8 + 12 // preamble with start delimiter, and the minimum gap (802.3 clauses 3.1.1 and 4.4.2)
	WireExtras = FCSOctets + GapOctets
)

// WireOctets returns what a frame of n octets takes of a link: n + 24. Shapers, meters and headroom count it. A frame
// shorter than 60 octets, which only a virtual link carries unpadded, counts as it is: one rule holds for all frames,
// and what a port sends equals what its counters show.
func WireOctets(n int) int { return n + WireExtras }
