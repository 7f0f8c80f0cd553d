package frame

import (
	"encoding/binary"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A wrapping adds outer headers to an inner frame.
type wrapping struct {
	ipv6     bool // the outer header
	noSum    bool // of the outer UDP header
	protocol layers.IPProtocol
	middle   []byte // what stands between the outer IP or UDP header and the inner frame or packet
	packet   bool   // the tunnel carries packets, without their Ethernet header
}

var (
	vxlan      = wrapping{protocol: layers.IPProtocolUDP, middle: []byte{8, 0, 0, 0, 0, 0, 5, 0}}
	vxlan6     = wrapping{protocol: layers.IPProtocolUDP, middle: []byte{8, 0, 0, 0, 0, 0, 5, 0}, ipv6: true}
	vxlanNoSum = wrapping{protocol: layers.IPProtocolUDP, middle: []byte{8, 0, 0, 0, 0, 0, 5, 0}, noSum: true}
	greTap     = wrapping{protocol: layers.IPProtocolGRE, middle: []byte{0, 0, 0x65, 0x58}}
	ipInIP     = wrapping{protocol: layers.IPProtocolIPv4, packet: true}
	ip6InIP    = wrapping{protocol: layers.IPProtocolIPv6, packet: true}
)

// gsoFrame wraps a GSO frame of shape s as a sender does that leaves all work to its card: the outer UDP checksum,
// too, is only the sum of its pseudo header, or there is none.
func (w wrapping) gsoFrame(t rapid.TB, s shape, gsoSize int) ([]byte, VnetHeader) {
	t.Helper()
	whole, v := s.gsoFrame(t, gsoSize)
	inner := whole
	if w.packet {
		inner = whole[HeaderOctets:]
	}
	outer := shape{ipv6: w.ipv6, udp: true}
	stack, _ := outer.link()
	ip, octets := outer.network()
	switch h := ip[0].(type) {
	case *layers.IPv4:
		h.Protocol = w.protocol
	case *layers.IPv6:
		h.NextHeader = w.protocol
	}
	stack = append(stack, ip...)
	if w.protocol == layers.IPProtocolUDP {
		udp := &layers.UDP{SrcPort: 49152, DstPort: vxlanPort}
		_ = udp.SetNetworkLayerForChecksum(ip[0].(gopacket.NetworkLayer))
		stack = append(stack, udp)
	}
	b := serialize(t, append(stack, gopacket.Payload(append(append([]byte{}, w.middle...), inner...)))...)
	if transport := HeaderOctets + octets; w.protocol == layers.IPProtocolUDP {
		outer.unfinish(b, HeaderOctets, transport)
		if w.noSum {
			clear(b[transport+udpChecksumOffset:][:2])
		}
	}
	added := len(b) - len(whole)
	v.CsumStart += uint16(added)
	v.HdrLen = uint16(len(b))
	return b, v
}

func TestSegmenterTunnels(t *testing.T) {
	tests := []struct {
		name  string
		outer wrapping
		inner shape
	}{
		{"TCP/IPv4 in VXLAN", vxlan, shape{tcp: layers.TCP{PSH: true, ACK: true}, payload: 9000}},
		{"TCP/IPv6 in VXLAN", vxlan, shape{ipv6: true, payload: 9000}},
		{"UDP/IPv4 in VXLAN", vxlan, shape{udp: true, payload: 9000}},
		{"tagged, with options, in VXLAN", vxlan, shape{tags: []uint16{TypeVLAN}, options: true, payload: 9000}},
		{"VXLAN over IPv6", vxlan6, shape{payload: 9000}},
		{"VXLAN without a checksum", vxlanNoSum, shape{payload: 9000}},
		{"Ethernet in GRE", greTap, shape{payload: 9000}},
		{"IPv4 in IPv4", ipInIP, shape{payload: 9000}},
		{"IPv6 in IPv4", ip6InIP, shape{ipv6: true, payload: 9000}},
		{"longest", vxlan, shape{payload: 65535 - 50 - 40}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole, v := tt.outer.gsoFrame(t, tt.inner, 1350)
			var payload []byte
			segments := cut(t, whole, v)
			for i, b := range segments {
				if id := binary.BigEndian.Uint16(b[14+4:]); !tt.outer.ipv6 && id != 0xFFFE+uint16(i) {
					t.Errorf("segment %d: outer identification %04x, want %04x", i, id, 0xFFFE+uint16(i))
				}
				payload = append(payload, decode(t, b).payload...)
			}
			equalOctets(t, "payload", payload, pattern(tt.inner.payload))
			assert.Equal(t, len(segments), (tt.inner.payload+1349)/1350, "segments")
		})
	}
}

func TestSegmenterRefusesTunnels(t *testing.T) {
	tests := []struct {
		name   string
		outer  wrapping
		change func(b []byte, v *VnetHeader)
	}{
		{"checksum starts beyond the frame", vxlan, func(_ []byte, v *VnetHeader) { v.CsumStart = 65535 }},
		{"checksum starts in the outer UDP header", vxlan, func(_ []byte, v *VnetHeader) { v.CsumStart = 36 }},
		{"checksum starts in the inner IP header", vxlan, func(_ []byte, v *VnetHeader) { v.CsumStart -= 2 }},
		{"inner packet shorter than the outer", vxlan, func(b []byte, _ *VnetHeader) { b[14+50+3]-- }},
		{"inner fragment", vxlan, func(b []byte, _ *VnetHeader) { b[14+50+6] |= 0x20 }},
		{"outer UDP length", vxlan, func(b []byte, _ *VnetHeader) { b[34+5]-- }},
		{"GRE with a checksum", greTap, func(b []byte, _ *VnetHeader) { b[34] |= 0x80 }},
		{"GRE with a sequence number", greTap, func(b []byte, _ *VnetHeader) { b[34] |= 0x10 }},
	}
	for _, tt := range tests {
		whole, v := tt.outer.gsoFrame(t, shape{payload: 3000}, 1000)
		var c Segmenter
		assert.MustEqual(t, c.Reset(whole, v), NotRefused, "%s: before the change", tt.name)
		tt.change(whole, &v)
		if got := c.Reset(whole, v); got != RefusedTunnel || c.Segments() != 0 {
			t.Errorf("%s: got %v and %d segments, want %v", tt.name, got, c.Segments(), RefusedTunnel)
		}
	}
}
