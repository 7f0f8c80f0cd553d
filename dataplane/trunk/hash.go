package trunk

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
)

// Flow returns the number of a frame's flow: a hash of addresses, VLAN and EtherType, of the IP addresses, and of the
// ports of unfragmented TCP and UDP. A fragment has no ports, so it may be in another flow than a whole packet of the
// same connection. frame.Parse has returned h for b.
func Flow(b []byte, h *frame.Header) uint64 {
	n := mix(h.Dst<<16 ^ h.Src ^ uint64(h.EtherType)<<48 ^ uint64(h.TCI.VID()))
	packet := b[h.NetOffset:]
	switch h.EtherType {
	case frame.TypeIPv4:
		return flowIPv4(n, packet)
	case frame.TypeIPv6:
		return flowIPv6(n, packet)
	}
	return n
}

// Protocols with ports in the first four octets.
const (
	protocolTCP = 6
	protocolUDP = 17
)

const (
	ipv4Octets = 20 // least header (RFC 791)
	ipv6Octets = 40 // header (RFC 8200)
	portOctets = 4
)

func flowIPv4(n uint64, p []byte) uint64 {
	if len(p) < ipv4Octets {
		return n
	}
	n = mix(n ^ binary.BigEndian.Uint64(p[12:]))
	header := 4 * int(p[0]&0x0F)
	fragment := binary.BigEndian.Uint16(p[6:])&0x3FFF != 0 // more fragments, or an offset
	if fragment || header < ipv4Octets {
		return n
	}
	return flowPorts(n, p[9], p[min(header, len(p)):])
}

func flowIPv6(n uint64, p []byte) uint64 {
	if len(p) < ipv6Octets {
		return n
	}
	for at := 8; at < ipv6Octets; at += 8 {
		n = mix(n ^ binary.BigEndian.Uint64(p[at:]))
	}
	return flowPorts(n, p[6], p[ipv6Octets:])
}

func flowPorts(n uint64, protocol byte, p []byte) uint64 {
	if (protocol == protocolTCP || protocol == protocolUDP) && len(p) >= portOctets {
		return mix(n ^ uint64(binary.BigEndian.Uint32(p)) ^ uint64(protocol)<<32)
	}
	return n
}
