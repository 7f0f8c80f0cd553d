package frame

import (
	"encoding/hex"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestParse(t *testing.T) {
	const addresses = "02000000000b" + "0600000000fa"
	header := func(h Header) Header {
		h.Dst, h.Src = 0x02000000000B, 0x0600000000FA
		return h
	}
	tests := []struct {
		name string
		in   string
		want Header
		ok   bool
	}{
		{"untagged", addresses + "0800" + "4500", header(Header{NetOffset: 14, EtherType: TypeIPv4}), true},
		{"header only", addresses + "0806", header(Header{NetOffset: 14, EtherType: TypeARP}), true},
		{"length field", addresses + "0026" + "424203", header(Header{NetOffset: 14, EtherType: 0x26}), true},
		{"tagged", addresses + "8100" + "700a" + "86dd", header(Header{NetOffset: 18, EtherType: TypeIPv6, TCI: 0x700A,
			Tagged: true}), true},
		{"priority-tagged", addresses + "8100" + "6000" + "0800",
			header(Header{NetOffset: 18, EtherType: TypeIPv4, TCI: 0x6000, Tagged: true}), true},
		{"tag of zeros", addresses + "8100" + "0000" + "0800",
			header(Header{NetOffset: 18, EtherType: TypeIPv4, Tagged: true}), true},
		{"two C-tags", addresses + "8100" + "a064" + "8100" + "0001" + "0800",
			header(Header{NetOffset: 18, EtherType: TypeVLAN, TCI: 0xA064, Tagged: true}), true},
		{"S-tag is no tag of ours", addresses + "88a8" + "a064" + "8100" + "0001" + "0800",
			header(Header{NetOffset: 14, EtherType: TypeServiceTag}), true},
		{"empty", "", Header{}, false},
		{"no EtherType", addresses + "08", Header{}, false},
		{"tag without TCI", addresses + "8100", Header{}, false},
		{"tag without EtherType", addresses + "8100" + "6000" + "08", Header{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Parse(assert.Hex(t, tt.in))
			assert.True(t, got == tt.want && ok == tt.ok, "\n got %+v, %v\nwant %+v, %v", got, ok, tt.want, tt.ok)
		})
	}
}

func TestAddress(t *testing.T) {
	b := assert.Hex(t, "aa0180c2000010bb")
	got, want := Address(b[1:]), uint64(0x0180C2000010)
	assert.True(t, got == want, "Address: got %012x, want %012x", got, want)
	PutAddress(b[1:], 0xFFFF_FEDCBA987654)
	assert.Equal(t, hex.EncodeToString(b), "aafedcba987654bb", "PutAddress")
}

func TestIsGroup(t *testing.T) {
	for address, want := range map[uint64]bool{
		Broadcast:      true,
		0x0180C2000001: true,
		0x3333FF000001: true,
		0x02000000000A: false,
		0x00FFFFFFFFFF: false,
		0:              false,
	} {
		assert.Equal(t, IsGroup(address), want, "IsGroup(%012x)", address)
	}
}

func TestWireOctets(t *testing.T) {
	for n, want := range map[int]int{60: 84, 1514: 1538, 1518: 1542, 14: 38, 65550: 65574} {
		assert.Equal(t, WireOctets(n), want, "WireOctets(%d)", n)
	}
}
