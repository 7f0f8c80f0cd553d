package frame

import (
	"encoding/binary"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestDecodeVnetHeader(t *testing.T) {
	// flags, type, then four words in the machine's own order.
	b := []byte{1, 0x81}
	for _, word := range []uint16{66, 1448, 34, 16} {
		b = binary.NativeEndian.AppendUint16(b, word)
	}
	want := VnetHeader{Flags: VnetNeedsCsum, GSOType: GSOTCPv4 | GSOECN, HdrLen: 66, GSOSize: 1448, CsumStart: 34,
		CsumOffset: 16}
	got, ok := DecodeVnetHeader(b)
	assert.True(t, ok && got == want, "\n got %+v, %v\nwant %+v", got, ok, want)
	_, ok = DecodeVnetHeader(b[:9])
	assert.True(t, !ok, "nine octets were taken for a header")
}

func TestVnetHeaderPredicates(t *testing.T) {
	tests := []struct {
		v          VnetHeader
		csum, isGS bool
	}{
		{VnetHeader{}, false, false},
		{VnetHeader{Flags: VnetDataValid}, false, false},
		{VnetHeader{Flags: VnetNeedsCsum}, true, false},
		{VnetHeader{Flags: VnetNeedsCsum, GSOType: GSOTCPv6}, true, true},
		{VnetHeader{Flags: VnetDataValid, GSOType: GSOUDPL4}, false, true},
		{VnetHeader{GSOType: GSOECN}, false, true},
	}
	for _, tt := range tests {
		assert.True(t, tt.v.NeedsCsum() == tt.csum && tt.v.IsGSO() == tt.isGS, "%+v: got %v, %v, want %v, %v", tt.v,
			tt.v.NeedsCsum(), tt.v.IsGSO(), tt.csum, tt.isGS)
	}
}

func TestShift(t *testing.T) {
	tests := []struct {
		name     string
		in, want VnetHeader
		delta    int
	}{
		{"nothing in use", VnetHeader{HdrLen: 5, CsumStart: 6}, VnetHeader{HdrLen: 5, CsumStart: 6}, 4},
		{"checksum", VnetHeader{Flags: VnetNeedsCsum, CsumStart: 34, CsumOffset: 6},
			VnetHeader{Flags: VnetNeedsCsum, CsumStart: 38, CsumOffset: 6}, 4},
		{
			"GSO frame, tag in",
			VnetHeader{Flags: VnetNeedsCsum, GSOType: GSOTCPv4, HdrLen: 66, GSOSize: 1448, CsumStart: 34,
				CsumOffset: 16},
			VnetHeader{Flags: VnetNeedsCsum, GSOType: GSOTCPv4, HdrLen: 70, GSOSize: 1448, CsumStart: 38,
				CsumOffset: 16}, 4,
		},
		{
			"GSO frame, tag out",
			VnetHeader{Flags: VnetNeedsCsum, GSOType: GSOTCPv6, HdrLen: 90, GSOSize: 1428, CsumStart: 58,
				CsumOffset: 16},
			VnetHeader{Flags: VnetNeedsCsum, GSOType: GSOTCPv6, HdrLen: 86, GSOSize: 1428, CsumStart: 54,
				CsumOffset: 16}, -4,
		},
		{"without a checksum", VnetHeader{GSOType: GSOUDPL4, HdrLen: 42, CsumStart: 7},
			VnetHeader{GSOType: GSOUDPL4, HdrLen: 46, CsumStart: 7}, 4},
		{"top", VnetHeader{GSOType: GSOTCPv4, HdrLen: 65533}, VnetHeader{GSOType: GSOTCPv4, HdrLen: 65535}, 4},
		{"bottom", VnetHeader{Flags: VnetNeedsCsum, CsumStart: 3}, VnetHeader{Flags: VnetNeedsCsum}, -4},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.in.Shift(tt.delta), tt.want, "%s", tt.name)
	}
}

// Segmenting before and after inserting a tag gives the same segments but for the tag.
func TestShiftFollowsTheTag(t *testing.T) {
	whole, v := shape{payload: 5000}.gsoFrame(t, 1448)
	v.HdrLen = 54
	slot := append(make([]byte, TagOctets), whole...)
	start := InsertTag(slot, TagOctets, TypeVLAN, MakeTCI(3, false, 10))

	plain, tagged := cut(t, whole, v), cut(t, slot[start:], v.Shift(TagOctets))
	assert.MustBeTrue(t, len(plain) == len(tagged) && len(plain) == 4,
		"got %d and %d segments, want 4", len(plain), len(tagged))
	for i := range plain {
		untagged := tagged[i][removeTag(tagged[i], 0):]
		equalOctets(t, "segment", untagged, plain[i])
	}
}
