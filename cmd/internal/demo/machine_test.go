package demo

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

func TestShortageText(t *testing.T) {
	for _, tt := range []struct {
		s    shortage
		want string
	}{
		{shortage{}, ""},
		{busy, "s1 waited for a CPU for 10.0 % of the load, h2 could not offer 2.0 % of its frames"},
		{shortage{steal: 0.031}, "the hypervisor took 3.1 % of the CPUs"},
	} {
		got := tt.s.String()
		assert.True(t, got == tt.want, "%q, want %q", got, tt.want)
	}
}

// Threads that wait at the same time count as one, and what waits seldom does not count as if it always did.
func TestWaitShareOfAProcess(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name              string
		ran, waited, load time.Duration
		want              float64
	}{
		{"never", s, 0, s, 0},
		{"a tenth of the load", s / 10, s / 10, s, 0.1},
		{"four threads, each a quarter of its time", 3 * s, s, s, 0.25},
		{"it ran for a moment", s / 100, s / 100, s, 0.01},
	} {
		assert.Equal(t, waitShare(tt.ran, tt.waited, tt.load), tt.want, "%s", tt.name)
	}
}
