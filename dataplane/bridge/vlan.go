package bridge

import "fmt"

const (
	vidCount = 4096 // a VID has 12 bits

	// The VIDs that a port can be a member of: 0 marks a priority tag, 4095 is reserved (802.1Q 9.6).
	minVID = 1
	maxVID = 4094
)

// NoVLAN is the VLAN of a frame on a wire or through a trunk, which keeps its tag as it is.
const NoVLAN = 0

// A VLANSet is a set of VIDs from 1 to 4094. The zero value is the empty set.
type VLANSet struct{ bits [vidCount / 64]uint64 }

// VLANs returns the set of the given VIDs. It fails on a VID below 1 or above 4094.
func VLANs(vids ...uint16) (VLANSet, error) {
	var s VLANSet
	for _, v := range vids {
		if v < minVID || v > maxVID {
			return VLANSet{}, fmt.Errorf("bridge: VLAN %d does not exist (use %d to %d)", v, minVID, maxVID)
		}
		s.bits[v>>6] |= 1 << (v & 63)
	}
	return s, nil
}

// Has tells whether vid is in the set.
func (s *VLANSet) Has(vid uint16) bool { return vid < vidCount && s.bits[vid>>6]&(1<<(vid&63)) != 0 }

// Admit is the acceptable frame types of a port (802.1Q 6.9). A frame with a VID of 0 is priority-tagged.
type Admit uint8

// The acceptable frame types.
const (
	AdmitAll      Admit = iota
	AdmitTagged         // frames with a VID only
	AdmitUntagged       // untagged and priority-tagged frames only
)

// Ingress returns the VLAN of a frame received on port: the VID of its tag, or the port's PVID if the frame is
// untagged or priority-tagged. The frame is dropped unless the reason is DropNone: the port does not accept its type
// (802.1Q 6.9), is not a member of its VLAN, or the tag carries 4095 (6.9.1, 8.6.2). The frames of a wired port are of
// NoVLAN.
func (b *Bridge) Ingress(port int, tagged bool, vid uint16) (uint16, DropReason) {
	p := &b.ports[port]
	if p.wired {
		return NoVLAN, DropNone
	}
	refused := AdmitUntagged
	if !tagged || vid == 0 {
		vid, refused = p.pvid, AdmitTagged
	}
	switch {
	case !b.member(port, vid):
		return vid, DropFiltered
	case p.admit == refused:
		return vid, DropFrameType
	}
	return vid, DropNone
}

// members is the member set of vid.
func (b *Bridge) members(vid uint16) *PortSet { return &b.sets[b.vlans[vid]] }

// member tells whether port is in the member set of vid. VIDs 0 and 4095 have no members.
func (b *Bridge) member(port int, vid uint16) bool { return vid < vidCount && b.members(vid).Has(port) }

// Form tells how a frame of some VLAN leaves a port.
type Form uint8

// The forms of a frame at egress (802.1Q 8.6.4).
const (
	NotMember Form = iota // not at all: the port is not in the member set
	Untagged              // without tag: the VLAN is the port's PVID
	Tagged                // with the VID in a tag
)

// String names the form.
func (f Form) String() string { return nameOf("Form", formNames, uint8(f)) }

var formNames = []string{NotMember: "not a member", Untagged: "untagged", Tagged: "tagged"}

// Egress tells how a frame of VLAN vid leaves port.
func (b *Bridge) Egress(port int, vid uint16) Form {
	switch {
	case !b.member(port, vid):
		return NotMember
	case vid == b.ports[port].pvid:
		return Untagged
	default:
		return Tagged
	}
}
