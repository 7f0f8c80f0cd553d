package headroom

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestPacking(t *testing.T) {
	for _, tt := range []struct {
		name          string
		cell          int64
		small         float64
		octets, bytes int64
	}{
		{"nothing", 256, 1, 0, 0},
		{"one frame of 84 octets on the wire", 256, 1, 84, 256},
		{"a part of a second one", 256, 1, 85, 512},
		{"full frames", 256, 0, 2 * 1538, 2 * 1536},
		{"half of each", 256, 0.5, 2 * 1538, 19*256 + 1536},
		{"cells of 80 octets: frames of 81 take two", 80, 1, 105, 160},
		{"cells of 64 octets: frames of 65 take two", 64, 1, 89, 128},
		{"cells of 512 octets", 512, 1, 8400, 51_200},
	} {
		p := Packing{Cell: tt.cell, MaxFrame: 1514, Small: tt.small}
		assert.Equal(t, p.Bytes(tt.octets), tt.bytes, "%s: bytes that %d octets take", tt.name, tt.octets)
		if got := p.Octets(tt.bytes); got < tt.octets || p.Bytes(got) > tt.bytes || p.Bytes(got+1) <= tt.bytes {
			t.Errorf("%s: %d B hold %d octets, want at least %d and as many as fit", tt.name, tt.bytes, got, tt.octets)
		}
	}
}

// A cable of 100 km at 1G has 125,000 octets on it, there and back: 1,489 frames of 84 octets take 381,184 bytes.
func TestPackingOfALongCable(t *testing.T) {
	in := Inputs{Speed: 1e9, MaxFrame: 1514, Delay: 500 * time.Microsecond, Burst: 62_500}
	p := in.Packing(256, 1)
	assert.Equal(t, p.Bytes(2*Octets(in.cableBits())), 381_184, "bytes that the cable alone takes")
	octets := Calculate(in, 0).Bytes()
	got, want := p.Bytes(octets), (octets+83)/84*256
	assert.True(t, octets == 197_038 && got == want, "%d octets take %d B, want 197038 and %d", octets, got, want)
}

// So many octets fit in frames of any one length, and no more is set aside than for the length that takes most.
func TestPackingIsForTheCostliestLength(t *testing.T) {
	for _, cell := range []int64{32, 64, 80, 100, 143, 144, 160, 256, 512, 1024, 4096} {
		p := Packing{Cell: cell, MaxFrame: 9014, Small: 1}
		for _, octets := range []int64{1, 84, 1538, 74_000, 1 << 40} {
			var most int64
			for n := minFrame; n <= p.MaxFrame; n++ {
				full, part := octets/(n+WireOverhead), octets%(n+WireOverhead)
				most = max(most, full*Cells(n, cell)*cell)
				if part >= minFrame+WireOverhead {
					most = max(most, full*Cells(n, cell)*cell+Cells(part-WireOverhead, cell)*cell)
				}
			}
			slack := p.costliest().buffer
			got := p.Bytes(octets)
			assert.True(t, got >= most && got <= most+slack,
				"cells of %d: %d octets take %d B, want %d and at most %d more", cell, octets, got, most, slack)
		}
	}
}

// However the frames are mixed, so many octets of them fit.
func TestAnyMixFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Packing{Cell: rapid.Int64Range(32, 1024).Draw(t, "cell"), MaxFrame: 9014, Small: 1}
		var octets, taken int64
		for _, n := range rapid.SliceOf(rapid.Int64Range(minFrame, p.MaxFrame)).Draw(t, "frames") {
			octets, taken = octets+n+WireOverhead, taken+Cells(n, p.Cell)*p.Cell
		}
		if got := p.Bytes(octets); taken > got {
			t.Errorf("frames of %d octets on the wire take %d B, and the headroom has %d", octets, taken, got)
		}
	})
}
