package bridge

import (
	"math"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestStormDepth(t *testing.T) {
	const frame = (1518 + 24) * 8 // wire bits
	for _, tt := range []struct {
		name string
		rate int64
		want int64 // bits
	}{
		{"slow: two frames", 1, 2 * frame},
		{"where two frames end", 2 * frame * 100, 2 * frame},
		{"10 ms", 1_000_000_000, 10_000_000},
		{"fastest", MaxStorm, 8_000_000_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStorm(tt.rate)
			assert.True(t, s.depth == tt.want*bit && s.level == s.depth, "depth %d, level %d; want both %d",
				s.depth/bit, s.level/bit, tt.want)
		})
	}
}

func TestStormOff(t *testing.T) {
	s := newStorm(0)
	for range 1000 {
		assert.MustBeTrue(t, s.charge(65550, 0), "a frame was stopped without a limit")
	}
}

// TestStormGSOFrame: frames larger than the bucket pass, one at a time and at the right rate.
func TestStormGSOFrame(t *testing.T) {
	const (
		rate = 1_000_000
		bits = (65550 + 24) * 8
	)
	s := newStorm(rate)
	assert.MustBeTrue(t, s.charge(65550, 0), "the first one was stopped")
	free := (int64(bits)*bit - s.depth) / rate // when the debt is paid
	assert.True(t, !s.charge(60, free), "passed before the debt was paid")
	assert.True(t, s.charge(65550, free+1), "stopped after the debt was paid")
}

// TestStormClock: readings of two workers' clocks may be out of order, and pauses may be long.
func TestStormClock(t *testing.T) {
	s := newStorm(MaxStorm)
	s.charge(1500, 1000)
	level := s.level
	s.charge(1500, 500)
	assert.Equal(t, s.level, level-(1500+24)*8*bit, "level after an older reading")
	assert.Equal(t, s.last, 1000, "time went back to")
	s.charge(0, math.MaxInt64)
	assert.Equal(t, s.level, s.depth-24*8*bit, "level after 292 years")
}
