package daemon

import (
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A peer that obeys PFC at 10G loses nothing while no worker runs for far longer than a pause lasts and the receive
// ring has room. It gets XOFF meanwhile, again and again.
func TestStandstillLosesNothing(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3, Each: "speed: 10G"})
	h1, h2 := r.Station(1, macctl.ModePFC, 1e10), r.Station(2, macctl.ModePFC, 1e10)
	stop := h1.Send(Stream{To: 2, Prio: 3, Octets: 300})
	eventually(t, "frames pass", func() bool { return h2.Tally(1, 3).Frames > 0 })
	for range 2 {
		must(t, r.d().runner.Do(func(*dataplane.Switch) error {
			time.Sleep(500 * time.Millisecond)
			return nil
		}))
	}
	stop()
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
	n := r.Snapshot(1).ControlSent.PFCFrames[3]
	assert.True(t, n >= 10, "%d PFC frames, want XOFF and many refreshes", n)
}
