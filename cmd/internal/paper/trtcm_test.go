package paper

import (
	"math"
	"pfcswitch/dataplane/assert"
	"testing"
)

// What passes of each priority is what its rates say, within 2 % and what full buckets let pass at the start.
func TestMeteredShares(t *testing.T) {
	const burst = float64(meteredCBS*8) / meteredNs
	yellow := 0.0
	for load := 10.0; load <= meteredMember; load += 10 {
		got, want := meteredRun(1, load), meteredTheory(load)
		sum := 0.0
		for i := range want {
			g, w := got[i], want[i]
			sum += g.green + g.yellow
			yellow += w.yellow
			assert.True(t, math.Abs(g.green-w.green) <= 0.02*w.green+burst &&
				math.Abs(g.green+g.yellow-w.green-w.yellow) <= 0.02*(w.green+w.yellow)+burst,
				"load %v, priority %d: %+v passes, want %+v", load, i, g, w)
		}
		assert.True(t, sum <= meteredUplink+burst, "load %v: %v passes, more than the uplink takes", load, sum)
	}
	assert.True(t, yellow != 0, "no load makes yellow frames: the test proves nothing")
}
