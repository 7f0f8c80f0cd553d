package paper

import "testing"

// What comes after XOFF fits into the standard's delay value. It lacks two frames at most: one that had not just begun
// before XOFF, and one that the peer had not just begun.
func TestHeadroomOfTheStandard(t *testing.T) {
	for _, l := range []headroomLink{{1e9, 1}, {10e9, 100}, {100e9, 10_000}, {25e9, 100_000}, {400e9, 1},
		{400e9, 100_000}} {
		calculated, used, lost, err := l.use(t.Context(), 1, false)
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		if used > found || used < found-found/100-3*(hdrmFrame+24) || lost {
			t.Errorf("%+v: %d octets used of %d; lost: %v", l, used, found, lost)
		}
	}
}
