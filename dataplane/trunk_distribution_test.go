package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// Lengths of the mixed stream, without FCS.
const (
	shortest = 60
	longest  = 1518 // with a tag
)

// A burst of a frame of 1522 octets among frames of 64 is distributed to three idle members, which send equally fast
// in octets with FCS: in second place it is overtaken by 2,880 octets, in first by 2,944, as ((N-1)·⌊M/K⌋ - 1)·K and
// (N-1)·⌊M/K⌋·K say.
func TestSwitchReordersByTheFormula(t *testing.T) {
	for place, want := range map[int]int{0: 2944, 1: 2880} {
		r := trunkRig(t, threeToOne(), nil)
		for seq := range 300 {
			octets := shortest
			if seq == place {
				octets = longest
			}
			r.offer(uplinkPort, data(uplinkPort, 5, 0, seq, octets))
		}
		left := map[int]int{} // when each frame has left, in octets
		for m := range members {
			now := 0
			for _, b := range r.drain(m, r.now+second) {
				now += len(b) + frame.FCSOctets
				left[sequence(b)] = now
			}
		}
		overtaken := 0
		for seq, at := range left {
			if seq > place && at < left[place] {
				overtaken += shortest + frame.FCSOctets
			}
		}
		assert.True(t, len(left) == 300 && overtaken == want,
			"in place %d of %d: overtaken by %d octets, want %d", place, len(left), overtaken, want)
		r.empty()
	}
}

// A member that is too short for a frame is passed over, although it holds least; a frame too long for all is dropped
// as oversize.
func TestLongFramesPassOverShortMembers(t *testing.T) {
	for _, byFlow := range []bool{false, true} {
		c := threeToOne()
		c.ByFlow = byFlow
		r := trunkRig(t, c, func(_ *Config, ports []PortConfig) {
			ports[0].MaxFrame -= 500
			ports[1].MaxFrame -= 200
		})
		const n = 30
		offer := func(octets int) {
			for seq := range n {
				r.offer(uplinkPort, data(uplinkPort, seq, 1, seq, octets))
			}
		}
		sent := func() (frames [members]int) {
			for m := range members {
				frames[m] = len(r.drain(m, r.now+second))
			}
			return frames
		}
		limit := r.sw.ports[0].cfg.MaxFrame + frame.TagOctets
		offer(limit + 1)
		if got := sent(); got[0] != 0 || got[1] == 0 || got[2] == 0 || got[1]+got[2] != n {
			t.Errorf("by flow %v: above one member's length the members sent %v", byFlow, got)
		}
		offer(limit)
		if got := sent(); got[0] == 0 || got[0]+got[1]+got[2] != n {
			t.Errorf("by flow %v: at one member's length the members sent %v", byFlow, got)
		}
		offer(limit + 201 + 100)
		assert.Equal(t, sent(), [members]int{0, 0, n}, "by flow %v: the members sent, want all by the long one", byFlow)
		r.sw.SetUp(2, false, r.now)
		offer(limit + 301)
		if got, drops := sent(), r.count(uplinkPort).Drops[1][DropOversize]; got != [members]int{} || drops != n {
			t.Errorf("by flow %v: too long for all: sent %v, %d dropped as oversize", byFlow, got, drops)
		}
		r.empty()
	}
}
