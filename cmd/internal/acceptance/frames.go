package acceptance

import (
	"encoding/binary"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane/frame"
)

// Frames here go from host to host, by number. Their octets are gopacket's, checksums included.

// HostIP is the IPv4 address of host n.
func HostIP(n int) net.IP { return net.IPv4(10, 0, 0, byte(n)).To4() }

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

func ipv6Header(from, to int, next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: hostIPv6(from), DstIP: hostIPv6(to)}
}

// IPv4UDP is a datagram with n octets of payload.
func IPv4UDP(from, to int, dscp uint8, n int) []byte {
	network := ipv4Header(from, to, dscp, layers.IPProtocolUDP)
	return Ethernet(from, to, 0x0800, mustSerialize(network, udp(network), gopacket.Payload(pattern(n))))
}

func ipv6UDP(from, to int, n int) []byte {
	network := ipv6Header(from, to, layers.IPProtocolUDP)
	return Ethernet(from, to, 0x86dd, mustSerialize(network, udp(network), gopacket.Payload(pattern(n))))
}

func udp(network gopacket.NetworkLayer) *layers.UDP {
	l := &layers.UDP{SrcPort: 5000, DstPort: 4791}
	_ = l.SetNetworkLayerForChecksum(network) // never fails for IPv4 and IPv6
	return l
}

func tcp(network gopacket.NetworkLayer) *layers.TCP {
	l := &layers.TCP{SrcPort: 5000, DstPort: 80, Seq: 0xfffff000, Ack: 7, ACK: true, PSH: true, FIN: true, Window: 1000,
		Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10,
			OptionData: make([]byte, 8)},
			{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop}}}
	_ = l.SetNetworkLayerForChecksum(network) // never fails for IPv4 and IPv6
	return l
}

// spoil breaks the UDP checksum of an untagged IPv4 datagram.
func spoil(b []byte) []byte {
	b[14+20+6] ^= 0x55
	return b
}

// A GSOFrame is what a kernel with segmentation offload hands over: headers as for one packet, and the sum of the
// pseudo header in place of the checksum.
type GSOFrame struct {
	Name  string
	Data  []byte
	Vnet  frame.VnetHeader
	Parts int // frames that it becomes
}

const (
	segment = 1400 // octets of payload
	vlanTCI = 3<<13 | 10
)

// GSOFrames go from host 1 to host 2. The last segment is shorter than the others.
func GSOFrames() []GSOFrame {
	v4, v6 := ipv4Header(1, 2, 0, layers.IPProtocolTCP), ipv6Header(1, 2, layers.IPProtocolTCP)
	u4, u6 := ipv4Header(1, 2, 0, layers.IPProtocolUDP), ipv6Header(1, 2, layers.IPProtocolUDP)
	all := []GSOFrame{
		newGSOFrame("TCP over IPv4", Ethernet(1, 2, 0x0800,
			mustSerialize(v4, tcp(v4), gopacket.Payload(pattern(40*segment+33)))), frame.GSOTCPv4),
		newGSOFrame("TCP over IPv6", Ethernet(1, 2, 0x86dd,
			mustSerialize(v6, tcp(v6), gopacket.Payload(pattern(40*segment+33)))), frame.GSOTCPv6),
		newGSOFrame("UDP over IPv4", Ethernet(1, 2, 0x0800,
			mustSerialize(u4, udp(u4), gopacket.Payload(pattern(40*segment+33)))), frame.GSOUDPL4),
		newGSOFrame("UDP over IPv6", Ethernet(1, 2, 0x86dd,
			mustSerialize(u6, udp(u6), gopacket.Payload(pattern(40*segment+33)))), frame.GSOUDPL4),
	}
	for i := range all {
		all[i].Parts = 41
	}
	one := newGSOFrame("one TCP segment, checksum unfinished",
		Ethernet(1, 2, 0x0800, mustSerialize(v4, tcp(v4), gopacket.Payload(pattern(700)))), frame.GSOTCPv4)
	one.Vnet.GSOType, one.Vnet.GSOSize, one.Vnet.HdrLen, one.Parts = frame.GSONone, 0, 0, 1
	return append(all, one)
}

func newGSOFrame(name string, b []byte, gso uint8) GSOFrame {
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	v := frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: gso, GSOSize: segment}
	transport := p.TransportLayer()
	v.CsumStart = uint16(14 + len(p.NetworkLayer().LayerContents()))
	v.HdrLen = v.CsumStart + uint16(len(transport.LayerContents()))
	protocol := layers.IPProtocolTCP
	if v.CsumOffset = 16; transport.LayerType() == layers.LayerTypeUDP {
		v.CsumOffset, protocol = 6, layers.IPProtocolUDP
	}
	// The pseudo header's sum: addresses, protocol, and the length of what follows.
	flow := p.NetworkLayer().NetworkFlow()
	sum := uint32(protocol) + uint32(len(b)-int(v.CsumStart))
	for _, address := range [][]byte{flow.Src().Raw(), flow.Dst().Raw()} {
		for i := 0; i < len(address); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(address[i:]))
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[v.CsumStart+v.CsumOffset:], uint16(sum))
	return GSOFrame{Name: name, Data: b, Vnet: v}
}
