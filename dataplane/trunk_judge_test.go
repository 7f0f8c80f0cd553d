package dataplane

import (
	"testing"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// allYellow makes every frame yellow for its own meter and for the total's.
func allYellow() TrunkConfig {
	c := threeToOne()
	yellow := trunk.MeterConfig{CIR: 1, PIR: 1, CBS: 1, PBS: 1 << 30}
	c.Aggregate.Metered, c.Aggregate.Total = true, yellow
	for p := range c.Aggregate.Meters {
		c.Aggregate.Meters[p] = yellow
	}
	return c
}

// The total's RED counts what waits in all areas before a frame: neither the frame itself nor those that wait for their turn.
func TestTotalREDCountsWhatIsJudged(t *testing.T) {
	c := allYellow()
	c.Aggregate.TotalRED = trunk.REDConfig{Low: 3 * (small + 4), High: 100 * small, Probability: 1}
	r := trunkRig(t, c, nil)
	for m := range members {
		r.offer(m, several(m, 5, uint8(m), 4, small)...)
	}
	if got := len(r.drain(uplinkPort, r.now+second)); got != 3 {
		t.Errorf("%d of 12 frames left, want the 3 before which less than the low bound waits", got)
	}
	if got := r.trunk().TotalRED.Frames; got != 9 {
		t.Errorf("RED of the total dropped %d frames, want 9", got)
	}
	r.empty()
}

// What a new configuration says of meters and RED is in force for a trunk that goes on.
func TestTrunkMetersChange(t *testing.T) {
	r := trunkRig(t, allYellow(), nil)
	pass := func(when string, want int) {
		t.Helper()
		r.offer(0, several(0, 5, 0, 5, small)...)
		if got := len(r.drain(uplinkPort, r.now+second)); got != want {
			t.Errorf("%s: %d of 5 frames left, want %d", when, got, want)
		}
		r.now += second
	}
	pass("all yellow", 5)
	c := allYellow()
	c.Aggregate.Meters[0].PBS = int64(frame.WireOctets(small)) - 1
	r.retrunk(c)
	pass("all red", 0)
	c = allYellow()
	c.Aggregate.RED[0] = trunk.REDConfig{Low: 0, High: 1 << 30, Probability: 1}
	r.retrunk(c)
	pass("RED", 0)
	r.retrunk(allYellow())
	pass("all yellow again", 5)
	r.empty()
}

// A frame that was admitted as lossless passes, though the trunk takes its priority for lossy.
func TestTrunkPassesWhatWasAdmittedLossless(t *testing.T) {
	c := threeToOne()
	c.Aggregate.Metered, c.Aggregate.Lossless, c.Flow.Lossless = true, 0, 0 // every frame is red
	r := trunkRig(t, c, nil)
	r.offer(0, several(0, 5, lossless, 5, small)...)
	r.offer(0, several(0, 5, 0, 5, small)...)
	if got := len(r.drain(uplinkPort, r.now+second)); got != 5 || faults(r.snapshot()) != 0 {
		t.Errorf("%d frames left, %d faults, want the 5 lossless ones", got, faults(r.snapshot()))
	}
	if got := r.count(0).Drops[0][DropMeterRed]; got != 5 {
		t.Errorf("%d lossy frames were dropped for being red, want 5", got)
	}
	r.empty()
}
