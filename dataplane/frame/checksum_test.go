package frame

import (
	"bytes"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestSum(t *testing.T) {
	tests := []struct {
		name    string
		in      string
		initial uint16
		want    uint16
	}{
		{"nothing", "", 0, 0},
		{"nothing but an initial", "", 0x1234, 0x1234},
		{"RFC 1071 clause 3", "0001f203f4f5f6f7", 0, 0xDDF2},
		{"odd", "0001f203f4f5f6", 0, 0xDCFB},
		{"one octet", "ab", 0x0001, 0xAB01},
		{"all ones", "ffffffffffffffffffff", 0xFFFF, 0xFFFF},
		{"end-around carry", "ffff0001", 0, 0x0001},
	}
	for _, tt := range tests {
		got := Sum(assert.Hex(t, tt.in), tt.initial)
		assert.True(t, got == tt.want, "%s: got %04x, want %04x", tt.name, got, tt.want)
	}
}

// Sum equals the sum word by word for every length and alignment. Sums may be chained at even lengths.
func TestSumIsRFC1071(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.OneOf(rapid.Just[byte](0xFF), rapid.Byte()), 0, 300).Draw(t, "b")
		skip := rapid.IntRange(0, min(8, len(b))).Draw(t, "skip")
		b = b[skip:]
		got, want := Sum(b, 0), naiveSum(b)
		assert.MustBeTrue(t, got == want, "got %04x, want %04x", got, want)
		half := rapid.IntRange(0, len(b)/2).Draw(t, "half") * 2
		got, want = Sum(b[half:], Sum(b[:half], 0)), Sum(b, 0)
		assert.MustBeTrue(t, got == want, "chained at %d: got %04x, want %04x", half, got, want)
	})
}

// unfinishedShapes are frames whose checksum is left to do.
var unfinishedShapes = map[string]shape{
	"short":             {payload: 1},
	"IPv4 options":      {payload: 1000, options: true},
	"odd TCP":           {payload: 1001},
	"odd UDP":           {payload: 1001, udp: true},
	"tagged IPv6":       {payload: 1428, ipv6: true, tags: []uint16{TypeVLAN}},
	"extension headers": {payload: 0, ipv6: true, options: true},
	"UDP/IPv6":          {payload: 33, ipv6: true, udp: true},
}

func TestCompleteChecksum(t *testing.T) {
	for name, s := range unfinishedShapes {
		t.Run(name, func(t *testing.T) {
			want, network, transport := s.build(t)
			b := bytes.Clone(want)
			v := s.unfinish(b, network, transport)
			assert.MustBeTrue(t, !bytes.Equal(b, want), "the checksum is not unfinished")
			assert.MustBeTrue(t, CompleteChecksum(b, v), "refused")
			equalOctets(t, "frame", b, want)
			decode(t, b)
		})
	}
}

func TestCompleteChecksumOfUDPIsNeverZero(t *testing.T) {
	s := shape{udp: true, payload: 2}
	b, network, transport := s.build(t)
	v := s.unfinish(b, network, transport)
	// Choose the payload so that everything sums to 0xFFFF, whose inverse is 0.
	payload := b[len(b)-2:]
	payload[0], payload[1] = 0, 0
	rest := ^Sum(b[transport:], 0)
	payload[0], payload[1] = byte(rest>>8), byte(rest)
	assert.MustBeTrue(t, CompleteChecksum(b, v), "refused")
	decode(t, b)
	got := b[transport+udpChecksumOffset:][:2]
	assert.True(t, got[0] == 0xFF && got[1] == 0xFF, "got %x, want ffff", got)
}

func TestCompleteChecksumSCTP(t *testing.T) {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolSCTP, SrcIP: []byte{10, 0, 0, 1},
		DstIP: []byte{10, 0, 0, 2}}
	want := serialize(t,
		&layers.Ethernet{DstMAC: testDst, SrcMAC: testSrc, EthernetType: layers.EthernetTypeIPv4}, ip,
		&layers.SCTP{SrcPort: 7, DstPort: 8, VerificationTag: 0xCAFE},
		gopacket.Payload("a data chunk, for the sake of the checksum"),
	)
	b := bytes.Clone(want)
	clear(b[34+8 : 34+12])
	assert.MustBeTrue(t, CompleteChecksum(b, VnetHeader{Flags: VnetNeedsCsum, CsumStart: 34, CsumOffset: 8}), "refused")
	equalOctets(t, "frame", b, want)
}

func TestCompleteChecksumRefuses(t *testing.T) {
	whole, network, transport := shape{payload: 10}.build(t)
	_ = network
	tests := []struct {
		name string
		v    VnetHeader
		ok   bool
	}{
		{"nothing to do", VnetHeader{CsumStart: 9999}, true},
		{"data valid", VnetHeader{Flags: VnetDataValid}, true},
		{"start beyond the frame", VnetHeader{Flags: VnetNeedsCsum, CsumStart: 65535}, false},
		{"field beyond the frame", VnetHeader{Flags: VnetNeedsCsum, CsumStart: uint16(transport), CsumOffset: 65535},
			false},
		{"half of the field in the frame", VnetHeader{Flags: VnetNeedsCsum, CsumStart: uint16(transport),
			CsumOffset: uint16(len(whole) - transport - 1)}, false},
		{"start in the addresses", VnetHeader{Flags: VnetNeedsCsum, CsumStart: 0, CsumOffset: 16}, false},
		{"SCTP cut short", VnetHeader{Flags: VnetNeedsCsum, CsumStart: uint16(len(whole) - 10), CsumOffset: 8}, false},
	}
	for _, tt := range tests {
		b := bytes.Clone(whole)
		assert.Equal(t, CompleteChecksum(b, tt.v), tt.ok, "%s", tt.name)
		equalOctets(t, tt.name, b, whole)
	}
}
