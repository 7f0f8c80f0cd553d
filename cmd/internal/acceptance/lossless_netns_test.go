package acceptance

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Two hosts send faster than a third one's port. Under PFC priority 3 all arrives, and priority 0 does not; under PAUSE
// all of it does. It is so where one worker serves all ports, and where ports have workers of their own, as on a
// machine with many CPUs.
func TestOversubscription(t *testing.T) {
	for _, workers := range []string{"auto", "per-port"} {
		for _, mode := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
			t.Run(mode.String()+" "+workers, func(t *testing.T) { oversubscribe(t, mode, workers) })
		}
	}
}

func oversubscribe(t *testing.T, mode macctl.Mode, workers string) {
	r := Start(t, 3, Setup{Keys: SmallBuffers + "workers: " + workers, Each: At100M + flow(mode)})
	h1, h2, h3 := r.Station(1, mode, 100e6), r.Station(2, mode, 100e6), r.Station(3, mode, 100e6)
	both := []Stream{{To: 3, Prio: 3, Frames: 1500}, {To: 3, Prio: 0, Frames: 1500}}
	h1.Send(both...)
	h2.Send(both...)
	for _, from := range []*Station{h1, h2} {
		h3.Whole(from, 3)
		if mode == macctl.ModePause {
			h3.Whole(from, 0)
		}
		assert.True(t, from.Controls.Load() != 0, "h%d was never told to stop, so nothing is shown", from.N)
	}
	if mode == macctl.ModePFC && h3.Tally(1, 0).Frames+h3.Tally(2, 0).Frames == h1.Sent[0].Load()+h2.Sent[0].Load() {
		t.Errorf("no frame of priority 0 was lost, so nothing is shown")
	}
	r.NoLosslessDrops()
	for n := 1; n <= 3; n++ {
		r.xoffSent(n, mode)
	}
}

// xoffSent fails the test where port n sent other control frames than its mode has, or other priorities than 3.
func (r *Rig) xoffSent(n int, mode macctl.Mode) {
	r.T.Helper()
	control := r.Snapshot(n).ControlSent
	for prio, frames := range control.PFCFrames {
		assert.True(r.T, frames == 0 || prio == 3 && mode != macctl.ModePause, "%s sent %d PFC frames with priority %d",
			PortName(n), frames, prio)
	}
	assert.True(r.T, mode != macctl.ModePFC || control.PauseFrames == 0, "%s sent %d PAUSE frames under PFC",
		PortName(n), control.PauseFrames)
}
