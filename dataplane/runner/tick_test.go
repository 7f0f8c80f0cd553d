package runner

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

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
	assert.Equal(t, delay, 0, "delay in ns by too few sleeps")
	wakes(wakeMemory, 20_000_000)
	assert.True(t, delay >= 20_000_000, "a delay of %d ns, want 20 ms", delay)
	for range 40 {
		wakes(wakeMemory/4, 100_000)
	}
	assert.True(t, delay <= 200_000 && r.wake.Count <= 2*wakeMemory,
		"a delay of %d ns by %d sleeps, want 0.1 ms", delay, r.wake.Count)
}

// Ticks are a second apart while frames come, and then ever farther, up to tickIdle. The seconds and windows that have
// begun are counted in any case.
func TestTicks(t *testing.T) {
	const second = int64(time.Second)
	k, _ := NewTick(1)
	for i, step := range []struct {
		at           int64
		receives     bool
		due, seconds int64
		window       bool
	}{
		{1*second + 5, true, 2 * second, 1, false}, {2*second + 7, true, 3 * second, 1, false},
		{3 * second, false, 4 * second, 1, false}, {4 * second, false, 8 * second, 1, false},
		{8*second + 1, false, 16 * second, 4, false}, {16 * second, false, 20 * second, 8, true},
		{20*second + 3, false, 30 * second, 4, true}, {30*second + 3, false, 40 * second, 10, true},
		{31*second + 2, true, 32 * second, 1, false}, // a frame has come
		{31*second + 4, true, 32 * second, 0, false},
		{32 * second, false, 34 * second, 1, false},
		{90*second + 1, false, 92 * second, 10, true}, // the process was stopped
	} {
		due, seconds, window := k.Next(step.at, step.receives)
		assert.True(t, due == step.due && seconds == step.seconds && window == step.window,
			"step %d: due %d, %d seconds later, a window has ended: %v; want %d, %d and %v", i, due, seconds, window,
			step.due, step.seconds, step.window)
	}
}

// The first frame after an idle time brings a tick at once, and the next ones do not.
func TestFrameEndsTheIdleTime(t *testing.T) {
	frame := func() port.Frame { return port.Frame{Data: data(0, 1, lossless, 0, 60), Stamp: wallClock()} }
	m := newWorkerRig(t, port.Lossless, []port.Frame{frame(), frame(), frame()}, nil)
	r := m.w.r
	r.due = make(chan struct{}, 1)
	r.idle.Store(true)
	for range 2 {
		if m.w.receive(r.tasks[0], port.Lossless, 1); len(r.due) != 1 || r.idle.Load() {
			t.Fatalf("after a frame: %d ticks are to follow, idle %v; want 1, false", len(r.due), r.idle.Load())
		}
	}
	assert.True(t, r.receives(), "the tick does not see the frame that has brought it")
	<-r.due
	m.w.receive(r.tasks[0], port.Lossless, 1)
	assert.Equal(t, len(r.due), 0, "a tick follows a frame though ticks are not rare")
}
