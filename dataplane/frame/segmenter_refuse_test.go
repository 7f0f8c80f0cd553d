package frame

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestSegmenterRefuses(t *testing.T) {
	tcp4, tcp6, udp4 := shape{payload: 3000}, shape{ipv6: true, options: true, payload: 3000}, shape{udp: true,
		payload: 3000}
	word := func(offset int, value uint16) func([]byte, *VnetHeader) {
		return func(b []byte, _ *VnetHeader) { binary.BigEndian.PutUint16(b[offset:], value) }
	}
	vnet := func(f func(*VnetHeader)) func([]byte, *VnetHeader) { return func(_ []byte, v *VnetHeader) { f(v) } }
	tests := []struct {
		name   string
		shape  shape
		change func([]byte, *VnetHeader)
		want   Refusal
	}{
		{"no GSO frame", tcp4, vnet(func(v *VnetHeader) { v.GSOType = GSONone }), RefusedType},
		{"UFO", udp4, vnet(func(v *VnetHeader) { v.GSOType = GSOUDP }), RefusedType},
		{"ECN alone", tcp4, vnet(func(v *VnetHeader) { v.GSOType = GSOECN }), RefusedType},
		{"ECN with UDP", udp4, vnet(func(v *VnetHeader) { v.GSOType |= GSOECN }), RefusedType},
		{"unknown type", tcp4, vnet(func(v *VnetHeader) { v.GSOType = 9 }), RefusedType},
		{"gso_size 0", tcp4, vnet(func(v *VnetHeader) { v.GSOSize = 0 }), RefusedSize},
		{"hdr_len beyond the frame", tcp4, vnet(func(v *VnetHeader) { v.HdrLen = 3055 }), RefusedHeader},
		{"TCPv4 with IPv6", tcp6, vnet(func(v *VnetHeader) { v.GSOType = GSOTCPv4 }), RefusedHeader},
		{"TCPv6 with IPv4", tcp4, vnet(func(v *VnetHeader) { v.GSOType = GSOTCPv6 }), RefusedHeader},
		{"TCP type with UDP", udp4, vnet(func(v *VnetHeader) { v.GSOType = GSOTCPv4 }), RefusedHeader},
		{"csum_start before the header", tcp4, vnet(func(v *VnetHeader) { v.CsumStart-- }), RefusedHeader},
		{"csum_start behind the header", tcp4, vnet(func(v *VnetHeader) { v.CsumStart += 50 }), RefusedHeader},
		{"csum_offset of UDP", tcp4, vnet(func(v *VnetHeader) { v.CsumOffset = 6 }), RefusedHeader},
		{"VXLAN", udp4, func(_ []byte, v *VnetHeader) { v.GSOType = GSOTCPv4; v.CsumStart, v.CsumOffset = 34+50, 16 },
			RefusedTunnel},
		{"GRE", tcp4, func(b []byte, v *VnetHeader) { b[14+9] = 47; v.CsumStart += 44 }, RefusedTunnel},
		{"not IP", tcp4, word(12, TypeARP), RefusedHeader},
		{"tags to the end", tcp4, func(b []byte, _ *VnetHeader) {
			for i := 12; i+2 <= len(b); i += 4 {
				binary.BigEndian.PutUint16(b[i:], TypeVLAN)
			}
		}, RefusedHeader},
		{"IPv4 version", tcp4, word(14, 0x6500), RefusedHeader},
		{"IPv4 header of 16", tcp4, word(14, 0x4400), RefusedHeader},
		{"IPv4 length beyond the frame", tcp4, word(14+2, 3041), RefusedHeader},
		{"IPv4 length below the header", tcp4, word(14+2, 19), RefusedHeader},
		{"IPv4 length 0", tcp4, word(14+2, 0), RefusedHeader},
		{"IPv4 more fragments", tcp4, word(14+6, 0x2000), RefusedHeader},
		{"IPv4 fragment offset", tcp4, word(14+6, 0x0001), RefusedHeader},
		{"IPv4 ends in the TCP header", tcp4, word(14+2, 39), RefusedHeader},
		{"IPv6 version", tcp6, word(14, 0x4000), RefusedHeader},
		{"IPv6 length beyond the frame", tcp6, word(14+4, 3045), RefusedHeader},
		{"IPv6 jumbogram", tcp6, word(14+4, 0), RefusedHeader},
		{"IPv6 second extension header beyond the packet", tcp6, word(14+48, 0x3CFF), RefusedHeader},
		{"IPv6 last extension header beyond the packet", shape{ipv6: true, options: true, payload: 1200},
			word(14+48, 0x06FF), RefusedHeader},
		{"IPv6 ends in an extension header", tcp6, word(14+4, 12), RefusedHeader},
		{"IPv6 in IPv6", tcp6, word(14+40, 41<<8), RefusedTunnel},
		{"IPv6 fragment", tcp6, word(14+40, 44<<8), RefusedHeader},
		{"IPv6 no next header", tcp6, word(14+40, 59<<8), RefusedHeader},
		{"TCP header of 16", tcp4, func(b []byte, _ *VnetHeader) { b[34+12] = 0x40 }, RefusedHeader},
		{"TCP header beyond the packet", tcp4, func(b []byte, _ *VnetHeader) {
			b[34+12] = 0xF0
			binary.BigEndian.PutUint16(b[14+2:], 79)
		}, RefusedHeader},
		{"UDP length is not the packet's", udp4, word(34+4, 3007), RefusedHeader},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole, v := tt.shape.gsoFrame(t, 1000)
			var c Segmenter
			assert.MustEqual(t, c.Reset(whole, v), NotRefused, "before the change")
			tt.change(whole, &v)
			got := c.Reset(whole, v)
			assert.True(t, got == tt.want, "got %v, want %v", got, tt.want)
			assert.True(t, c.Segments() == 0 && c.Left() == 0 && c.MaxOctets() == 0 && c.Next(make([]byte, 4096)) == 0,
				"a refused GSO frame can be cut")
		})
	}
}

func TestSegmenterLimitsSegments(t *testing.T) {
	whole, v := shape{payload: MaxSegments * 2}.gsoFrame(t, 2)
	var c Segmenter
	if got := c.Reset(whole, v); got != NotRefused || c.Segments() != MaxSegments {
		t.Errorf("got %v, %d segments, want %d", got, c.Segments(), MaxSegments)
	}
	whole, v = shape{payload: MaxSegments*2 + 1}.gsoFrame(t, 2)
	assert.Equal(t, c.Reset(whole, v), RefusedSize, "one octet more")
}

// A GSO frame that is truncated anywhere is refused and not changed.
func TestSegmenterTruncated(t *testing.T) {
	for _, s := range []shape{
		{payload: 30}, {tags: []uint16{TypeVLAN}, options: true, payload: 30}, {ipv6: true, options: true,
			payload: 30}, {udp: true, payload: 30},
	} {
		whole, v := s.gsoFrame(t, 8)
		v.HdrLen = 0
		before := bytes.Clone(whole)
		var c Segmenter
		for n := range whole {
			got := c.Reset(whole[:n:n], v)
			assert.MustBeTrue(t, got != NotRefused, "%d of %d octets are accepted", n, len(whole))
		}
		equalOctets(t, "GSO frame", whole, before)
	}
}

func TestRefusalString(t *testing.T) {
	seen := map[string]bool{}
	for r := NotRefused; r <= RefusedSize+1; r++ {
		if s := r.String(); s == "" || seen[s] {
			t.Errorf("Refusal %d: %q is empty or not its own", r, s)
		} else {
			seen[s] = true
		}
	}
}
