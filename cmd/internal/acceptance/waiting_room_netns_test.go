package acceptance

import (
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Where frames of a lossless priority wait for buffer, because their receiver is paused for good and their sender does
// not obey, the other lossless priority of the same port passes, all of it. Nothing that waits is lost.
func TestWaitingPriorityStopsNoOther(t *testing.T) {
	const waiting, passing = 600, 1000
	r := Start(t, 3, Setup{Each: At100M, Keys: "priorities: {lossless: [3, 4]}\nbuffer: {lossless: {size: 16MiB}}\n",
		Ports: map[int]string{1: "priorities: {3: {alpha: 0.015625}}"}})
	h1 := r.Station(1, macctl.ModeOff, 100e6)
	h2, h3 := r.Station(2, macctl.ModePFC, 100e6), r.Station(3, macctl.ModePFC, 100e6)
	release := h2.pausesForGood(r)
	h1.Send(Stream{To: 2, Prio: 3, Frames: waiting})
	h1.Finish()
	eventually(t, "frames wait for buffer", func() bool { return len(r.Events(dataplane.EventRingHold, 1)) > 0 })
	h1.Send(Stream{To: 3, Prio: 4, Frames: passing})
	h1.Finish()
	eventually(t, "the other priority passes", func() bool { return h3.Tally(1, 4).Frames == passing })
	n := h2.Tally(1, 3).Frames
	assert.True(t, n != waiting, "%d frames came past the pause: nothing has waited", n)
	release()
	h2.Whole(h1, 3)
	h3.Whole(h1, 4)
	r.NoLosslessDrops()
	c := r.Snapshot(1).Counters
	assert.True(t, c.RingHoldNs != 0 && c.RingHoldBytes != 0, "waited: %d bytes, %d ns", c.RingHoldBytes, c.RingHoldNs)
}

// pausesForGood pauses priority 3 at the switch's port until the returned function is called.
func (s *Station) pausesForGood(r *Rig) (release func()) {
	s.PFC(1<<3, 0xffff)
	eventually(s.t, "the pause is in force", func() bool { return r.Snapshot(s.N).Paused == 1<<3 })
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				s.PFC(1<<3, 0xffff)
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		s.PFC(1<<3, 0)
	}
}
