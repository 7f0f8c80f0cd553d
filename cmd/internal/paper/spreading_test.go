package paper

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// A receiver that sends pauses without end has all other hosts held, since each sends to it. A watchdog leaves others
// their rate, but for the time until it acts, and no frame is lost for want of room.
func TestPauseSpreading(t *testing.T) {
	t.Parallel()
	found := map[bool]spread{}
	var free spread
	for i := range spreadCases {
		c := &spreadCases[i]
		if c.name == "slow" {
			continue
		}
		r := assert.Got(c.run(t.Context(), Options{Seed: 1})).Must(t)
		s := spreadOf(r)
		assert.True(t, s.lost <= 0, "%+v: %d frames found no room", c, s.lost)
		if c.fault == "" {
			free = s
		} else {
			found[c.watchdog] = s
		}
	}
	without, with := found[false], found[true]
	assert.True(t, free.hosts == 0 && without.hosts == 15 && without.rate <= free.rate/2,
		"held without a fault: %+v; without a watchdog: %+v", free, without)
	least := 1 - float64(spreadDetect)/float64(spreadTime)
	assert.True(t, with.rate >= least*free.rate && with.hosts <= 1 && with.discarded != 0 && without.discarded == 0,
		"with a watchdog: %+v, want %.2f of %+v", with, least, free)
}
