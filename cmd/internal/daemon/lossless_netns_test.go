package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/macctl"
)

// smallBuffers fill up within a test.
const smallBuffers = "buffer: {lossless: {size: 256KiB}, lossy: {size: 64KiB}}\npriorities: {lossless: [3]}\n"

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
	r := newRig(t, 3, lab.LinkOptions{})
	r.start(setup{keys: smallBuffers + "workers: " + workers, each: at100M + ", flow_control: " + mode.String()})
	h1, h2, h3 := r.station(1, mode, 100e6), r.station(2, mode, 100e6), r.station(3, mode, 100e6)
	both := []stream{{to: 3, prio: 3, frames: 1500}, {to: 3, prio: 0, frames: 1500}}
	h1.send(both...)
	h2.send(both...)
	for _, from := range []*station{h1, h2} {
		h3.whole(from, 3)
		if mode == macctl.ModePause {
			h3.whole(from, 0)
		}
		if from.controls.Load() == 0 {
			t.Errorf("h%d was never told to stop, so nothing is shown", from.n)
		}
	}
	if mode == macctl.ModePFC && h3.tally(1, 0).frames+h3.tally(2, 0).frames == h1.sent[0].Load()+h2.sent[0].Load() {
		t.Errorf("no frame of priority 0 was lost, so nothing is shown")
	}
	r.noLosslessDrops()
	for n := 1; n <= 3; n++ {
		r.xoffSent(n, mode)
	}
}

// xoffSent fails the test where port n sent other control frames than its mode has, or other priorities than 3.
func (r *rig) xoffSent(n int, mode macctl.Mode) {
	r.t.Helper()
	told := r.snapshot(n).ControlSent
	for prio, frames := range told.PFCFrames {
		if frames > 0 && (prio != 3 || mode == macctl.ModePause) {
			r.t.Errorf("%s sent %d PFC frames with priority %d", portName(n), frames, prio)
		}
	}
	if mode == macctl.ModePFC && told.PauseFrames > 0 {
		r.t.Errorf("%s sent %d PAUSE frames under PFC", portName(n), told.PauseFrames)
	}
}
