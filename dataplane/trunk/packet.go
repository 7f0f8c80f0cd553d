package trunk

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
)

// mayBePadded is the longest frame with padding, in octets without FCS: the tag may have come later.
const mayBePadded = 60 + frame.TagOctets

// PacketOctets is the length of the packet that a frame carries, as RFC 2698 meters it: with its own header, without that of the link
// and without the padding of a short frame. Of what is no IP packet it is all that follows the Ethernet header. b and h are as in Flow.
func PacketOctets(b []byte, h *frame.Header) int {
	packet := b[h.NetOffset:]
	stated := len(packet)
	if len(b) > mayBePadded {
		return stated // whatever the header says: nobody gets more through by understating
	}
	switch {
	case h.EtherType == frame.TypeIPv4 && len(packet) >= ipv4Octets:
		stated = int(binary.BigEndian.Uint16(packet[2:]))
	case h.EtherType == frame.TypeIPv6 && len(packet) >= ipv6Octets:
		stated = ipv6Octets + int(binary.BigEndian.Uint16(packet[4:]))
	}
	return min(max(stated, ipv4Octets), len(packet))
}
