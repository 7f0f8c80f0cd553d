package runner

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// A worker waits after a round with few frames, and after no other.
func TestCoalesce(t *testing.T) {
	const few, many, tries = 1, coalesceFew, 50
	least := func(frames, octets int, change func(w *worker)) time.Duration {
		m := newWorkerRig(t, port.Lossless, repeated(data(0, 1, lossless, 0, octets), max(few, frames)), nil)
		best := time.Hour
		for range tries {
			m.w.framesThisRound, m.w.burstWasFull = 0, false
			if frames > 0 {
				m.round()
			}
			assert.MustEqual(t, m.w.framesThisRound, frames, "frames in a round")
			change(m.w)
			begun := time.Now()
			m.w.coalesce()
			best = min(best, time.Since(begun))
			m.w.lines, m.w.manyCPUs = nil, true
		}
		return best
	}
	same := func(*worker) {}
	for name, got := range map[string]time.Duration{
		"few frames":        least(few, 60, same),
		"some large frames": least(burstOctets/9000, 9000, same),
		"a GSO frame":       least(1, 64_000, same),
	} {
		assert.True(t, got >= coalesceTime, "%s: it waits %v, want %v at least", name, got, time.Duration(coalesceTime))
	}
	for name, got := range map[string]time.Duration{
		"many frames":      least(many, 60, same),
		"a full burst":     least(few, 60, func(w *worker) { w.burstWasFull = true }),
		"large frames":     least(burstOctets/9000+1, 9000, same),
		"GSO frames":       least(burstOctets/64_000+1, 64_000, same),
		"a delay line":     least(few, 60, func(w *worker) { w.lines = w.transmitters[:1] }),
		"there is one CPU": least(few, 60, func(w *worker) { w.manyCPUs = false }),
		"nothing has come": least(0, 60, same),
	} {
		assert.True(t, got < coalesceTime, "%s: it waits %v", name, got)
	}
}

// A burst is full where it has as many frames or octets as bursts may have, or as many octets as the port takes of a
// queue.
func TestFullBurst(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, nil, nil)
	tap := new(port.TAP)
	assert.MustBeTrue(t, tap.QueueBudget() < burstOctets, "a TAP leaves a queue after %d octets, no less than a burst",
		tap.QueueBudget())
	for i := range m.w.frames {
		m.w.frames[i].Data = make([]byte, 9014)
	}
	for _, tt := range []struct {
		name string
		port port.Port
		most int // octets
	}{{"no turn", m.in, burstOctets}, {"a TAP", tap, tap.QueueBudget()}} {
		task, n := &portTask{port: tt.port}, tt.most/9014
		assert.True(t, !m.w.fills(task, n) && m.w.fills(task, n+1),
			"%s: %d frames of 9014 octets are full: %v, one more: %v", tt.name, n, m.w.fills(task, n),
			m.w.fills(task, n+1))
	}
	for i := range m.w.frames {
		m.w.frames[i].Data = m.w.frames[i].Data[:60]
	}
	for n, want := range map[int]bool{1: false, burstFrames - 1: false, burstFrames: true} {
		assert.Equal(t, m.w.fills(&portTask{port: m.in}, n), want, "%d frames of 60 octets", n)
	}
}
