package frame

import (
	"bytes"
	"encoding/binary"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// shape describes a frame that gopacket builds.
type shape struct {
	tags    []uint16 // TPIDs, outer first
	tci     TCI      // of each tag
	ipv6    bool
	udp     bool
	options bool // IPv4 options, or a hop-by-hop and a destination options header
	tcp     layers.TCP
	payload int
}

var (
	testDst = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x0B}
	testSrc = net.HardwareAddr{0x02, 0, 0, 0, 0, 0x0A}
)

// build returns the complete frame, and the offsets of its IP and of its TCP or UDP header.
func (s shape) build(t rapid.TB) (b []byte, network, transport int) {
	t.Helper()
	stack, network := s.link()
	ip, ipOctets := s.network()
	stack = append(stack, ip...)
	l3 := ip[0].(gopacket.NetworkLayer)
	if s.udp {
		udp := &layers.UDP{SrcPort: 4791, DstPort: 4791}
		_ = udp.SetNetworkLayerForChecksum(l3)
		stack = append(stack, udp)
	} else {
		tcp := s.tcp
		tcp.SrcPort, tcp.DstPort, tcp.Window = 5001, 80, 512
		_ = tcp.SetNetworkLayerForChecksum(l3)
		stack = append(stack, &tcp)
	}
	stack = append(stack, gopacket.Payload(pattern(s.payload)))
	b = serialize(t, stack...)
	return b[:s.octets(b, network)], network, network + ipOctets
}

// octets returns the length without the padding that gopacket adds to a short frame, and a virtual link does not.
func (s shape) octets(b []byte, network int) int {
	if s.ipv6 {
		return network + 40 + int(binary.BigEndian.Uint16(b[network+4:]))
	}
	return network + int(binary.BigEndian.Uint16(b[network+2:]))
}

func (s shape) link() ([]gopacket.SerializableLayer, int) {
	inner := uint16(TypeIPv4)
	if s.ipv6 {
		inner = TypeIPv6
	}
	types := append(append([]uint16{}, s.tags...), inner)
	stack := []gopacket.SerializableLayer{&layers.Ethernet{DstMAC: testDst, SrcMAC: testSrc,
		EthernetType: layers.EthernetType(types[0])}}
	for _, next := range types[1:] {
		stack = append(stack, &layers.Dot1Q{
			Priority: s.tci.PCP(), DropEligible: s.tci.DEI(), VLANIdentifier: s.tci.VID(),
			Type: layers.EthernetType(next),
		})
	}
	return stack, 14 + 4*len(s.tags)
}

// network returns the IP layers and their length. The differentiated services field is AF31 with ECT(0).
func (s shape) network() ([]gopacket.SerializableLayer, int) {
	protocol := layers.IPProtocolTCP
	if s.udp {
		protocol = layers.IPProtocolUDP
	}
	const field = 26<<2 | 0b10
	if !s.ipv6 {
		ip := &layers.IPv4{
			Version: 4, TOS: field, Id: 0xFFFE, TTL: 64, Flags: layers.IPv4DontFragment, Protocol: protocol,
			SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2},
		}
		if s.options {
			// router alert
			ip.Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
			return []gopacket.SerializableLayer{ip}, 24
		}
		return []gopacket.SerializableLayer{ip}, 20
	}
	ip := &layers.IPv6{
		Version: 6, TrafficClass: field, FlowLabel: 0xABCDE, HopLimit: 64, NextHeader: protocol,
		SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2"),
	}
	if !s.options {
		return []gopacket.SerializableLayer{ip}, 40
	}
	ip.NextHeader = layers.IPProtocolIPv6HopByHop
	raw := gopacket.Payload{
		byte(layers.IPProtocolIPv6Destination), 0, 1, 4, 0, 0, 0, 0, // hop-by-hop: PadN
		byte(protocol), 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // destination options: PadN
	}
	return []gopacket.SerializableLayer{ip, raw}, 40 + len(raw)
}

func serialize(t rapid.TB, stack ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	assert.Must(t, gopacket.SerializeLayers(buffer, options, stack...))
	return bytes.Clone(buffer.Bytes())
}

// pattern returns n octets that differ from each other when they are shifted.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

