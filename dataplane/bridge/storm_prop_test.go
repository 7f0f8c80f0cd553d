package bridge

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// TestStormIsATokenBucket compares the bucket with one in exact fractions.
func TestStormIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1, MaxStorm).Draw(t, "rate")
		s := newStorm(rate)
		depth := big.NewRat(max(rate/100, 2*1542*8), 1)
		if exact := big.NewRat(rate, 100); exact.Cmp(depth) > 0 {
			depth = exact
		}
		level := new(big.Rat).Set(depth)
		passed, now := new(big.Rat), int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "frames") {
			step := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 2*(s.depth/rate)),
				rapid.Int64Range(0, 1e12)).Draw(t, "step")
			octets := rapid.IntRange(60, 65550).Draw(t, "octets")
			now += step
			level.Add(level, new(big.Rat).Mul(big.NewRat(rate, 1_000_000_000), big.NewRat(step, 1)))
			if level.Cmp(depth) > 0 {
				level.Set(depth)
			}
			want := level.Sign() > 0
			if got := s.charge(octets, now); got != want {
				t.Fatalf("at %d: passed %v, want %v with %v bits", now, got, want, level.FloatString(3))
			}
			if want {
				bits := big.NewRat(int64(octets+24)*8, 1)
				level.Sub(level, bits)
				passed.Add(passed, bits)
			}
			assert.MustEqual(t, new(big.Rat).Mul(level, big.NewRat(bit, 1)).Cmp(big.NewRat(s.level, 1)), 0,
				"at %d: level %d, beside %v", now, s.level, new(big.Rat).Mul(level, big.NewRat(bit, 1)))
		}
		// Whatever the pattern: no more than depth, rate times time, and one largest frame.
		most := new(big.Rat).Mul(big.NewRat(rate, 1_000_000_000), big.NewRat(now, 1))
		most.Add(most, depth).Add(most, big.NewRat((65550+24)*8, 1))
		assert.MustBeTrue(t, passed.Cmp(most) <= 0, "%v bits in %d ns, want at most %v", passed, now, most)
	})
}
