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
	etherType := binary.BigEndian.Uint16(b[typeOffset:])
	if etherType == TypeVLAN {
		if len(b) < HeaderOctets+TagOctets {
			return h, false
		}
		h.Tagged = true
		h.TCI = TCI(binary.BigEndian.Uint16(b[tciOffset:]))
		h.EtherType = binary.BigEndian.Uint16(b[typeOffset+TagOctets:])
		h.NetOffset = HeaderOctets + TagOctets
	} else {
		h.EtherType, h.NetOffset = etherType, HeaderOctets
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
