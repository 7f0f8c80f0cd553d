package dataplane

import (
	"strings"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
)

// pooled is a rig with a headroom pool that port 0 fills, while port 1 is above its threshold: its headroom would have
// room for the next frame.
func pooled(tb reporter, ringHold bool) *rig {
	tb.Helper()
	cfg := testConfig(3)
	cfg.Buffer.RingHold = ringHold
	cfg.Buffer.Headroom = buffer.HeadroomSharing{Ratio: 3}
	r := newRig(tb, cfg, testPorts(3)...)
	r.hear(2, lossless, 0xffff)
	for in := range 2 { // equal thresholds, so that port 0 is not above its own
		for seq := 0; r.sw.buffer.Off(in) == 0; seq++ {
			r.offer(in, data(in, 2, lossless, seq, small))
		}
	}
	for seq := 0; r.sw.buffer.InHeadroom(0, lossless)+r.sw.buffer.InHeadroom(1, lossless) < headroomCells*cell; seq++ {
		r.offer(0, data(0, 2, lossless, seq, small))
	}
	assert.MustBeTrue(tb, faults(r.snapshot()) == 0 && !r.sw.RoomWaits(0),
		"frames were lost or wait before the pool is full")
	return r
}

// Where other queues fill the headroom pool, a frame waits, and the event says why.
func TestFrameWaitsForHeadroomPool(t *testing.T) {
	r := pooled(t, true)
	r.arrive(1, data(1, 2, lossless, 1, small))
	r.settle()
	if e := r.lastEvent(); !r.sw.RoomWaits(1) || e.Kind != EventRingHold || e.Port != "p1" ||
		!strings.Contains(e.Text, "buffer.headroom_pool") {
		t.Errorf("waits %v, last event %+v, want one of p1 that names the pool", r.sw.RoomWaits(1), e)
	}
	wantPoolUse(t, r)
	r.hear(2, lossless, 0)
	r.drain(2, r.now+second)
	r.leaveRoom(1)
	r.drain(2, r.now+second)
	r.empty()
	assert.True(t, faults(r.snapshot()) == 0, "drops %v, want none", r.count(1).Drops)
}

// Without ring_hold it is lost, by a reason of its own, and the peer is not blamed.
func TestDropForHeadroomPool(t *testing.T) {
	r := pooled(t, false)
	r.offer(1, data(1, 2, lossless, 1, small))
	if c := r.count(1); c.Drops[lossless][DropHeadroomPool] != 1 || c.LosslessDrops[lossless] != 1 {
		t.Errorf("drops %v, lossless %v, want one", c.Drops, c.LosslessDrops)
	}
	lost, blamed := r.events(EventLosslessDrop), r.events(EventIgnoresXoff)
	assert.True(t, len(lost) == 1 && strings.Contains(lost[0].Text, "lossless-headroom-pool") && len(blamed) == 0,
		"events %+v and %+v, want one of the drop", lost, blamed)
	wantPoolUse(t, r)
	r.balanced()
}

func wantPoolUse(t *testing.T, r *rig) {
	t.Helper()
	u := r.snapshot().Ports[1].HeadroomUse[lossless]
	assert.True(t, u.WaitedForPool == 1 && u.Waited+u.WaitedBehindEarlier+u.WaitedEarly == 0,
		"use %+v, want one frame that found the pool full", u)
}
