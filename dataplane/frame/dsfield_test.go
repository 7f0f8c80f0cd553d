package frame

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestDSCP(t *testing.T) {
	tests := []struct {
		name      string
		in        string
		offset    int
		etherType uint16
		want      uint8
		ok        bool
	}{
		{"IPv4 AF31 ECT(0)", "456a", 0, TypeIPv4, 26, true},
		{"IPv4 all ones", "45ff", 0, TypeIPv4, 63, true},
		{"IPv4 behind something", "ffff45b8", 2, TypeIPv4, 46, true},
		{"IPv6 AF31 ECT(0), flow label", "66af", 0, TypeIPv6, 26, true},
		{"IPv6 CS6", "6c00", 0, TypeIPv6, 48, true},
		{"IPv6 CE only", "603f", 0, TypeIPv6, 0, true},
		{"ARP", "0001", 0, TypeARP, 0, false},
		{"second tag", "6000", 0, TypeVLAN, 0, false},
		{"one octet", "45", 0, TypeIPv4, 0, false},
		{"nothing", "", 0, TypeIPv6, 0, false},
		{"offset behind the frame", "456a", 3, TypeIPv4, 0, false},
		{"offset before the frame", "456a", -1, TypeIPv4, 0, false},
	}
	for _, tt := range tests {
		got, ok := DSCP(assert.Hex(t, tt.in), tt.offset, tt.etherType)
		assert.True(t, got == tt.want && ok == tt.ok, "%s: got %d, %v, want %d, %v", tt.name, got, ok, tt.want, tt.ok)
	}
}

func TestMarkCE(t *testing.T) {
	for _, s := range []shape{
		{payload: 10},
		{payload: 10, udp: true, options: true, tags: []uint16{TypeVLAN}},
		{payload: 10, ipv6: true},
		{payload: 10, ipv6: true, options: true, tags: []uint16{TypeVLAN}},
	} {
		b, _, _ := s.build(t)
		h, _ := Parse(b)
		assert.MustBeTrue(t, MarkCE(b, h.NetOffset, h.EtherType), "%+v: ECT(0) is not marked", s)
		j := decode(t, b)
		switch {
		case j.ipv4 != nil && j.ipv4.TOS != 26<<2|ecnCE:
			t.Errorf("%+v: TOS %08b", s, j.ipv4.TOS)
		case j.ipv6 != nil && (j.ipv6.TrafficClass != 26<<2|ecnCE || j.ipv6.FlowLabel != 0xABCDE):
			t.Errorf("%+v: traffic class %08b, flow label %x", s, j.ipv6.TrafficClass, j.ipv6.FlowLabel)
		}
		marked := bytes.Clone(b)
		assert.True(t, !MarkCE(b, h.NetOffset, h.EtherType), "%+v: a packet that came with CE counts as marked here", s)
		equalOctets(t, "marked twice", b, marked)
	}
}

func TestCE(t *testing.T) {
	for _, tt := range []struct {
		in        string
		offset    int
		etherType uint16
		want      bool
	}{
		{"456b", 0, TypeIPv4, true},
		{"4568", 0, TypeIPv4, false},
		{"4569", 0, TypeIPv4, false},
		{"456a", 0, TypeIPv4, false},
		{"ffff45ff", 2, TypeIPv4, true},
		{"603f", 0, TypeIPv6, true},
		{"602f", 0, TypeIPv6, false},
		{"603f", 0, TypeARP, false},
		{"45", 0, TypeIPv4, false},
		{"456b", 1, TypeIPv4, false},
		{"456b", -1, TypeIPv4, false},
	} {
		assert.Equal(t, CE(assert.Hex(t, tt.in), tt.offset, tt.etherType), tt.want, "%s from %d, type %04x", tt.in,
			tt.offset, tt.etherType)
	}
}

func TestMarkCELeavesAlone(t *testing.T) {
	ipv4, _, _ := shape{payload: 10}.build(t)
	ipv6, _, _ := shape{payload: 10, ipv6: true}.build(t)
	change := func(b []byte, offset int, value byte) []byte {
		b = bytes.Clone(b)
		b[offset] = value
		return b
	}
	tests := []struct {
		name      string
		in        []byte
		offset    int
		etherType uint16
	}{
		{"IPv4 Not-ECT", change(ipv4, 15, 26<<2), 14, TypeIPv4},
		{"IPv6 Not-ECT", change(ipv6, 15, 0x8F), 14, TypeIPv6},
		{"IPv4 with a version of 6", change(ipv4, 14, 0x65), 14, TypeIPv4},
		{"IPv6 with a version of 4", change(ipv6, 14, 0x46), 14, TypeIPv6},
		{"IPv4 truncated", ipv4[:33], 14, TypeIPv4},
		{"IPv6 truncated", ipv6[:53], 14, TypeIPv6},
		{"not IP", ipv4, 14, TypeARP},
		{"offset at the end", ipv4, len(ipv4), TypeIPv4},
		{"offset beyond", ipv4, len(ipv4) + 1, TypeIPv4},
		{"offset before", ipv4, -1, TypeIPv4},
	}
	for _, tt := range tests {
		b := bytes.Clone(tt.in)
		assert.True(t, !MarkCE(b, tt.offset, tt.etherType), "%s: marked", tt.name)
		equalOctets(t, tt.name, b, tt.in)
	}
}

// MarkCE keeps a right header checksum right, and does not repair a wrong one.
func TestMarkCEKeepsTheChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Byte(), ipv4MinOctets, ipv4MinOctets).Draw(t, "header")
		p[0] = 0x45
		p[1] = p[1]&^ecnMask | rapid.SampledFrom([]byte{1, 2}).Draw(t, "ect")
		p[10], p[11] = 0, 0
		sum := ^naiveSum(p)
		fault := rapid.SampledFrom([]uint16{0, 0, 0x0100, 0x8000}).Draw(t, "fault")
		sum ^= fault
		p[10], p[11] = byte(sum>>8), byte(sum)
		valid := naiveSum(p) == 0xFFFF
		assert.MustBeTrue(t, MarkCE(p, 0, TypeIPv4) && p[1]&ecnMask == ecnCE, "not marked: %x", p)
		got := naiveSum(p) == 0xFFFF
		assert.MustBeTrue(t, got == valid, "checksum valid: got %v, want %v: %x", got, valid, p)
	})
}

// A mark on a GSO frame is on each of its segments.
func TestMarkCEOfGSOFrame(t *testing.T) {
	for _, s := range []shape{{payload: 5000}, {payload: 5000, ipv6: true, udp: true}} {
		whole, v := s.gsoFrame(t, 1000)
		h, _ := Parse(whole)
		assert.MustBeTrue(t, MarkCE(whole, h.NetOffset, h.EtherType), "not marked")
		for _, b := range cut(t, whole, v) {
			if j := decode(t, b); (j.ipv4 != nil && j.ipv4.TOS&ecnMask != ecnCE) ||
				(j.ipv6 != nil && j.ipv6.TrafficClass&ecnMask != ecnCE) {
				t.Errorf("segment without CE: %x", b[:60])
			}
		}
	}
}
