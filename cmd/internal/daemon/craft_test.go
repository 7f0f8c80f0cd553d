package daemon

import (
	"encoding/binary"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Frames here go from host to host, by number. Their octets are gopacket's, checksums included.

func hostIP(n int) net.IP { return net.IPv4(10, 0, 0, byte(n)).To4() }

func hostIPv6(n int) net.IP {
	ip := net.ParseIP("fd00::")
	ip[15] = byte(n)
	return ip
}

// pattern is a payload of n octets that shows where something was moved.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func ethernet(from, to int, etherType uint16, payload []byte) []byte {
	b := append(append([]byte(nil), hostMAC(to)...), hostMAC(from)...)
	return append(binary.BigEndian.AppendUint16(b, etherType), payload...)
}

// tagged puts a tag of two words, TPID and TCI, behind the addresses of b.
func tagged(b []byte, tag ...uint16) []byte {
	out := append([]byte(nil), b[:12]...)
	for _, word := range tag {
		out = binary.BigEndian.AppendUint16(out, word)
	}
	return append(out, b[12:]...)
}

func serialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		l...); err != nil {
		panic(err) // layers of these tests' own making
	}
	return b.Bytes()
}

func ipv4Header(from, to int, dscp uint8, protocol layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, TOS: dscp << 2, Id: 0xfff0, Protocol: protocol, SrcIP: hostIP(from),
		DstIP: hostIP(to)}
}

func ipv6Header(from, to int, next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: hostIPv6(from), DstIP: hostIPv6(to)}
}

// ipv4UDP is a datagram of n octets of payload.
func ipv4UDP(from, to int, dscp uint8, n int) []byte {
	network := ipv4Header(from, to, dscp, layers.IPProtocolUDP)
	return ethernet(from, to, 0x0800, serialize(network, udp(network), gopacket.Payload(pattern(n))))
}

func ipv6UDP(from, to int, n int) []byte {
	network := ipv6Header(from, to, layers.IPProtocolUDP)
	return ethernet(from, to, 0x86dd, serialize(network, udp(network), gopacket.Payload(pattern(n))))
}

func udp(network gopacket.NetworkLayer) *layers.UDP {
	l := &layers.UDP{SrcPort: 5000, DstPort: 4791}
	if err := l.SetNetworkLayerForChecksum(network); err != nil {
		panic(err) // network is IPv4 or IPv6
	}
	return l
}

func tcp(network gopacket.NetworkLayer) *layers.TCP {
	l := &layers.TCP{SrcPort: 5000, DstPort: 80, Seq: 0xfffff000, Ack: 7, ACK: true, PSH: true, FIN: true, Window: 1000,
		Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10,
			OptionData: make([]byte, 8)},
			{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop}}}
	if err := l.SetNetworkLayerForChecksum(network); err != nil {
		panic(err) // network is IPv4 or IPv6
	}
	return l
}

// spoil breaks the UDP checksum of an untagged IPv4 datagram.
func spoil(b []byte) []byte {
	b[14+20+6] ^= 0x55
	return b
}
