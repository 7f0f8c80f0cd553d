package bench

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A switch that loses nothing up to its capacity is found within the precision, by any sender: what counts is the rate
// that was really offered.
func TestSearchFindsCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Float64Range(2*leastRate, 3e6).Draw(t, "capacity")
		from := capacity * rapid.Float64Range(0.5, 20).Draw(t, "from")
		sender := rapid.Float64Range(0.3, 2).Draw(t, "sender") * capacity // what it can offer at most
		s := search{precision: 0.02, confirm: 3}
		trials := 0
		got, err := s.run(from, func(rate float64, _ bool) (float64, bool, error) {
			trials++
			offered := min(rate, sender)
			return offered, offered <= capacity, nil
		})
		best := min(capacity, sender, from)
		assert.MustBeTrue(t, err == nil && got <= best && got >= 0.979*best,
			"got %.0f, want %.0f less 2 %% at most (%v)", got, best, err)
		assert.MustBeTrue(t, trials <= 16+s.confirm, "%d trials", trials)
	})
}

// A rate at which a frame is lost only now and then is not confirmed.
func TestSearchConfirms(t *testing.T) {
	seen := map[float64]int{}
	got, err := search{precision: 0.02, confirm: 3}.run(100_000, func(rate float64, _ bool) (float64, bool, error) {
		seen[rate]++
		return rate, rate <= 60_000 || seen[rate] == 1 && rate <= 90_000, nil
	})
	assert.True(t, err == nil && got <= 60_000 && got >= 50_000,
		"got %.0f, %v, want 60000 or a few steps less", got, err)
}

// A switch that loses at every rate ends the search soon, and with 0.
func TestSearchGivesUp(t *testing.T) {
	for name, loses := range map[string]func(n int) bool{"always": func(int) bool { return true },
		"but once": func(n int) bool { return n > 1 }} {
		n := 0
		got, err := search{precision: 0.02, confirm: 3}.run(1e6, func(rate float64, _ bool) (float64, bool, error) {
			n++
			return rate, !loses(n), nil
		})
		assert.True(t, got == 0 && err == nil && n <= 40, "loses %s: got %.0f, %v after %d trials", name, got, err, n)
	}
}

func TestSearchStopsAtErrors(t *testing.T) {
	broken := errors.New("broken")
	for at := 1; at < 12; at++ {
		n := 0
		_, err := search{precision: 0.02, confirm: 3}.run(1e6, func(rate float64, _ bool) (float64, bool, error) {
			if n++; n == at {
				return 0, false, broken
			}
			return rate, rate < 5e5, nil
		})
		assert.True(t, (n >= at || err == nil) && (n < at || err == broken), "trial %d broke: %v after %d", at, err, n)
	}
}

// Trials that confirm are those at the end, and what a ring hides from a short one shows in them.
func TestSearchConfirmsByLongTrials(t *testing.T) {
	var long []bool
	got, err := search{precision: 0.02, confirm: 3}.run(100_000,
		func(rate float64, confirms bool) (float64, bool, error) {
			long = append(long, confirms)
			return rate, rate <= 80_000 || !confirms && rate <= 90_000, nil
		})
	n := len(long)
	assert.True(t, err == nil && got <= 80_000 && got >= 0.97*80_000 && n >= 6 && !long[0] && long[n-3] &&
		long[n-2] && long[n-1], "got %.0f, %v; trials that confirm: %v", got, err, long)
}

// A trial in which the ring only fills is not whole, nor one in which a frame is lost, or in which one more arrives
// than was sent.
func TestWhole(t *testing.T) {
	for name, row := range map[string]struct {
		o    outcome
		want bool
	}{
		"all arrives":      {outcome{offered: 3e6, delivered: 3e6, rate: 1e6, behind: 29_000}, true},
		"the ring fills":   {outcome{offered: 3e6, delivered: 3e6, rate: 1e6, behind: 31_000}, false},
		"one is lost":      {outcome{offered: 3e6, delivered: 3e6 - 1, rate: 1e6}, false},
		"one is too many":  {outcome{offered: 3e6, delivered: 3e6 + 1, rate: 1e6}, false},
		"no rate was seen": {outcome{offered: 10, delivered: 10}, false},
	} {
		assert.Equal(t, row.o.lossFree(allowedBacklog*1e6*3), row.want, "%s", name)
	}
}

func TestOutcome(t *testing.T) {
	o := outcome{offered: 4e6, delivered: 2e6, elapsed: 2, cpu: 3}
	// 3 s of CPU for 2 million frames are 1.5 µs each; for 2 million frames of 500 octets, 1 GB, 3 s a GB.
	assert.True(t, o.perFrame() == 1.5 && o.perGB(500) == 3, "%v µs, %v s", o.perFrame(), o.perGB(500))
}
