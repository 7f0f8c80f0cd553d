package acceptance

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
)

// A port without a speed carries them whole, with checksum and segmentation left to do where they were.
func TestGSOFramesWhole(t *testing.T) {
	r := Start(t, 3, Setup{
		Keys: Lossless3 + "fdb:\n" + `  - {mac: "02:00:00:00:00:02", vlan: 1, port: p2}` + "\n" +
			`  - {mac: "02:00:00:00:00:02", vlan: 10, port: p2}` + "\n" +
			`  - {mac: "02:00:00:00:00:03", vlan: 10, port: p3}` + "\n",
		Each: "speed: none", Ports: map[int]string{1: "tagged: [10]", 2: "tagged: [10]", 3: "pvid: 10"},
	})
	s := r.sockets()
	for _, f := range gsoFrames() {
		t.Run(f.Name, func(t *testing.T) {
			tag := f
			tag.Data, tag.Vnet = Tagged(f.Data, 0x8100, vlanTCI), f.Vnet.Shift(frame.TagOctets)
			toThree := tag
			toThree.Data = append(append([]byte(nil), HostMAC(3)...), tag.Data[6:]...)
			stripped := f
			stripped.Data = append(append([]byte(nil), HostMAC(3)...), f.Data[6:]...)
			for _, c := range []struct {
				name       string
				out        int
				sent, want gsoFrame
			}{
				{"untagged", 2, f, f}, {"tagged", 2, tag, tag}, {"tag stripped", 3, toThree, stripped},
			} {
				t.Run(c.name, func(t *testing.T) {
					must(t, s[0].Send(c.sent.Vnet, c.sent.Data))
					got := next(t, s[c.out-1])
					assert.True(t, bytes.Equal(got.Data, c.want.Data),
						"%d octets came, not the %d that were sent:\n got %.100x\nwant %.100x", len(got.Data),
						len(c.want.Data), got.Data, c.want.Data)
					if want := c.want.Vnet; !sameOffload(got.Vnet, want) {
						t.Errorf("what is left to do\n got %+v\nwant %+v", got.Vnet, want)
					}
				})
			}
		})
	}
	silent(t, s...)
}

// sameOffload compares but for the length of the headers, which is a hint that kernels fill in as they like.
func sameOffload(a, b frame.VnetHeader) bool {
	a.HdrLen, b.HdrLen = 0, 0
	return a == b
}

// A port with a speed, or with a neighbour that has one, cuts them and finishes the checksums.
func TestGSOFramesSegmented(t *testing.T) {
	for _, speed := range []string{"speed: 1G", "speed: none"} {
		t.Run(speed, func(t *testing.T) {
			r := Start(t, 3, Setup{Keys: Lossless3, Each: "tagged: [10]",
				Ports: map[int]string{1: speed, 2: speed, 3: "speed: 1G"}})
			s := r.sockets()
			for _, f := range gsoFrames() {
				t.Run(f.Name, func(t *testing.T) {
					must(t, s[0].Send(f.Vnet, f.Data))
					checkSegments(t, f, s[1], false)
					must(t, s[0].Send(f.Vnet.Shift(frame.TagOctets), Tagged(f.Data, 0x8100, 3<<13)))
					checkSegments(t, f, s[1], true)
				})
			}
			silent(t, s...)
		})
	}
}

// checkSegments receives the segments of f and compares each with the frame that gopacket makes of its content.
func checkSegments(t *testing.T, f gsoFrame, s *porttest.Socket, withTag bool) {
	t.Helper()
	whole := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
	want := whole.TransportLayer().LayerPayload()
	for i := range f.Parts {
		got := next(t, s)
		assert.MustEqual(t, got.Vnet, frame.VnetHeader{}, "segment %d came with unfinished business", i)
		b := got.Data
		if withTag {
			if b = append(b[:12:12], b[16:]...); !bytes.Equal(got.Data[12:16], []byte{0x81, 0, 3 << 5, 0}) {
				t.Fatalf("segment %d has lost its tag: %.20x", i, got.Data)
			}
		}
		n := min(segment, len(want))
		assert.MustBeSame(t, b, segmentOf(whole, i, want[:n], i == f.Parts-1), "segment %d of %d", i, f.Parts)
		want = want[n:]
	}
	assert.True(t, len(want) == 0, "%d octets are missing", len(want))
}

