package sched

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

const (
	microsecond = 1_000
	millisecond = 1_000_000
	hour        = 3_600_000 * millisecond
)

func TestShaperBurstThenRate(t *testing.T) {
	var s Shaper
	s.Configure(1_000_000_000, 3076, 0) // two frames of 1538 octets on the wire
	for i, want := range []bool{true, true, false} {
		assert.MustEqual(t, s.Ready(1538, 0), want, "frame %d ready", i)
		if want {
			s.Take(1538)
		}
	}
	got, want := s.When(1538, 0), int64(12304) // 1538 · 8 bits at 1 ns each
	assert.True(t, got == want, "next frame may go at %d ns, want %d", got, want)
	assert.True(t, !s.Ready(1538, 12303) && s.Ready(1538, 12304), "Ready does not agree with When")
}

// The deepest bucket of the overspeed meter, twice the largest burst of the configuration, is full at the start.
func TestShaperDeepBucket(t *testing.T) {
	var s Shaper
	s.Configure(100_000_000_000, 2<<30, 0)
	for now := range int64(3) {
		assert.MustBeTrue(t, s.Ready(maxDepth, now*hour) && !s.Ready(maxDepth+1, now*hour),
			"after %d hours the bucket does not hold %d octets", now, int64(maxDepth))
		s.Take(1538)
	}
}

// An empty bucket earns 12.5 octets/µs, up to its depth, and nothing while the port stands still.
func TestShaperEarns(t *testing.T) {
	pause := func(s *Shaper) { s.Stop(100 * microsecond); s.Start(300*microsecond, 300*microsecond) }
	for name, tt := range map[string]struct {
		stops     func(s *Shaper)
		at, holds int64
	}{
		"an idle second":              {func(*Shaper) {}, 1_000 * millisecond, 5000},
		"a pause":                     {pause, 300 * microsecond, 1250},
		"a pause, and the time after": {pause, 400 * microsecond, 2500},
		"a pause that ended before the look at it": {func(s *Shaper) {
			s.Stop(0)
			s.Start(100*microsecond, 200*microsecond)
		}, 200 * microsecond, 1250},
		"a stop until a queue that was never paused gets a frame": {func(s *Shaper) {
			s.Stop(100 * microsecond)
			s.Start(0, 300*microsecond)
		}, 300 * microsecond, 1250},
		"Held during a pause": {func(s *Shaper) {
			s.Stop(0)
			s.Held(0, 100*microsecond, 100*microsecond)
			s.Start(50*microsecond, 200*microsecond)
		}, 200 * microsecond, 1250},
		"Held during a stop until such a frame": {func(s *Shaper) {
			s.Stop(100 * microsecond)
			s.Held(0, 100*microsecond, 200*microsecond)
			s.Start(0, 300*microsecond)
		}, 300 * microsecond, 1250},
	} {
		var s Shaper
		s.Configure(100_000_000, 5000, 0)
		s.Take(5000)
		tt.stops(&s)
		assert.True(t, s.Ready(tt.holds, tt.at) && !s.Ready(tt.holds+1, tt.at), "%s: the bucket has not %d octets",
			name, tt.holds)
	}
}

func TestShaperWithoutRate(t *testing.T) {
	var s Shaper
	s.Take(1 << 40)
	assert.True(t, s.Ready(1<<40, 0) && s.When(1, 7) == 7, "a shaper without a rate must let everything pass")
	s.Stop(10)
	s.Start(20, 30)
	assert.True(t, s.Ready(1<<40, 40), "a shaper without a rate must let everything pass after a pause too")
}

// In any interval at most burst + rate × time passes. A saturated shaper that is asked at When loses nothing.
func TestShaperConforms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1_000_000, 400_000_000_000).Draw(t, "rate")
		burst := rapid.Int64Range(3076, 1<<20).Draw(t, "burst")
		var s Shaper
		s.Configure(rate, burst, 0)
		var now, sent int64
		for range 200 {
			n := rapid.Int64Range(84, 1538).Draw(t, "octets")
			if rapid.Bool().Draw(t, "late") {
				now += rapid.Int64Range(0, millisecond).Draw(t, "by")
			}
			now = s.When(n, now)
			assert.MustBeTrue(t, s.Ready(n, now), "not ready at the time that When gave")
			s.Take(n)
			sent += n
			limit := float64(burst) + float64(rate)/8e9*float64(now) + 1
			assert.MustBeTrue(t, float64(sent) <= limit, "%d octets passed by %d ns, limit %.0f", sent, now, limit)
		}
	})
}

// Held removes tokens for what a late delay line still holds. A line that is on time costs no tokens.
func TestShaperPaysForALateLine(t *testing.T) {
	const rate, burst, delay = 100_000_000, 5000, 100 * microsecond // 1250 octets on their way
	tests := []struct{ held, left int64 }{{0, 5000}, {1250, 5000}, {1251, 4999}, {6000, 250}, {6250, 0}, {9000, 0}}
	for _, tt := range tests {
		var s Shaper
		s.Configure(rate, burst, 0)
		s.Held(tt.held, delay, 0)
		assert.True(t, s.Ready(tt.left, 0) && !s.Ready(tt.left+1, 0), "%d octets held: not %d left", tt.held, tt.left)
	}
	var s Shaper
	s.Held(1<<40, delay, 0)
	assert.True(t, s.Ready(1<<40, 0), "a shaper without a rate must let everything pass")
	s.Configure(400_000_000_000, burst, 0)
	s.Held(0, 1<<50, 0)
	assert.True(t, s.Ready(burst, 0), "a line that holds more than can be counted")
}

// A quantum is three quarters of a small bucket and half of a large one, and grows with the bucket.
func TestQuantum(t *testing.T) {
	for _, tt := range []struct{ burst, want int64 }{
		{3076, 2307}, {12_500, 9375}, {16_405, 12_303}, {20_000, 12_304}, {24_608, 12_304}, {62_500, 31_250}, {625_000,
			312_500},
	} {
		assert.Equal(t, Quantum(tt.burst), tt.want, "a bucket of %d octets", tt.burst)
	}
}

// A port that sleeps until a quantum of tokens is there keeps its rate if it wakes up late by at most the time that
// fills a quarter of its bucket. If it is later, it loses what the bucket cannot hold.
func TestQuantumLeavesRoomForLateWakeUps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1_000_000, 100_000_000_000).Draw(t, "rate")
		burst := max(3076, rate/8/2000)
		fill := burst * 8 * 1_000_000_000 / rate
		for _, tt := range []struct {
			late int64
			keep bool
		}{{0, true}, {fill / 4, true}, {fill * 5 / 8, false}} {
			var s Shaper
			s.Configure(rate, burst, 0)
			s.Take(burst)
			now, sent := int64(0), int64(0)
			for now < 1000*fill {
				now = s.When(Quantum(burst), now) + tt.late
				for s.Ready(burst/16, now) {
					s.Take(burst / 16)
					sent += burst / 16
				}
			}
			assert.MustEqual(t, sent >= 999*now/fill*burst/1000, tt.keep, "late by %d ns of %d: %d octets of %d",
				tt.late, fill, sent, now/fill*burst)
		}
	})
}
