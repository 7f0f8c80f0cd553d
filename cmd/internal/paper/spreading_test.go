package paper

import "testing"

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
		r, err := c.run(t.Context(), Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := spreadOf(r)
		if s.lost > 0 {
			t.Errorf("%+v: %d frames found no room", c, s.lost)
		}
		if c.fault == "" {
			free = s
		} else {
			found[c.watchdog] = s
		}
	}
	without, with := found[false], found[true]
	if free.hosts != 0 || without.hosts != 15 || without.rate > free.rate/2 {
		t.Errorf("held without a fault: %+v; without a watchdog: %+v", free, without)
	}
	least := 1 - float64(spreadDetect)/float64(spreadTime)
	if with.rate < least*free.rate || with.hosts > 1 || with.discarded == 0 || without.discarded != 0 {
		t.Errorf("with a watchdog: %+v, want %.2f of %+v", with, least, free)
	}
}
