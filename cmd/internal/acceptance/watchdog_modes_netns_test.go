package acceptance

import (
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// By SONiC's rules one storm lasts for as long as XOFF comes, and ends when the peer has been quiet for the restoration
// time; what it sent and dropped is counted, and then everything passes.
func TestSONiCStorm(t *testing.T) {
	for _, mode := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
		t.Run(mode.String(), func(t *testing.T) {
			r := Start(t, 2, Setup{Keys: Lossless3 + "watchdog: {mode: sonic, detection: 100ms, restoration: " +
				"200ms, poll: 100ms}", Each: At100M + flow(mode)})
			h1, h2 := r.Station(1, mode, 100e6), r.Station(2, mode, 100e6)
			calm := h2.storm()
			eventually(t, "the switch is paused", func() bool { return r.Snapshot(2).Paused&(1<<3) != 0 })
			stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 5e6})
			eventually(t, "the storm is found", func() bool { return r.watch(2).State == deadlock.Stormed })
			time.Sleep(5 * 200 * time.Millisecond)
			stop()
			s := r.watch(2)
			assert.True(t, s.State == deadlock.Stormed && s.Detected == 1 && s.Recovered == 0 && s.LastDropped != 0,
				"while XOFF comes: %+v", s)
			calm()
			h2.pause(0)
			quiet := time.Now()
			eventually(t, "the storm is over", func() bool { return r.watch(2).State == deadlock.Operational })
			d := time.Since(quiet)
			assert.True(t, d >= 200*time.Millisecond, "restored after %v of quiet, want 200 ms", d)
			if s := r.watch(2); s.Detected != 1 || s.Recovered != 1 || s.Dropped != s.LastDropped ||
				s.Dropped != h1.Sent[3].Load() {
				t.Errorf("after the storm: %+v, %d frames were sent to it", s, h1.Sent[3].Load())
			}
			r.Passes(1, 2)
		})
	}
}

// A deadlock that keeps coming back switches PFC off for its queue, for a slow period: what waits leaves in spite of
// XOFF. Then it is obeyed again.
func TestRecurringStorm(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3 + "watchdog: {period: 10ms, count: 2, recovery: 10ms, action: " +
		"forward, slow: {period: 1s, threshold: 5}}", Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	calm := h2.storm()
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 5e6})
	eventually(t, "PFC is off", func() bool { return r.watch(2).State == deadlock.Closed })
	before := r.watch(2)
	time.Sleep(500 * time.Millisecond)
	if s := r.watch(2); before.Recurred != 1 || s.State != deadlock.Closed || s.Detected != before.Detected {
		t.Errorf("PFC was switched off %d times, and half a period later: %+v", before.Recurred, s)
	}
	eventually(t, "what waits leaves while PFC is off", func() bool {
		return r.Snapshot(2).Held[3] <= 5 && r.watch(2).State == deadlock.Closed
	})
	eventually(t, "PFC is on again", func() bool { return len(r.Events(dataplane.EventDeadlockReopened, 2)) > 0 })
	eventually(t, "the deadlock is found again", func() bool { return r.watch(2).Detected > before.Detected })
	calm()
	h2.pause(0)
	stop()
	h2.Whole(h1, 3)
	e := r.Events(dataplane.EventDeadlockRecurring, 2)
	assert.True(t, len(e) != 0, "no event tells of it")
	r.NoLosslessDrops()
}