// unfinish replaces the complete checksum by the sum of the pseudo header, as a sender with checksum offload does. It
// returns the matching virtio header.
func (s shape) unfinish(b []byte, network, transport int) VnetHeader {
	offset, protocol := tcpChecksumOffset, byte(6)
	if s.udp {
		offset, protocol = udpChecksumOffset, 17
	}
	pseudo := append([]byte{}, b[network+12:network+20]...)
	if s.ipv6 {
		pseudo = append([]byte{}, b[network+8:network+40]...)
	}
	length := len(b) - transport
	pseudo = append(pseudo, 0, protocol, byte(length>>8), byte(length))
	sum := naiveSum(pseudo)
	b[transport+offset], b[transport+offset+1] = byte(sum>>8), byte(sum)
	return VnetHeader{Flags: VnetNeedsCsum, CsumStart: uint16(transport), CsumOffset: uint16(offset)}
}

// gsoFrame builds a GSO frame as the kernel hands it over.
func (s shape) gsoFrame(t rapid.TB, gsoSize int) ([]byte, VnetHeader) {
	t.Helper()
	b, network, transport := s.build(t)
	v := s.unfinish(b, network, transport)
	v.GSOSize = uint16(gsoSize)
	v.HdrLen = uint16(min(len(b), 65535))
	switch {
	case s.udp:
		v.GSOType = GSOUDPL4
	case s.ipv6:
		v.GSOType = GSOTCPv6
	default:
		v.GSOType = GSOTCPv4
	}
	return b, v
}

// naiveSum is RFC 1071 word by word.
func naiveSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i]) << 8
		if i+1 < len(b) {
			sum += uint32(b[i+1])
		}
		sum = sum&0xFFFF + sum>>16
	}
	return uint16(sum)
}

// decoded is the innermost packet of a frame as gopacket decodes it.
type decoded struct {
	ipv4    *layers.IPv4
	ipv6    *layers.IPv6
	tcp     *layers.TCP
	payload []byte // of TCP or UDP
}

// vxlanPort is the UDP port of tunnels that need no checksum.
const vxlanPort = 4789

// decode lets gopacket decode b and compute the lengths and checksums of all its headers anew.
func decode(t rapid.TB, b []byte) (j decoded) {
	t.Helper()
	packet := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	if failure := packet.ErrorLayer(); failure != nil {
		t.Fatalf("gopacket cannot decode the frame: %v", failure.Error())
	}
	transport := false
	for _, layer := range packet.Layers() {
		contents := layer.LayerContents()
		switch l := layer.(type) {
		case *layers.IPv4:
			j = decoded{ipv4: l}
			equalOctets(t, "IPv4 header", contents, serialize(t, l, gopacket.Payload(l.Payload))[:len(contents)])
		case *layers.IPv6:
			j = decoded{ipv6: l}
			assert.MustEqual(t, int(l.Length), ipv6Payload(l), "IPv6 payload length %d", l.Length)
		case *layers.TCP:
			j.tcp, j.payload, transport = l, l.Payload, true
			_ = l.SetNetworkLayerForChecksum(j.network())
			equalOctets(t, "TCP header", contents, serialize(t, l, gopacket.Payload(l.Payload))[:len(contents)])
		case *layers.UDP:
			j.payload, transport = l.Payload, true
			if l.DstPort == vxlanPort && l.Checksum == 0 {
				continue
			}
			_ = l.SetNetworkLayerForChecksum(j.network())
			want := serialize(t, l, gopacket.Payload(l.Payload))[:len(contents)]
			if want[6] == 0 && want[7] == 0 { // RFC 768 wants 0xFFFF here, gopacket does not know it
				want[6], want[7] = 0xFF, 0xFF
			}
			equalOctets(t, "UDP header", contents, want)
		}
	}
	assert.MustBeTrue(t, transport, "neither TCP nor UDP: %v", packet)
	return j
}

func (j decoded) network() gopacket.NetworkLayer {
	if j.ipv4 != nil {
		return j.ipv4
	}
	return j.ipv6
}

func equalOctets(t rapid.TB, what string, got, want []byte) {
	t.Helper()
	assert.MustBeSame(t, got, want, "%s", what)
}

// ipv6Payload includes the hop-by-hop header, which gopacket counts as part of the IPv6 layer.
func ipv6Payload(ip *layers.IPv6) int {
	if ip.HopByHop != nil {
		return len(ip.HopByHop.Contents) + len(ip.Payload)
	}
	return len(ip.Payload)
}
