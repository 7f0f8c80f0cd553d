package trunk

import (
	"math"
	"testing"

	"pfcswitch/dataplane/assert"
)

// never fails when random is called: below Low and above High the decision is certain.
func never(t *testing.T) func() float64 {
	return func() float64 {
		t.Error("random was asked for")
		return 0
	}
}

func TestREDBounds(t *testing.T) {
	c := REDConfig{Low: 1000, High: 3000, Probability: 0.25}
	r := NewRED(c, 0)
	for _, tt := range []struct {
		waiting int64
		random  float64 // negative: not to be asked
		want    bool
	}{
		{0, -1, false}, {999, -1, false},
		{1000, 0, true}, {1000, 0.2499, true}, {1000, 0.25, false}, {2000, 0.2499, true}, {3000, 0.2499, true}, {3000,
			0.25, false},
		{3001, -1, true}, {1 << 40, -1, true},
	} {
		random := never(t)
		if tt.random >= 0 {
			random = func() float64 { return tt.random }
		}
		assert.Equal(t, r.Drops(tt.waiting, random), tt.want, "%d octets wait, random %v: dropped", tt.waiting,
			tt.random)
	}
	off := NewRED(REDConfig{}, 0)
	assert.True(t, !off.Drops(1<<40, never(t)), "RED that is off has dropped a frame")
}

// The probability between the bounds is constant: the share of drops is the configured one for every queue length.
func TestREDProbabilityIsConstant(t *testing.T) {
	for _, waiting := range []int64{1000, 1500, 3000} {
		r, random, dropped := NewRED(REDConfig{Low: 1000, High: 3000, Probability: 0.1}, 0), xorshift(7), 0
		for range 100_000 {
			if r.Drops(waiting, random) {
				dropped++
			}
		}
		assert.True(t, dropped >= 9_500 && dropped <= 10_500,
			"%d octets wait: %d of 100000 dropped, want 10 %%", waiting, dropped)
	}
}

// averagedAt returns a RED whose average has settled at a queue of that length.
func averagedAt(waiting int64) RED {
	r := NewRED(REDConfig{Low: 1000, High: 3000, Probability: 0.1, Averaged: true, TypicalNs: 1000}, 0)
	for range 20_000 {
		r.Observe(waiting, 0)
	}
	return r
}

// The averaged RED drops evenly: with p at the average, intervals between drops are spread from 1 to 1/p frames, so
// that one of (1/p + 1)/2 frames is lost (Floyd and Jacobson 1993, section 6). At half way p is 0.05: one of 10.5.
func TestREDAveraged(t *testing.T) {
	r, random := averagedAt(2000), xorshift(3)
	dropped, gap, longest := 0, 0, 0
	for range 100_000 {
		gap++
		if r.Drops(0, random) { // the instantaneous queue does not matter
			dropped++
			longest, gap = max(longest, gap), 0
		}
	}
	share := float64(dropped) / 100_000
	assert.True(t, math.Abs(share-1/10.5) <= 0.005, "%.4f dropped, want %.4f", share, 1/10.5)
	assert.True(t, longest <= 21, "%d frames without a drop, want at most 1/p = 20 and the first", longest)
	for waiting, want := range map[int64]bool{0: false, 900: false, 3100: true} {
		if r := averagedAt(waiting); r.Drops(2000, never(t)) != want {
			t.Errorf("at an average of %d: dropped %v, want %v", waiting, !want, want)
		}
	}
}

// A short burst passes that the instantaneous RED would drop.
func TestREDAverageIsSlow(t *testing.T) {
	r := NewRED(REDConfig{Low: 1000, High: 3000, Probability: 1, Averaged: true, TypicalNs: 1000}, 0)
	for range 50 {
		r.Observe(10_000, 0)
		assert.MustBeTrue(t, !r.Drops(10_000, never(t)), "a burst of 50 frames was not let through")
	}
}

// What remains after an idle time is the power of whole and of parts of frame times.
func TestAfterIdle(t *testing.T) {
	for _, idle := range []int64{1, 499, 1000, 1001, 512_300, 5_000_000, 1 << 62} {
		want := math.Pow(1-averageWeight, float64(idle)/1000)
		got := afterIdle(idle, 1000)
		assert.True(t, math.Abs(got-want) <= 1e-6*want, "%d of 1000: %v, want %v", idle, got, want)
	}
}

// The average falls while the queue is empty, from when its last frame left and not from the last arrival, and no time
// counts twice. (1 - 1/512)^512 is about 1/e.
func TestREDIdleTime(t *testing.T) {
	const typical, frames = 1000, 512
	r, now := averagedAt(2500), int64(0)
	want := func(when string, average float64) {
		t.Helper()
		assert.True(t, math.Abs(r.average-average) <= 0.02*average,
			"%s: average %.0f, want %.0f", when, r.average, average)
	}
	now += 10_000 * typical // what waited takes its time
	r.Emptied(now)
	r.Observe(0, now)
	want("just emptied", 2500)
	now += frames * typical
	r.Observe(0, now)
	want("idle for 512 frames", 2500*math.Exp(-1))
	r.Observe(0, now-100*typical) // a worker that read its clock before it got its turn
	r.Observe(0, now)
	r.Emptied(now - typical)
	want("at the same time", 2500*math.Exp(-1))
	now += frames * typical
	r.Observe(0, now)
	want("idle for 512 frames more", 2500*math.Exp(-2))
	before := r.average
	now += frames * typical
	r.Observe(2500, now)
	want("something waits: not idle", before+(2500-before)/512)
}
