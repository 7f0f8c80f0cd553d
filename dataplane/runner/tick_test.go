package runner

import "testing"

// A machine that was slow for an hour does not count as slow for the rest of its life.
func TestWakesOfLongAgoFade(t *testing.T) {
	rig, _ := measuringRig(t)
	r := &Runner{sw: rig.sw}
	delay := int64(0)
	wakes := func(n int, ns int64) {
		for range n {
			r.wake.Record(ns)
		}
		now := r.wake.Quantile(0.999)
		if r.followWakes(r.sw, 1) {
			delay = now
		}
	}
	wakes(wakeSamples-1, 20_000_000)
	if delay != 0 {
		t.Errorf("a delay of %d ns by too few sleeps", delay)
	}
	wakes(wakeMemory, 20_000_000)
	if delay < 20_000_000 {
		t.Errorf("a delay of %d ns, want 20 ms", delay)
	}
	for range 40 {
		wakes(wakeMemory/4, 100_000)
	}
	if delay > 200_000 || r.wake.Count > 2*wakeMemory {
		t.Errorf("a delay of %d ns by %d sleeps, want 0.1 ms", delay, r.wake.Count)
	}
}
