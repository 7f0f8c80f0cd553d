package config

import (
	"pfcswitch/dataplane/assert"
	"testing"
	"time"
)

// A value that is read is in its range, and the same after it was written and read again.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"0", "8MiB", "1.5G", "800G", "0.001G", "300s", "10.5ms", "1µs", "100m", "10km", "10%",
		"1e-3", "0x1p-4", "on", "-1", "999999999999999999", ".5", "1."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wantAgain(t, size(256, maxSize), text, 256, maxSize)
		wantAgain(t, rate(minRate), text, minRate, maxRate)
		wantAgain(t, duration(time.Millisecond, time.Hour), text, time.Millisecond, time.Hour)
		wantAgain(t, alpha, text, 1./1024, 1024)
		wantAgain(t, shareOrNone, text, 0, 1)
		d, err := cable.read(text)
		assert.True(t, err != nil || (d >= 0 && d <= maxDelay), "%q is a cable of %v", text, d)
	})
}

func wantAgain[T int64 | float64 | time.Duration](t *testing.T, p parser[T], text string, least, most T) {
	t.Helper()
	v, err := p.read(text)
	if err != nil {
		return
	}
	if again, err := p.read(p.write(v)); !(v >= least && v <= most) || again != v || err != nil {
		t.Errorf("%q: %v, from %v to %v; %q is read as %v, %v", text, v, least, most, p.write(v), again, err)
	}
}
