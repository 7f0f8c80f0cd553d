package frame

import "encoding/binary"

// TCI is the tag control information of an 802.1Q tag (802.1Q clause 9.6).
//
//	 3 bits: PCP
//	 1 bit:  DEI
//	12 bits: VID
type TCI uint16

// MakeTCI builds a TCI from a priority 0–7, the drop eligible indicator and a VLAN identifier 0–4095; higher bits are ignored.
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

// InsertTag puts a tag behind the addresses of the frame that starts at slot[off]. The addresses move TagOctets to the left,
// all else stays where it is. It returns the frame's new start, off−4. The caller has off ≥ 4 octets of room before the frame
// (PACKET_RESERVE) and a frame that holds both addresses. A virtio header goes with it by Shift(TagOctets).
func InsertTag(slot []byte, off int, tpid uint16, tci TCI) int {
	start := off - TagOctets
	copy(slot[start:start+typeOffset], slot[off:off+typeOffset])
	binary.BigEndian.PutUint16(slot[start+typeOffset:], tpid)
	binary.BigEndian.PutUint16(slot[start+tciOffset:], uint16(tci))
	return start
}
