package dataplane

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// What came faster than the link's speed came by the peer's burst, and does not count as paced.
func TestPacedUse(t *testing.T) {
	const octet, speed = 8, 1_000_000_000 // ns that an octet takes
	for _, tt := range []struct {
		name        string
		at          []int64 // ns after XOFF has left, of frames of 1000 octets
		peak, paced int64
	}{
		{"at the link's speed", []int64{1000 * octet, 2000 * octet, 3000 * octet}, 3000, 3000},
		{"slower", []int64{5000 * octet, 9000 * octet}, 2000, 2000},
		{"a burst", []int64{500 * octet, 500 * octet, 500 * octet}, 3000, 500},
		{"a burst, and the last frame later", []int64{500 * octet, 500 * octet, 2500 * octet}, 3000, 2500},
		{"before XOFF has left", []int64{-1, 0}, 0, 0},
	} {
		var u headroomUseMeter
		for _, at := range tt.at {
			u.add(frameUse{octets: 1000, bytes: 1024, at: at}, speed)
		}
		assert.True(t, u.Peak == tt.peak && u.Paced == tt.paced,
			"%s: peak %d, paced %d, want %d and %d", tt.name, u.Peak, u.Paced, tt.peak, tt.paced)
	}
}

// What comes after an XOFF has to fit the headroom that was in force, or found, as it was told: not what was found
// later. Of several XOFFs, that which left least is shown, whichever let most through.
func TestUseOfTheHeadroomOfThen(t *testing.T) {
	c := testPort(0)
	p := &prober{}
	c.Prober, c.Follow = p, 1<<lossless
	r := newRig(t, testConfig(2), c, testPort(1))
	xoff := func(frames int) HeadroomUse {
		r.hear(1, lossless, 0xffff)
		r.offer(0, several(0, 1, lossless, alone+1, small)...)
		r.wantXoffSent(0, 0xffff)
		left := r.now
		p.found, r.now = 1<<20, r.now+1000 // more is found as soon as XOFF has left
		r.offerAt(left+1, several(0, 1, lossless, frames, small))
		r.hear(1, lossless, 0)
		r.drain(1, r.now+second)
		r.tell(0) // XON
		return r.snapshot().Ports[0].HeadroomUse[lossless]
	}
	const inForce = headroomCells * cell
	for i, tt := range []struct {
		what         string
		found        int64 // octets, as XOFF leaves
		follow       uint8
		frames       int
		used, exceed int64
		room         int64
	}{
		// in bytes, with the frame that crossed the threshold
		{"nothing found", 0, 1 << lossless, 2, 3 * cell, 0, inForce},
		{"less found than in force", 4 * onWire, 1 << lossless, 3, 3 * onWire, 0, 4 * onWire},
		// leaves more, so that the one before stands
		{"more found", 1 << 20, 1 << lossless, 5, 3 * onWire, 0, 4 * onWire},
		{"all that was found", 2 * onWire, 1 << lossless, 2, 2 * onWire, 0, 2 * onWire},
		{"more than was found", 2 * onWire, 1 << lossless, 4, 4 * onWire, 1, 2 * onWire},
		{"found, and not to be used", onWire, 0, 2, 4 * onWire, 1, 2 * onWire},
	} {
		p.found, r.sw.ports[0].cfg.Follow = tt.found, tt.follow
		use := xoff(tt.frames)
		want := (XoffUse{Used: tt.used, Room: tt.room})
		assert.True(t, use.LeastLeft == want && use.Exceeded == uint64(tt.exceed) && use.Xoffs == uint64(i)+1,
			"%s: %+v, exceeded %d of %d times\nwant %+v, %d of %d", tt.what, use.LeastLeft, use.Exceeded, use.Xoffs,
			want, tt.exceed, i+1)
	}
}
