package acceptance

import (
	"encoding/binary"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Frames here go from host to host, by number. Their octets are gopacket's, checksums included.

// HostIP is the IPv4 address of host n.
func HostIP(n int) net.IP { return net.IPv4(10, 0, 0, byte(n)).To4() }

// pattern is a payload of n octets that shows where something was moved.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// Ethernet makes a frame between two hosts.
func Ethernet(from, to int, etherType uint16, payload []byte) []byte {
	b := append(append([]byte(nil), HostMAC(to)...), HostMAC(from)...)
	return append(binary.BigEndian.AppendUint16(b, etherType), payload...)
}

// Tagged inserts tags behind the addresses.
func Tagged(b []byte, tag ...uint16) []byte {
	out := append([]byte(nil), b[:12]...)
	for _, word := range tag {
		out = binary.BigEndian.AppendUint16(out, word)
	}
	return append(out, b[12:]...)
}

// mustSerialize panics if layers of these tests do not fit together.
func mustSerialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		l...); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func ipv4Header(from, to int, dscp uint8, protocol layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, TOS: dscp << 2, Id: 0xfff0, Protocol: protocol, SrcIP: HostIP(from),
		DstIP: HostIP(to)}
}

// IPv4UDP is a datagram with n octets of payload.
func IPv4UDP(from, to int, dscp uint8, n int) []byte {
	network := ipv4Header(from, to, dscp, layers.IPProtocolUDP)
	return Ethernet(from, to, 0x0800, mustSerialize(network, udp(network), gopacket.Payload(pattern(n))))
}

func udp(network gopacket.NetworkLayer) *layers.UDP {
	l := &layers.UDP{SrcPort: 5000, DstPort: 4791}
	_ = l.SetNetworkLayerForChecksum(network) // never fails for IPv4 and IPv6
	return l
}
