package frame

import "encoding/binary"

// Lengths of the IPv4 header, without options and with as many as it can have, and of the fixed IPv6 header.
const (
	ipv4MinOctets = 20
	ipv4MaxOctets = 60
	ipv6Octets    = 40
)

// ECN codepoints, the two low bits of the DS field (RFC 3168 clause 5).
const (
	ecnMask   = 0b11
	ecnNotECT = 0b00
	ecnCE     = 0b11
	ECT0      = 0b10 // the sender supports ECN
)

// DSCPOctets is how many octets of the network header DSCP reads.
const DSCPOctets = 2

// DSCP returns the differentiated services codepoint, 0–63 (RFC 2474 clause 3), of the packet whose header starts at
// b[netOffset]. It returns false if etherType is neither IPv4 nor IPv6, or fewer than DSCPOctets are left. It does not
// check the version field: the EtherType alone decides, as in a switching chip.
func DSCP(b []byte, netOffset int, etherType uint16) (uint8, bool) {
	if netOffset < 0 || len(b)-netOffset < DSCPOctets {
		return 0, false
	}
	word := binary.BigEndian.Uint16(b[netOffset:])
	switch etherType {
	case TypeIPv4:
		//  4 bits: version, 4 bits: header length
		//  6 bits: DSCP, 2 bits: ECN
		return uint8(word) >> 2, true
	case TypeIPv6:
		//  4 bits: version
		//  6 bits: DSCP, 2 bits: ECN
		//  4 bits: start of the flow label
		return uint8(word>>6) & 0x3F, true
	}
	return 0, false
}

// CE reports whether the packet whose header starts at b[netOffset] has congestion experienced.
func CE(b []byte, netOffset int, etherType uint16) bool {
	if netOffset < 0 || len(b)-netOffset < DSCPOctets {
		return false
	}
	switch etherType {
	case TypeIPv4:
		return b[netOffset+1]&ecnMask == ecnCE
	case TypeIPv6:
		return b[netOffset+1]>>4&ecnMask == ecnCE
	}
	return false
}

// MarkCE sets congestion experienced in the packet whose header starts at b[netOffset], if its sender supports ECN
// (ECT(0) or ECT(1)), and updates the IPv4 header checksum. It returns whether it has marked the packet. It returns
// false and changes nothing for CE, for Not-ECT, for a header that is truncated or of another version, and for a packet
// that is not IP. A GSO frame is marked once, and its segments inherit the mark. No TCP or UDP checksum covers the
// field.
func MarkCE(b []byte, netOffset int, etherType uint16) bool {
	if netOffset < 0 || netOffset > len(b) {
		return false
	}
	switch p := b[netOffset:]; etherType {
	case TypeIPv4:
		return markIPv4(p)
	case TypeIPv6:
		return markIPv6(p)
	}
	return false
}

// markable tells whether the ECN codepoint of a DS field is ECT(0) or ECT(1).
func markable(ds byte) bool { return ds&ecnMask != ecnNotECT && ds&ecnMask != ecnCE }

func markIPv4(p []byte) bool {
	if len(p) < ipv4MinOctets || p[0]>>4 != 4 || !markable(p[1]) {
		return false
	}
	before := binary.BigEndian.Uint16(p)
	p[1] |= ecnCE
	after := binary.BigEndian.Uint16(p)
	// RFC 1624 equation 3, HC' = ~(~HC + ~m + m'): a checksum that was wrong stays wrong.
	sum := ^binary.BigEndian.Uint16(p[ipv4ChecksumOffset:])
	binary.BigEndian.PutUint16(p[ipv4ChecksumOffset:], ^add(add(sum, ^before), after))
	return true
}

func markIPv6(p []byte) bool {
	// ECN stands in the high half of the second octet; IPv6 has no header checksum.
	if len(p) < ipv6Octets || p[0]>>4 != 6 || !markable(p[1]>>4) {
		return false
	}
	p[1] |= ecnCE << 4
	return true
}
