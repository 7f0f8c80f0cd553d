package trunk

import (
	"math"
	"testing"
)

// never fails where chance is asked for: below Low and above High the decision is certain.
func never(t *testing.T) func() float64 {
	return func() float64 {
		t.Error("chance was asked for")
		return 0
	}
}

func TestREDBounds(t *testing.T) {
	c := REDConfig{Low: 1000, High: 3000, Probability: 0.25}
	r := NewRED(c, 0)
	for _, tt := range []struct {
		waiting int64
		chance  float64 // negative: not to be asked
		want    bool
	}{
		{0, -1, false}, {999, -1, false},
		{1000, 0, true}, {1000, 0.2499, true}, {1000, 0.25, false}, {2000, 0.2499, true}, {3000, 0.2499, true}, {3000, 0.25, false},
		{3001, -1, true}, {1 << 40, -1, true},
	} {
		chance := never(t)
		if tt.chance >= 0 {
			chance = func() float64 { return tt.chance }
		}
		if got := r.Drops(tt.waiting, chance); got != tt.want {
			t.Errorf("%d octets wait, chance %v: dropped %v, want %v", tt.waiting, tt.chance, got, tt.want)
		}
	}
	off := NewRED(REDConfig{}, 0)
	if off.Drops(1<<40, never(t)) {
		t.Error("RED that is off has dropped a frame")
	}
}

// The probability between the bounds is constant: the share of drops is the configured one wherever the queue stands.
func TestREDProbabilityIsConstant(t *testing.T) {
	for _, waiting := range []int64{1000, 1500, 3000} {
		r, chance, dropped := NewRED(REDConfig{Low: 1000, High: 3000, Probability: 0.1}, 0), xorshift(7), 0
		for range 100_000 {
			if r.Drops(waiting, chance) {
				dropped++
			}
		}
		if dropped < 9_500 || dropped > 10_500 {
			t.Errorf("%d octets wait: %d of 100000 dropped, want 10 %%", waiting, dropped)
		}
	}
}

// averagedAt returns a RED whose average has come to rest on a queue of that length.
func averagedAt(waiting int64) RED {
	r := NewRED(REDConfig{Low: 1000, High: 3000, Probability: 0.1, Averaged: true, TypicalNs: 1000}, 0)
	for range 20_000 {
		r.See(waiting, 0)
	}
	return r
}

// The averaged RED drops evenly: with p at the average, intervals between drops are spread from 1 to 1/p frames, so that one
// of (1/p + 1)/2 frames is lost (Floyd and Jacobson 1993, section 6). At half way p is 0.05: one of 10.5.
func TestREDAveraged(t *testing.T) {
	r, chance := averagedAt(2000), xorshift(3)
	dropped, gap, longest := 0, 0, 0
	for range 100_000 {
		gap++
		if r.Drops(0, chance) { // the instantaneous queue does not matter
			dropped++
			longest, gap = max(longest, gap), 0
		}
	}
	if share := float64(dropped) / 100_000; math.Abs(share-1/10.5) > 0.005 {
		t.Errorf("%.4f dropped, want %.4f", share, 1/10.5)
	}
	if longest > 21 {
		t.Errorf("%d frames without a drop, want at most 1/p = 20 and the first", longest)
	}
	for waiting, want := range map[int64]bool{0: false, 900: false, 3100: true} {
		if r := averagedAt(waiting); r.Drops(2000, never(t)) != want {
			t.Errorf("at an average of %d: dropped %v, want %v", waiting, !want, want)
		}
	}
}

// A short burst passes that the instantaneous RED would drop, and idle time lets the average fall.
func TestREDAverageIsSlow(t *testing.T) {
	r := NewRED(REDConfig{Low: 1000, High: 3000, Probability: 1, Averaged: true, TypicalNs: 1000}, 0)
	for range 50 {
		r.See(10_000, 0)
		if r.Drops(10_000, never(t)) {
			t.Fatal("a burst of 50 frames was not let through")
		}
	}
	full := averagedAt(2500)
	full.See(0, 512*1000) // as long as 512 frames: (1 - 1/512)^512 is about 1/e
	if want := 2500 * math.Exp(-1); math.Abs(full.average-want) > 0.01*want {
		t.Errorf("average %.0f after an idle time of 512 frames, want %.0f", full.average, want)
	}
}
