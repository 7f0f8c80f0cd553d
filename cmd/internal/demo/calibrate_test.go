package demo

import (
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// The highest speed that fits is taken, in few trials.
func TestPick(t *testing.T) {
	idle := func(shares map[int64]float64) func(int64) (*Trial, error) {
		return func(speed int64) (*Trial, error) {
			share, ok := shares[speed]
			if !ok {
				return nil, nil
			}
			return &Trial{Speed: speed, Idle: share}, nil
		}
	}
	for _, tt := range []struct {
		name   string
		idle   map[int64]float64 // what was tried, and how much of the CPUs was left
		want   int64
		trials int
		why    string
	}{
		{"all fit", map[int64]float64{200e6: .9, 500e6: .8, 1e9: .7}, 1e9, 3, "the highest, since at 1 Gbit/s 70 %"},
		{"the next one does not", map[int64]float64{200e6: .5, 500e6: .49}, 200e6, 2,
			"since at 200 Mbit/s 50 % of the CPUs' time was left, and at 500 Mbit/s 49 %"},
		{"the first one does not", map[int64]float64{200e6: .4, 100e6: .6}, 100e6, 2,
			"since at 100 Mbit/s 60 % of the CPUs' time was left, and at 200 Mbit/s 40 %"},
		{"only 50M does", map[int64]float64{200e6: .1, 100e6: .3, 50e6: .5}, 50e6, 3, "since at 50 Mbit/s 50 %"},
		{"none does", map[int64]float64{200e6: 0, 100e6: 0, 50e6: 0}, 20e6, 3,
			"the lowest, since at 50 Mbit/s 0 % of the CPUs' time was left"},
		{"no time to go further down", map[int64]float64{200e6: 0, 100e6: .1}, 20e6, 2,
			"the lowest, since at 100 Mbit/s 10 % of the CPUs' time was left, and there was no time"},
		{"no time for more", map[int64]float64{200e6: .9}, 200e6, 1,
			"since at 200 Mbit/s 90 % of the CPUs' time was left, and there was no time to try a higher one"},
		{"no time at all", nil, 20e6, 0, "the lowest, since there was no time to try another one"},
	} {
		c, err := chooseSpeed(idle(tt.idle))
		if err != nil || c.Speed != tt.want || len(c.Trials) != tt.trials || !strings.HasPrefix(c.Why, tt.why) {
			t.Errorf("%s: %+v, %v, want %d after %d trials, %q", tt.name, c, err, tt.want, tt.trials, tt.why)
		}
	}
}

// A speed at which a sender falls behind does not fit, however idle the CPUs are.
func TestTrialFits(t *testing.T) {
	for _, tt := range []struct {
		t    Trial
		want bool
		says string
	}{
		{Trial{Speed: 1e9, Idle: .5, Behind: .05}, true, "at 1 Gbit/s 50 % of the CPUs' time was left"},
		{Trial{Speed: 1e9, Idle: .499}, false, "at 1 Gbit/s 50 % of the CPUs' time was left"},
		{Trial{Speed: 1e9, Idle: .9, Behind: .06}, false, "at 1 Gbit/s 90 % of the CPUs' time was left and a sender " +
			"left out 6 % of its frames"},
	} {
		got := tt.t.fits()
		assert.True(t, got == tt.want && tt.t.String() == tt.says, "%+v: %v, %q", tt.t, got, tt.t.String())
	}
}

// The name of a speed leaves nothing out.
func TestRateName(t *testing.T) {
	for bits, want := range map[int64]string{2_500_000_000: "2.5 Gbit/s", 1e9: "1 Gbit/s", 999_500_000: "999.5 Mbit/s",
		50_000_000: "50 Mbit/s", 900_000: "0.9 Mbit/s", 1_000_000_000_000: "1000 Gbit/s"} {
		assert.Equal(t, rateName(bits), want, "%d bit/s", bits)
	}
}
