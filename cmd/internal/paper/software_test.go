package paper

import (
	"pfcswitch/dataplane/assert"
	"testing"
	"time"
)

// The slower peers react, the more DSH absorbs in comparison, and nothing is lost (largest would fail).
func TestSoftwareHeadroom(t *testing.T) {
	t.Parallel()
	last := 1.0
	for _, us := range []time.Duration{1, 100, 200} {
		w := softwareSwitch(us * time.Microsecond)
		static := assert.Got(w.largest(t.Context(), 1, "dt", softwareSenders)).Must(t)
		dynamic := assert.Got(w.largest(t.Context(), 1, "dsh", softwareSenders)).Must(t)
		if times := float64(dynamic) / float64(max(dshGrain, static)); times < last || dynamic == 0 {
			t.Errorf("%d µs: SIH %d, DSH %d: %.2f times, less than %.2f", us, static, dynamic, times, last)
		} else {
			last = times
		}
	}
	assert.True(t, last >= 4, "DSH absorbs %.1f times what SIH does at 200 µs: the test proves little", last)
	for policy, want := range map[string]bool{"dt": true, "dsh": false} {
		w := softwareSwitch(100 * time.Microsecond)
		if loses, err := w.meanLoses(t.Context(), 1, policy); err != nil || loses != want {
			t.Errorf("%s with η of the mean reaction: frames are lost: %v, want %v, %v", policy, loses, want, err)
		}
	}
	assert.True(t, !softwareSwitch(300*time.Microsecond).fits(), "static headroom fits at 300 µs")
}
