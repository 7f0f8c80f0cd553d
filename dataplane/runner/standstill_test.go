package runner

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// A worker hangs that neither runs nor waits for a CPU, or runs and never looks. However slow it is, it does not hang.
func TestStandstill(t *testing.T) {
	const second, never = int64(second), 0
	for name, tt := range map[string]struct {
		pulse func(now int64) Pulse
		hangs int64 // from then on, rounded up to a second; never: not within ten minutes
	}{
		"it waits for a CPU":    {func(int64) Pulse { return Pulse{Thread: 1, Ready: true} }, never},
		"it sleeps":             {func(int64) Pulse { return Pulse{Thread: 1} }, 6},
		"nothing can be seen":   {func(int64) Pulse { return Pulse{} }, 6},
		"it waits for the lock": {func(int64) Pulse { return Pulse{Thread: 1, Waits: true} }, 61},
		"it runs all the time":  {func(now int64) Pulse { return Pulse{Thread: 1, CPU: 100 + now, Ready: true} }, 6},
		"it runs for 5 ms in each second, and is never met": {func(now int64) Pulse {
			return Pulse{Thread: 1, CPU: 100 + now/second*5_000_000}
		}, never},
		"it runs for 50 ms in each second, so 5 s in 100": {func(now int64) Pulse {
			return Pulse{Thread: 1, CPU: 100 + now/second*50_000_000, Ready: now/second%2 == 0}
		}, 101},
		"it has run for long before": {func(int64) Pulse { return Pulse{Thread: 1, CPU: 1 << 50, Ready: true} }, never},
		"it gives its last sign after 3 s": {func(now int64) Pulse {
			return Pulse{Thread: 1, CPU: min(now, 3*second)}
		}, 9},
		"it waits for the lock, then for nothing": {func(now int64) Pulse {
			return Pulse{Thread: 1, Waits: now < 20*second}
		}, 20},
		"another thread has to look by then, which sleeps": {func(now int64) Pulse {
			return Pulse{Thread: 1 + int(now/second/2), CPU: now / second / 2}
		}, 6},
		"another thread has to look by then, which waits for a CPU": {func(now int64) Pulse {
			return Pulse{Thread: 1 + int(now/second/2), CPU: now / second / 2, Ready: true}
		}, never},
	} {
		s := newStandstill(7)
		hangs := int64(never)
		for now := int64(0); now < 600*second && hangs == never; now += 10_000_000 {
			if s.hangs(7+now, func() Pulse { return tt.pulse(now) }) {
				hangs = (now + second - 1) / second
			}
		}
		assert.Equal(t, hangs, tt.hangs, "%s: hangs after s", name)
	}
	s := newStandstill(7)
	assert.Equal(t, s.hangs(7+holdMost, nil), false, "nobody to ask: hangs at once")
	assert.Equal(t, s.hangs(8+holdMost, nil), true, "nobody to ask: hangs in the end")
}

// The kernel is not asked for each frame.
func TestPulseIsSeldomTaken(t *testing.T) {
	s, asked := newStandstill(0), 0
	for now := int64(0); now < second; now += 1_000_000 {
		s.hangs(now, func() Pulse { asked++; return Pulse{Thread: 1, Ready: true} })
	}
	assert.Equal(t, asked, 9, "times asked in a second")
}
