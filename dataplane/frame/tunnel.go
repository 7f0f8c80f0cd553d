package frame

import "encoding/binary"

// A sender with tunnel offloads (VXLAN, Geneve, GRE, IP in IP; a veth has them all) hands over one outer packet around one
// inner GSO frame. The virtio header has no word for that: it shows as a checksum that starts behind the outer header. The
// kinds of tunnel need not be known. All that lies between outer and inner headers is the same in each segment, and the inner
// IP header is the one that ends where the checksum starts and whose packet ends where the outer one ends.

// Bits of a GRE header (RFC 2784, RFC 2890) with which its segments would differ.
const greChecksumOrSequence = 0x9000

// tunnels reports whether what the sender left to its card, from offset start on, lies in a packet inside of this one.
func (l *ipLayer) tunnels(start int) bool {
	switch l.protocol {
	case protocolIPv4, protocolIPv6, protocolGRE, protocolUDP:
		return start > l.transport
	}
	return false
}

// seedTunnel makes l, an outer ipLayer, ready for cutting.
func (l *ipLayer) seedTunnel(b []byte) bool {
	switch l.protocol {
	case protocolGRE:
		p := b[l.transport:l.end]
		return len(p) >= 2 && binary.BigEndian.Uint16(p)&greChecksumOrSequence == 0
	case protocolUDP:
		if l.routed || !l.locatePayload(b) {
			return false
		}
		l.seedComplete(b)
	}
	return true
}

// locateInner finds the IP header inside of outer whose TCP or UDP header starts at start.
func locateInner(b []byte, outer ipLayer, start int) (ipLayer, bool) {
	if start > outer.end {
		return ipLayer{}, false
	}
	b = b[:outer.end]
	for header := ipv4MinOctets; header <= ipv4MaxOctets && outer.transport+header <= start; header += 4 {
		inner := ipLayer{network: start - header}
		if inner.locateIPv4(b) && inner.transport == start && inner.end == outer.end {
			return inner, true
		}
	}
	if outer.transport+ipv6Octets > start {
		return ipLayer{}, false
	}
	inner := ipLayer{network: start - ipv6Octets}
	return inner, inner.locateIPv6(b) && inner.transport == start && inner.end == outer.end
}
