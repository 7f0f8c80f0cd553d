package classify

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// specimen is a frame with its priority-bearing fields; -1 for a field that does not count.
type specimen struct {
	name      string
	b         []byte
	pcp, dscp int
}

// specimens returns a frame of every kind that the kernel treats differently.
func specimens(t testing.TB) []specimen {
	const none = -1
	four, six := ipv4(26), ipv6(46)
	c, s := layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ
	return []specimen{
		{"IPv4", craft(t, nil, layers.EthernetTypeIPv4, four...), none, 26},
		{"IPv6", craft(t, nil, layers.EthernetTypeIPv6, six...), none, 46},
		{"IPv4 CS0", craft(t, nil, layers.EthernetTypeIPv4, ipv4(0)...), none, 0},
		{"IPv4 codepoint 63", craft(t, nil, layers.EthernetTypeIPv4, ipv4(63)...), none, 63},
		{"IPv6 codepoint 32", craft(t, nil, layers.EthernetTypeIPv6, ipv6(32)...), none, 32},
		{"IPv4 tagged", craft(t, []tag{{c, 3, 10}}, layers.EthernetTypeIPv4, four...), 3, 26},
		{"IPv6 tagged", craft(t, []tag{{c, 5, 4095}}, layers.EthernetTypeIPv6, six...), 5, 46},
		{"IPv4 priority-tagged", craft(t, []tag{{c, 6, 0}}, layers.EthernetTypeIPv4, four...), 6, 26},
		{"tag of zeros", craft(t, []tag{{c, 0, 0}}, layers.EthernetTypeIPv4, four...), 0, 26},
		{"two C-tags", craft(t, []tag{{c, 2, 10}, {c, 3, 20}}, layers.EthernetTypeIPv4, four...), 2, none},
		{"S-tag", craft(t, []tag{{s, 3, 10}}, layers.EthernetTypeIPv4, four...), none, none},
		{"S-tag and C-tag", craft(t, []tag{{s, 3, 10}, {c, 3, 20}}, layers.EthernetTypeIPv4, four...), none, none},
		{"S-tag of zeros", craft(t, []tag{{s, 0, 0}}, layers.EthernetTypeIPv6, six...), none, none},
		{"ARP", craft(t, nil, layers.EthernetTypeARP, arp()), none, none},
		{"ARP tagged", craft(t, []tag{{c, 4, 10}}, layers.EthernetTypeARP, arp()), 4, none},
		{"IPv4 options", craft(t, nil, layers.EthernetTypeIPv4, ipv4Options(34)...), none, 34},
		{"IPv6 extension header", craft(t, nil, layers.EthernetTypeIPv6, ipv6Extension(10)...), none, 10},
		{"LLC", craft(t, nil, 0, gopacket.Payload{0x42, 0x42, 3}), none, none},
		{"LLC tagged", craft(t, []tag{{c, 1, 10}}, 3, gopacket.Payload{0x42, 0x42, 3}), 1, none},
		{"no payload", craft(t, nil, layers.EthernetTypeIPv4, ipv4(26)...)[:14], none, none},
		{"IPv4 of one octet", craft(t, nil, layers.EthernetTypeIPv4, ipv4(26)...)[:15], none, none},
		{"IPv4 of two octets", craft(t, nil, layers.EthernetTypeIPv4, ipv4(26)...)[:16], none, 26},
		{"IPv6 of one octet", craft(t, nil, layers.EthernetTypeIPv6, ipv6(46)...)[:15], none, none},
		{"IPv6 of two octets", craft(t, nil, layers.EthernetTypeIPv6, ipv6(46)...)[:16], none, 46},
		{"tagged IPv6 of two octets", craft(t, []tag{{c, 7, 1}}, layers.EthernetTypeIPv6, ipv6(46)...)[:20], 7, 46},
	}
}

type tag struct {
	tpid layers.EthernetType
	pcp  uint8
	vid  uint16
}

