package dataplane

import (
	"testing"
	"time"
)

// A worker rests once after work, only where it serves a host beside a crowd, and never beyond a deadline.
func TestRests(t *testing.T) {
	crowded := crowd{share: crowdWhole}
	for name, c := range map[string]struct {
		w    *worker
		d    time.Duration
		want bool
	}{
		"a host NIC in a crowd":       {&worker{worked: true, hostNIC: true, crowd: crowded}, -1, true},
		"with a late deadline":        {&worker{worked: true, hostNIC: true, crowd: crowded}, restTime + 1, true},
		"with a near deadline":        {&worker{worked: true, hostNIC: true, crowd: crowded}, restTime, false},
		"without work since it slept": {&worker{hostNIC: true, crowd: crowded}, -1, false},
		"a switch":                    {&worker{worked: true, crowd: crowded}, -1, false},
		"without a crowd":             {&worker{worked: true, hostNIC: true}, -1, false},
	} {
		if got := c.w.rests(c.d); got != c.want {
			t.Errorf("%s: rests %v, want %v", name, got, c.want)
		}
		if c.w.rests(-1) {
			t.Errorf("%s: rests again, without work since", name)
		}
	}
}
