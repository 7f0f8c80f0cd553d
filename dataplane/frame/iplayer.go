package frame

import "encoding/binary"

// Offsets of the fields that differ from segment to segment, from the start of their header.
const (
	ipv4LengthOffset   = 2
	ipv4IDOffset       = 4
	ipv4FragmentOffset = 6
	ipv4ProtocolOffset = 9
	ipv4ChecksumOffset = 10
	ipv4SourceOffset   = 12

	ipv6LengthOffset = 4
	ipv6NextOffset   = 6
	ipv6SourceOffset = 8

	tcpSequenceOffset   = 4
	tcpDataOffsetOffset = 12
	tcpFlagsOffset      = 13
	tcpChecksumOffset   = 16
	tcpMinOctets        = 20

	udpLengthOffset   = 4
	udpChecksumOffset = 6
	udpOctets         = 8
)

// Protocol numbers. The three extension headers are those that a sender's segmentation offload copies to each segment.
const (
	protocolHopByHop           = 0
	protocolIPv4               = 4
	protocolTCP                = 6
	protocolUDP                = 17
	protocolIPv6               = 41
	protocolRouting            = 43
	protocolGRE                = 47
	protocolDestinationOptions = 60
)

// ipLayer is an IP header with the transport header behind it. Offsets count from the start of the frame.
type ipLayer struct {
	network   int // the IP header
	transport int // the header behind it and its extension headers
	payload   int // what follows the TCP or UDP header
	end       int // of the packet: octets behind it are padding
	protocol  uint8
	ipv4      bool
	routed    bool   // there is an IPv6 routing header: the pseudo header has another destination than the IP header
	noSum     bool   // UDP without a checksum
	constant  uint16 // sum of the pseudo header without its length
}

// locate finds the first IP header of b behind any number of C-tags and S-tags: a frame with two tags is forwarded by
// its outer tag, but segmented as well. It returns false unless there is a complete, unfragmented IP packet.
func locate(b []byte) (l ipLayer, ok bool) {
	for l.network = HeaderOctets; l.network <= len(b); l.network += TagOctets {
		switch binary.BigEndian.Uint16(b[l.network-2:]) {
		case TypeVLAN, TypeServiceTag:
		case TypeIPv4:
			ok = l.locateIPv4(b)
			return l, ok
		case TypeIPv6:
			ok = l.locateIPv6(b)
			return l, ok
		default:
			return l, false
		}
	}
	return l, false
}

func (l *ipLayer) locateIPv4(b []byte) bool {
	p := b[l.network:]
	if len(p) < ipv4MinOctets || p[0]>>4 != 4 {
		return false
	}
	header := int(p[0]&0x0F) * 4
	length := int(binary.BigEndian.Uint16(p[ipv4LengthOffset:]))
	const moreFragmentsAndOffset = 0x3FFF
	if header < ipv4MinOctets || length < header || length > len(p) ||
		binary.BigEndian.Uint16(p[ipv4FragmentOffset:])&moreFragmentsAndOffset != 0 {
		return false
	}
	l.ipv4 = true
	l.transport, l.end = l.network+header, l.network+length
	l.protocol = p[ipv4ProtocolOffset]
	return true
}

func (l *ipLayer) locateIPv6(b []byte) bool {
	p := b[l.network:]
	if len(p) < ipv6Octets || p[0]>>4 != 6 {
		return false
	}
	length := ipv6Octets + int(binary.BigEndian.Uint16(p[ipv6LengthOffset:]))
	if length > len(p) {
		return false
	}
	l.end = l.network + length
	return l.skipExtensions(p[:length])
}

// skipExtensions walks the extension headers of the IPv6 packet p (RFC 8200 clause 4).
//
//	1 octet:  next header
//	1 octet:  length in units of eight octets, without the first
//	6 octets: and more: options
func (l *ipLayer) skipExtensions(p []byte) bool {
	next, offset := p[ipv6NextOffset], ipv6Octets
	for next == protocolHopByHop || next == protocolRouting || next == protocolDestinationOptions {
		if offset+8 > len(p) {
			return false
		}
		l.routed = l.routed || next == protocolRouting
		next, offset = p[offset], offset+(int(p[offset+1])+1)*8
	}
	l.protocol, l.transport = next, l.network+offset
	return offset <= len(p)
}

// locatePayload finds the end of the TCP or UDP header.
func (l *ipLayer) locatePayload(b []byte) bool {
	p := b[l.transport:l.end]
	switch l.protocol {
	case protocolTCP:
		if len(p) < tcpMinOctets {
			return false
		}
		header := int(p[tcpDataOffsetOffset]>>4) * 4
		l.payload = l.transport + header
		return header >= tcpMinOctets && header <= len(p)
	case protocolUDP:
		l.payload = l.transport + udpOctets
		return len(p) >= udpOctets && int(binary.BigEndian.Uint16(p[udpLengthOffset:])) == len(p)
	}
	return false
}

// checksum returns the offset of the checksum field in the TCP or UDP header.
func (l *ipLayer) checksum() int {
	if l.protocol == protocolTCP {
		return tcpChecksumOffset
	}
	return udpChecksumOffset
}

// seedPartial derives the pseudo header from an unfinished checksum, which is its sum. This also works if the IP header
// does not show the last address (source routing).
func (l *ipLayer) seedPartial(b []byte) {
	field := binary.BigEndian.Uint16(b[l.transport+l.checksum():])
	l.constant = add(field, ^uint16(l.end-l.transport))
}

// seedComplete sums the pseudo header anew (RFC 9293 clause 3.1, RFC 8200 clause 8.1) for a checksum that is complete:
// a card merged what it received, or it is an outer checksum.
func (l *ipLayer) seedComplete(b []byte) {
	field := binary.BigEndian.Uint16(b[l.transport+l.checksum():])
	l.noSum = l.protocol == protocolUDP && field == 0
	from, to := l.network+ipv6SourceOffset, l.network+ipv6Octets
	if l.ipv4 {
		from, to = l.network+ipv4SourceOffset, l.network+ipv4MinOctets
	}
	l.constant = Sum(b[from:to], uint16(l.protocol))
}

// A sender with tunnel offloads (VXLAN, Geneve, GRE, IP in IP; a veth has them all) hands over one outer packet around
// one inner GSO frame. The virtio header cannot express that. It shows as a checksum that starts behind the outer
// header. Nobody needs to know the kind of tunnel, since all octets between the outer and the inner headers are the
// same in each segment. The inner IP header is the one that ends where the checksum starts and whose packet ends where
// the outer packet ends.

// Bits of a GRE header (RFC 2784, RFC 2890) with which its segments would differ.
const greChecksumOrSequence = 0x9000

// tunnels reports whether the checksum left to the card, from offset start on, lies in a packet inside of this one.
func (l *ipLayer) tunnels(start int) bool {
	switch l.protocol {
	case protocolIPv4, protocolIPv6, protocolGRE, protocolUDP:
		return start > l.transport
	}
	return false
}

// seedTunnel prepares l, an outer layer, for segmentation.
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
		if (inner.locateIPv4(b) || header == ipv6Octets && inner.locateIPv6(b)) && inner.transport == start &&
			inner.end == outer.end {
			return inner, true
		}
	}
	return ipLayer{}, false
}