var (
	testDst = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x0B}
	testSrc = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x0A}
)

// craft builds a frame with payload behind the EtherType.
func craft(t testing.TB, tags []tag, etherType layers.EthernetType, payload ...gopacket.SerializableLayer) []byte {
	t.Helper()
	ethernet := &layers.Ethernet{DstMAC: testDst, SrcMAC: testSrc, EthernetType: etherType}
	stack := []gopacket.SerializableLayer{ethernet}
	for i, tag := range tags {
		next := etherType
		if i+1 < len(tags) {
			next = tags[i+1].tpid
		}
		stack = append(stack, &layers.Dot1Q{Priority: tag.pcp, VLANIdentifier: tag.vid, Type: next})
	}
	if len(tags) > 0 {
		ethernet.EthernetType = tags[0].tpid
	}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	assert.MustNoError(t, gopacket.SerializeLayers(buffer, options, append(stack, payload...)...), "serialize")
	return buffer.Bytes()
}

func ipv4(dscp uint8) []gopacket.SerializableLayer {
	ip := &layers.IPv4{
		Version: 4, TOS: dscp<<2 | 0b10, TTL: 64, Protocol: layers.IPProtocolUDP,
		SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2},
	}
	return append([]gopacket.SerializableLayer{ip}, udp(ip)...)
}

func ipv4Options(dscp uint8) []gopacket.SerializableLayer {
	stack := ipv4(dscp)
	stack[0].(*layers.IPv4).Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	return stack
}

func ipv6(dscp uint8) []gopacket.SerializableLayer {
	ip := &layers.IPv6{
		Version: 6, TrafficClass: dscp<<2 | 0b01, FlowLabel: 0xFFFFF, HopLimit: 64, NextHeader: layers.IPProtocolUDP,
		SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2"),
	}
	return append([]gopacket.SerializableLayer{ip}, udp(ip)...)
}

func ipv6Extension(dscp uint8) []gopacket.SerializableLayer {
	stack := ipv6(dscp)
	stack[0].(*layers.IPv6).NextHeader = layers.IPProtocolIPv6HopByHop
	return []gopacket.SerializableLayer{stack[0], gopacket.Payload{17, 0, 1, 4, 0, 0, 0, 0}, stack[1], stack[2]}
}

func udp(ip gopacket.NetworkLayer) []gopacket.SerializableLayer {
	l := &layers.UDP{SrcPort: 4791, DstPort: 4791}
	_ = l.SetNetworkLayerForChecksum(ip)
	return []gopacket.SerializableLayer{l, gopacket.Payload(make([]byte, 64))}
}

func arp() gopacket.SerializableLayer {
	return &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation:       layers.ARPRequest,
		SourceHwAddress: testSrc, SourceProtAddress: []byte{10, 0, 0, 1}, DstHwAddress: make([]byte,
			6), DstProtAddress: []byte{10, 0, 0, 2},
	}
}

// buffered is a frame as the kernel holds it when the programs run: the outer tag in metadata, the packet from its
// network header on.
type buffered struct {
	tagged, tpid, tci, protocol uint16
	packet                      []byte
}

// untag does what __netif_receive_skb_core does to a frame. It returns false if the kernel discards the frame.
func untag(b []byte) (k buffered, ok bool) {
	if len(b) < 14 {
		return k, false
	}
	k.protocol, k.packet = binary.BigEndian.Uint16(b[12:]), b[14:]
	if k.protocol == frame.TypeVLAN || k.protocol == frame.TypeServiceTag {
		if len(k.packet) < 6 {
			return k, false
		}
		k.tagged, k.tpid = 1, k.protocol
		k.tci, k.protocol = binary.BigEndian.Uint16(k.packet), binary.BigEndian.Uint16(k.packet[2:])
		k.packet = k.packet[4:]
	}
	if k.protocol < 0x600 {
		k.protocol = 4 // ETH_P_802_2
	}
	return k, true
}
