package dataplane

import (
	"testing"
	"time"

	"pfcswitch/dataplane/port"
)

// A worker waits after a round with few frames, and after no other.
func TestGather(t *testing.T) {
	const few, many, tries = 1, gatherFew, 50
	least := func(frames int, v Tuning, change func(w *worker)) time.Duration {
		m := newMill(t, port.Lossless, repeated(data(0, 1, lossless, 0, 60), max(few, frames)), withTuning(v))
		best := time.Hour
		for range tries {
			m.w.got = 0
			if frames > 0 {
				m.round()
			}
			if m.w.got != frames {
				t.Fatalf("%d frames in a round, want %d", m.w.got, frames)
			}
			change(m.w)
			begun := time.Now()
			m.w.gather()
			best = min(best, time.Since(begun))
			m.w.lines = nil
		}
		return best
	}
	same := func(*worker) {}
	if got := least(few, Tuning{}, same); got < gatherTime {
		t.Errorf("after a round with %d frame it waits %v, want %v at least", few, got, time.Duration(gatherTime))
	}
	for name, got := range map[string]time.Duration{
		"many frames":      least(many, Tuning{}, same),
		"a delay line":     least(few, Tuning{}, func(w *worker) { w.lines = w.transmitters[:1] }),
		"gathering is off": least(few, Tuning{NoGather: true}, same),
		"nothing has come": least(0, Tuning{}, same),
	} {
		if got >= gatherTime {
			t.Errorf("%s: it waits %v", name, got)
		}
	}
}
