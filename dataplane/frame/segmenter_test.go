package frame

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// cut returns all segments of whole.
func cut(t rapid.TB, whole []byte, v VnetHeader) [][]byte {
	t.Helper()
	var c Segmenter
	assert.MustEqual(t, c.Reset(whole, v), NotRefused, "refused")
	want := c.Segments()
	var segments [][]byte
	dst := make([]byte, c.MaxOctets())
	for n := c.Next(dst); n > 0; n = c.Next(dst) {
		segments = append(segments, bytes.Clone(dst[:n]))
	}
	assert.MustBeTrue(t, len(segments) == want && c.Left() == 0, "got %d segments and %d left, want %d", len(segments),
		c.Left(), want)
	return segments
}

// A gsoShape is a GSO frame with its number of segments.
type gsoShape struct {
	name string
	shape
	gso, segments int
	flag          uint8 // of the GSO type
}

// tcpOptions and tcpECN are headers of GSO frames.
var (
	tcpOptions = layers.TCP{Seq: 0xFFFFFF00, Ack: 7, ACK: true, Options: []layers.TCPOption{
		{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop},
		{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10, OptionData: make([]byte, 8)},
	}}
	tcpECN = layers.TCP{Seq: 0xFFFFFF00, ACK: true, PSH: true, FIN: true, CWR: true, ECE: true}
)

var gsoShapes = []gsoShape{
	{"TCP/IPv4", shape{tcp: tcpOptions, payload: 14480}, 1448, 10, 0},
	{"last segment short", shape{tcp: tcpOptions, payload: 14481}, 1448, 11, 0},
	{"one segment", shape{tcp: tcpOptions, payload: 1000}, 1448, 1, 0},
	{"no payload", shape{tcp: tcpOptions}, 1448, 1, 0},
	{"odd segments", shape{payload: 4001}, 1001, 4, 0},
	{"tagged", shape{tags: []uint16{TypeVLAN}, tci: MakeTCI(3, false, 10), payload: 9000}, 1460, 7, 0},
	{"priority-tagged", shape{tags: []uint16{TypeVLAN}, tci: MakeTCI(3, false, 0), payload: 9000}, 1460, 7, 0},
	{"two tags", shape{tags: []uint16{TypeServiceTag, TypeVLAN}, tci: 0x600A, payload: 9000}, 1460, 7, 0},
	{"IPv4 options", shape{options: true, payload: 9000}, 1436, 7, 0},
	{"TCP/IPv6", shape{ipv6: true, tcp: tcpOptions, payload: 14280}, 1428, 10, 0},
	{"TCP/IPv6 tagged", shape{ipv6: true, tags: []uint16{TypeVLAN}, payload: 9000}, 1440, 7, 0},
	{"TCP/IPv6 extension headers", shape{ipv6: true, options: true, payload: 9000}, 1400, 7, 0},
	{"UDP/IPv4", shape{udp: true, payload: 9000}, 1472, 7, 0},
	{"UDP/IPv6 tagged", shape{udp: true, ipv6: true, tags: []uint16{TypeVLAN}, payload: 9001}, 1452, 7, 0},
	{"UDP/IPv6 extension headers", shape{udp: true, ipv6: true, options: true, payload: 9001}, 1432, 7, 0},
	{"longest TCP/IPv4", shape{payload: 65535 - 40}, 1460, 45, 0},
	{"longest TCP/IPv6", shape{ipv6: true, payload: 65535 - 20}, 1440, 46, 0},
	{"longest UDP/IPv4 tagged", shape{udp: true, tags: []uint16{TypeVLAN}, payload: 65535 - 28}, 1472, 45, 0},
	{"smallest segments", shape{payload: 65495}, 8, 8187, 0},
	{"TCP/IPv4 with CWR", shape{tcp: tcpECN, payload: 4000}, 1000, 4, GSOECN},
	{"TCP/IPv6 with CWR", shape{ipv6: true, tcp: tcpECN, payload: 14281}, 1428, 11, GSOECN},
}

func (s gsoShape) build(t rapid.TB) ([]byte, VnetHeader) {
	b, v := s.gsoFrame(t, s.gso)
	v.GSOType |= s.flag
	return b, v
}

func TestSegmenterShapes(t *testing.T) {
	for _, tt := range gsoShapes {
		t.Run(tt.name, func(t *testing.T) {
			whole, v := tt.build(t)
			segments := cut(t, whole, v)
			assert.Equal(t, len(segments), tt.segments, "segments")
			checkSegments(t, tt.shape, whole, segments, tt.gso)
		})
	}
}

// checkSegments checks that gopacket finds the segments well-formed, and that together they equal the GSO frame.
func checkSegments(t rapid.TB, s shape, whole []byte, segments [][]byte, gso int) {
	t.Helper()
	_, network := s.link()
	var payload []byte
	for i, b := range segments {
		j := decode(t, b)
		equalOctets(t, "link header", b[:network], whole[:network])
		assert.MustBeTrue(t, i >= len(segments)-1 || len(j.payload) == gso,
			"segment %d: %d octets of payload, want %d", i, len(j.payload), gso)
		if j.ipv4 != nil && j.ipv4.Id != 0xFFFE+uint16(i) {
			t.Fatalf("segment %d: IPv4 identification %04x, want %04x", i, j.ipv4.Id, 0xFFFE+uint16(i))
		}
		if j.tcp != nil && j.tcp.Seq != s.tcp.Seq+uint32(len(payload)) {
			t.Fatalf("segment %d: sequence %d, want %d", i, j.tcp.Seq, s.tcp.Seq+uint32(len(payload)))
		}
		payload = append(payload, j.payload...)
	}
	equalOctets(t, "payload", payload, pattern(s.payload))
}

