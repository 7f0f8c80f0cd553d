package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
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

// The total's RED counts what waits in all areas before a frame: neither the frame itself nor those that wait for
// their turn.
func TestTotalREDCountsWhatIsJudged(t *testing.T) {
	c := allYellow()
	c.Aggregate.TotalRED = trunk.REDConfig{Low: 3 * (small + 4), High: 100 * small, Probability: 1}
	r := trunkRig(t, c, nil)
	for m := range members {
		r.offer(m, several(m, 5, uint8(m), 4, small)...)
	}
	assert.Equal(t, len(r.drain(uplinkPort, r.now+second)), 3,
		"frames of 12 that left, want the 3 before which less than the low bound waits")
	assert.Equal(t, r.trunk().TotalRED.Frames, 9, "frames that RED of the total dropped")
	r.empty()
}

// What a new configuration says of meters and RED is in force for a trunk that goes on.
func TestTrunkMetersChange(t *testing.T) {
	r := trunkRig(t, allYellow(), nil)
	pass := func(when string, want int) {
		t.Helper()
		r.offer(0, several(0, 5, 0, 5, small)...)
		assert.Equal(t, len(r.drain(uplinkPort, r.now+second)), want, "%s: frames of 5 that left", when)
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
	assert.Equal(t, r.count(0).Drops[0][DropMeterRed], 5, "lossy frames were dropped for being red")
	r.empty()
}

// The time in which what waited drains is not idle time for averaged RED: of a priority it lasts until its area is
// empty, of the total until all are.
func TestDrainingIsNotIdle(t *testing.T) {
	const typical = 100
	averaged := trunk.REDConfig{Low: 3 * (small + 4), High: 6 * (small + 4), Probability: 1e-9, Averaged: true,
		TypicalNs: typical}
	for name, tt := range map[string]struct {
		own, total bool
		idle       int64 // after the area is empty
		want       int   // frames that leave then
	}{
		"own, just drained": {true, false, 0, 0}, "own, idle since": {true, false, 10_000 * typical, 1},
		"total, just drained": {false, true, 0, 0}, "total, idle since": {false, true, 10_000 * typical, 1},
	} {
		c := allYellow()
		if tt.own {
			c.Aggregate.RED[1] = averaged
		}
		if tt.total {
			c.Aggregate.TotalRED = averaged
		}
		c.Aggregate.Lossless = 1 << 2 // what fills the area
		r := trunkRig(t, c, nil)
		filler := uint8(1)
		if tt.total {
			filler = 2
		} else {
			c.Aggregate.Lossless |= 1 << 1
			r.retrunk(c)
		}
		r.offer(0, several(0, 5, filler, 3000, small)...)
		for left := 3000; left > 0; {
			got := len(r.send(uplinkPort, port.BatchFrames))
			if left -= got; got == 0 {
				r.now = r.sw.TxDeadline(uplinkPort, r.now)
			}
		}
		c.Aggregate.Lossless = 1 << 2
		r.retrunk(c)
		r.now += tt.idle
		r.offer(0, several(0, 5, 1, 1, small)...)
		assert.Equal(t, len(r.drain(uplinkPort, r.now+second)), tt.want, "%s: frames left", name)
		r.empty()
	}
}
