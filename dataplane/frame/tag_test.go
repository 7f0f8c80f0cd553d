package frame

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestTCI(t *testing.T) {
	tests := []struct {
		pcp  uint8
		dei  bool
		vid  uint16
		want TCI
	}{
		{0, false, 0, 0x0000},
		{7, false, 0, 0xE000},
		{0, true, 0, 0x1000},
		{0, false, 4095, 0x0FFF},
		{3, true, 10, 0x700A},
	}
	for _, tt := range tests {
		got := MakeTCI(tt.pcp, tt.dei, tt.vid)
		assert.True(t, got == tt.want && got.PCP() == tt.pcp && got.DEI() == tt.dei && got.VID() == tt.vid,
			"MakeTCI(%d, %v, %d): got %04x = (%d, %v, %d), want %04x", tt.pcp, tt.dei, tt.vid, uint16(got), got.PCP(),
			got.DEI(), got.VID(), uint16(tt.want))
	}
	got := MakeTCI(0xFF, false, 0xFFFF)
	assert.True(t, got == 0xEFFF, "bits beyond the fields leak: got %04x, want efff", uint16(got))
}

func TestInsertTag(t *testing.T) {
	slot := assert.Hex(t, "eeeeeeeeeeee"+"02000000000b"+"02000000000a"+"0800"+"4500")
	start := InsertTag(slot, 6, TypeVLAN, MakeTCI(5, false, 100))
	assert.MustEqual(t, start, 2, "start")
	want := "eeee" + "02000000000b" + "02000000000a" + "8100a064" + "0800" + "4500"
	got := hex.EncodeToString(slot)
	assert.True(t, got == want, "\n got %s\nwant %s", got, want)
}

// removeTag takes the tag out of the frame that starts at slot[off] and returns the frame's new start.
func removeTag(slot []byte, off int) int {
	start := off + TagOctets
	copy(slot[start:start+typeOffset], slot[off:off+typeOffset])
	return start
}

// An inserted tag is read back, removing it restores the frame, and nothing before the frame changes.
func TestTagRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.IntRange(TagOctets, 32).Draw(t, "off")
		slot := rapid.SliceOfN(rapid.Byte(), off+HeaderOctets, off+200).Draw(t, "slot")
		tci := TCI(rapid.Uint16().Draw(t, "tci"))
		before := bytes.Clone(slot)

		start := InsertTag(slot, off, TypeVLAN, tci)
		h, ok := Parse(slot[start:])
		assert.MustBeTrue(t, ok && h.Tagged && h.TCI == tci && h.Dst == Address(before[off:]) &&
			h.Src == Address(before[off+AddressOctets:]), "tagged frame reads as %+v, %v", h, ok)
		assert.MustBeSame(t, slot[:start], before[:start], "octets before the frame changed")
		removeTag(slot, start)
		assert.MustBeTrue(t, bytes.Equal(slot[off:], before[off:]), "\n got %x\nwant %x", slot[off:], before[off:])
	})
}