func TestSegmenterFlags(t *testing.T) {
	all := layers.TCP{FIN: true, PSH: true, ACK: true, ECE: true, CWR: true, NS: true}
	tests := []struct {
		name             string
		gsoType          uint8
		first, mid, last string // flags as they stand on each segment
	}{
		{"RFC 3168", GSOTCPv4 | GSOECN, "AECN", "AEN", "FPAEN"},
		{"accurate ECN", GSOTCPv4, "AECN", "AECN", "FPAECN"},
	}
	for _, tt := range tests {
		whole, v := shape{tcp: all, payload: 3000}.gsoFrame(t, 1000)
		v.GSOType = tt.gsoType
		for i, b := range cut(t, whole, v) {
			want := []string{tt.first, tt.mid, tt.last}[i]
			assert.Equal(t, flags(decode(t, b).tcp), want, "%s: segment %d: flags", tt.name, i)
		}
	}
	whole, v := shape{tcp: all, payload: 1000}.gsoFrame(t, 1000)
	v.GSOType |= GSOECN
	assert.Equal(t, flags(decode(t, cut(t, whole, v)[0]).tcp), "FPAECN", "only segment: flags, want FPAECN")
}

func flags(tcp *layers.TCP) (s string) {
	for _, f := range []struct {
		set  bool
		name string
	}{{tcp.FIN, "F"}, {tcp.SYN, "S"}, {tcp.RST, "R"}, {tcp.PSH, "P"}, {tcp.ACK, "A"}, {tcp.URG, "U"}, {tcp.ECE,
		"E"}, {tcp.CWR, "C"}, {tcp.NS, "N"}} {
		if f.set {
			s += f.name
		}
	}
	return s
}

// A GSO frame that a card merged on receipt carries a finished checksum.
func TestSegmenterWithoutPartialChecksum(t *testing.T) {
	for _, s := range []shape{
		{payload: 3000}, {ipv6: true, options: true, payload: 3000}, {udp: true, payload: 3000}, {udp: true, ipv6: true,
			payload: 3000},
	} {
		whole, v := s.gsoFrame(t, 1000)
		v.Flags, v.CsumStart, v.CsumOffset = VnetDataValid, 0, 0
		checkSegments(t, s, whole, cut(t, whole, v), 1000)
	}
	whole, _, transport := shape{udp: true, payload: 3000}.build(t)
	binary.BigEndian.PutUint16(whole[transport+udpChecksumOffset:], 0)
	for _, b := range cut(t, whole, VnetHeader{GSOType: GSOUDPL4, GSOSize: 1000}) {
		got := binary.BigEndian.Uint16(b[transport+udpChecksumOffset:])
		assert.True(t, got == 0, "UDP without a checksum got %04x", got)
	}
}

// The pseudo header of a source-routed packet has the last address, which only the sender's partial checksum contains.
func TestSegmenterKeepsThePseudoHeaderOfASourceRoute(t *testing.T) {
	s := shape{ipv6: true, options: true, payload: 3000}
	whole, network, transport := s.build(t)
	whole[network+6] = protocolRouting
	v := s.unfinish(whole, network, transport)
	v.GSOType, v.GSOSize = GSOTCPv6, 1000
	const other = 0x1234
	field := whole[transport+tcpChecksumOffset:]
	binary.BigEndian.PutUint16(field, add(binary.BigEndian.Uint16(field), other))
	for i, b := range cut(t, whole, v) {
		p := b[transport:]
		pseudo := append(bytes.Clone(b[network+8:network+40]), 0, 6, byte(len(p)>>8), byte(len(p)), other>>8,
			other&0xFF)
		got := naiveSum(append(pseudo, p...))
		assert.True(t, got == 0xFFFF, "segment %d: sum %04x, want ffff", i, got)
	}
	v.Flags = 0
	assert.Equal(t, new(Segmenter).Reset(whole, v), RefusedHeader, "without the partial checksum")
}

// Padding behind the packet is no payload.
func TestSegmenterDropsPadding(t *testing.T) {
	s := shape{payload: 3000}
	whole, v := s.gsoFrame(t, 1000)
	checkSegments(t, s, whole, cut(t, append(whole, 0xDE, 0xAD), v), 1000)
}

// The caller may stop when its buffer is full and continue with another buffer.
func TestSegmenterResumes(t *testing.T) {
	whole, v := shape{payload: 3500}.gsoFrame(t, 1000)
	want := cut(t, whole, v)
	var c Segmenter
	r := c.Reset(whole, v)
	assert.MustBeTrue(t, r == NotRefused, "%v", r)
	assert.Equal(t, c.MaxOctets(), 14+20+20+1000, "MaxOctets")
	short := make([]byte, c.MaxOctets()-1)
	for i := range want {
		if i < 3 {
			n := c.Next(short)
			assert.MustBeTrue(t, n == 0, "segment %d of %d octets fits %d", i, n, len(short))
		}
		assert.MustEqual(t, c.Left(), len(want)-i, "Left")
		dst := make([]byte, 2000)
		equalOctets(t, fmt.Sprint("segment ", i), dst[:c.Next(dst)], want[i])
	}
	n := c.Next(make([]byte, 2000))
	assert.True(t, n == 0, "after the last: got %d octets", n)
}

// Segments returns the number of frames from the GSO frame, including those already returned; 0 after a refusal.
func (c *Segmenter) Segments() int { return c.segments }
