package paper

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// What comes after XOFF fits into the standard's delay value. It lacks two frames at most: one that had not just begun
// before XOFF, and one that the peer had not just begun.
func TestHeadroomOfTheStandard(t *testing.T) {
	for _, l := range []headroomLink{{1e9, 1}, {10e9, 100}, {100e9, 10_000}, {25e9, 100_000}, {400e9, 1},
		{400e9, 100_000}} {
		calculated, used, lost, err := l.use(t.Context(), 1, false)
		assert.Must(t, err)
		const frames = 2 * (hdrmFrame + 24)
		if most := l.delayValue(); used > most || used < most-most/100-frames || lost || used > calculated {
			t.Errorf("%+v: %d octets used, want %d to %d; calculated %d; lost: %v", l, used, most-most/100-frames, most,
				calculated, lost)
		}
	}
}

// What the probes find holds what comes after XOFF, and is larger by three frames at most, for two that had not just
// begun and the granularity of the buffer.
func TestHeadroomByHDRM(t *testing.T) {
	for _, l := range []headroomLink{{1e9, 1}, {1e9, 1000}, {10e9, 100}, {25e9, 100_000}, {100e9, 10_000},
		{400e9, 1}, {400e9, 100_000}} {
		found, used, lost, err := l.use(t.Context(), 1, true)
		assert.Must(t, err)
		assert.True(t, used <= found && used >= found-found/100-3*(hdrmFrame+24) && !lost,
			"%+v: %d octets used of %d; lost: %v", l, used, found, lost)
	}
}
