package frame

import "encoding/binary"

// Flow returns the number of a frame's flow: a hash of addresses, VLAN and EtherType, of the IP addresses, and of the
// ports of unfragmented TCP and UDP. A fragment has no ports, so it may be in another flow than a whole packet of the
// same connection. Parse has returned h for b.
func Flow(b []byte, h *Header) uint64 {
	n := mix(h.Dst<<16 ^ h.Src ^ uint64(h.EtherType)<<48 ^ uint64(h.TCI.VID()))
	packet := b[h.NetOffset:]
	switch h.EtherType {
	case TypeIPv4:
		return flowIPv4(n, packet)
	case TypeIPv6:
		return flowIPv6(n, packet)
	}
	return n
}

// portOctets is the length of the two ports at the begin of a TCP or UDP header.
const portOctets = 4

func flowIPv4(n uint64, p []byte) uint64 {
	if len(p) < ipv4MinOctets {
		return n
	}
	n = mix(n ^ binary.BigEndian.Uint64(p[12:]))
	header := 4 * int(p[0]&0x0F)
	fragment := binary.BigEndian.Uint16(p[6:])&0x3FFF != 0 // more fragments, or an offset
	if fragment || header < ipv4MinOctets {
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

// Weight is that of a way for a flow. A flow takes the heaviest of its ways: rendezvous hashing (Thaler and
// Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998). When a way is shut, only its own flows move,
// and they come back with it.
func Weight(flow uint64, way int) uint64 { return mix(flow ^ uint64(way+1)*0x9E3779B97F4A7C15) }

// mix is the finaliser of splitmix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