// segmentOf makes segment number i with the given payload anew.
func segmentOf(whole gopacket.Packet, i int, payload []byte, last bool) []byte {
	var network gopacket.SerializableLayer
	var transport gopacket.SerializableLayer
	switch l := whole.NetworkLayer().(type) {
	case *layers.IPv4:
		header := *l
		header.Id += uint16(i)
		network = &header
	case *layers.IPv6:
		network = l
	}
	switch l := whole.TransportLayer().(type) {
	case *layers.TCP:
		header := *l
		header.Seq += uint32(i * segment)
		if !last {
			header.PSH, header.FIN = false, false
		}
		transport = &header
		_ = header.SetNetworkLayerForChecksum(whole.NetworkLayer())
	case *layers.UDP:
		header := *l
		transport = &header
		_ = header.SetNetworkLayerForChecksum(whole.NetworkLayer())
	}
	link := whole.LinkLayer().(*layers.Ethernet)
	return append(append(append(append([]byte(nil), link.DstMAC...), link.SrcMAC...), byte(link.EthernetType>>8),
		byte(link.EthernetType)), mustSerialize(network, transport, gopacket.Payload(payload))...)
}

// A gsoFrame is what a kernel with segmentation offload hands over: headers as for one packet, and the sum of the
// pseudo header in place of the checksum.
type gsoFrame struct {
	Name  string
	Data  []byte
	Vnet  frame.VnetHeader
	Parts int // frames that it becomes
}

const (
	segment = 1400 // octets of payload
	vlanTCI = 3<<13 | 10
)

// gsoFrames go from host 1 to host 2. The last segment is shorter than the others.
func gsoFrames() []gsoFrame {
	v4, v6 := ipv4Header(1, 2, 0, layers.IPProtocolTCP), ipv6Header(1, 2, layers.IPProtocolTCP)
	u4, u6 := ipv4Header(1, 2, 0, layers.IPProtocolUDP), ipv6Header(1, 2, layers.IPProtocolUDP)
	payload := gopacket.Payload(pattern(40*segment + 33))
	all := []gsoFrame{
		newGSOFrame("TCP over IPv4", Ethernet(1, 2, 0x0800, mustSerialize(v4, tcp(v4), payload)), frame.GSOTCPv4),
		newGSOFrame("TCP over IPv6", Ethernet(1, 2, 0x86dd, mustSerialize(v6, tcp(v6), payload)), frame.GSOTCPv6),
		newGSOFrame("UDP over IPv4", Ethernet(1, 2, 0x0800, mustSerialize(u4, udp(u4), payload)), frame.GSOUDPL4),
		newGSOFrame("UDP over IPv6", Ethernet(1, 2, 0x86dd, mustSerialize(u6, udp(u6), payload)), frame.GSOUDPL4),
	}
	one := newGSOFrame("one TCP segment, checksum unfinished",
		Ethernet(1, 2, 0x0800, mustSerialize(v4, tcp(v4), gopacket.Payload(pattern(700)))), frame.GSOTCPv4)
	one.Vnet.GSOType, one.Vnet.GSOSize, one.Vnet.HdrLen, one.Parts = frame.GSONone, 0, 0, 1
	return append(all, one)
}

func newGSOFrame(name string, b []byte, gso uint8) gsoFrame {
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
	return gsoFrame{Name: name, Data: b, Vnet: v, Parts: 41}
}

func hostIPv6(n int) net.IP {
	ip := net.ParseIP("fd00::")
	ip[15] = byte(n)
	return ip
}

func ipv6Header(from, to int, next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: hostIPv6(from), DstIP: hostIPv6(to)}
}

func ipv6UDP(from, to int, n int) []byte {
	network := ipv6Header(from, to, layers.IPProtocolUDP)
	return Ethernet(from, to, 0x86dd, mustSerialize(network, udp(network), gopacket.Payload(pattern(n))))
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
