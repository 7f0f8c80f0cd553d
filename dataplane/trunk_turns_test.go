package dataplane

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/trunk"
)

// One frame of each member that has some, in turn, within a priority: also where the members are read one after the
// other, and the uplink sends after each burst.
func TestMembersTakeTurns(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	waits := func(in ...bool) {
		for m, are := range in {
			r.sw.FramesInRings(m, are, r.now)
		}
	}
	var sent []int
	burst := func(m, n int) {
		r.arrive(m, several(m, 5, lossless, n, small)...)
		sent = append(sent, origins(r.send(uplinkPort, n))...)
		r.settle()
		sent = append(sent, origins(r.drain(uplinkPort, r.now))...)
	}
	waits(true, true, true)
	burst(0, 3)
	burst(1, 2)
	v := r.trunk()
	assert.True(t, len(sent) == 2 && r.snapshot().Ports[uplinkPort].Held[lossless] == 3 &&
		v.ToUplink[lossless] == 3*(small+4), "%v are sent before it is the turn of the third, %+v", sent, v)
	burst(2, 4)
	waits(false, true, false)
	burst(0, 2)
	waits(false, false, false)
	burst(1, 1)
	assert.Same(t, sent, []int{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 2, 0}, "sent in the order")
	r.empty()
	v = r.trunk()
	assert.True(t, v.Members[0].Colours[lossless][trunk.Green] == (trunk.Tally{Frames: 5, Octets: 5 * (small + 4)}) &&
		v.ToUplink == [8]int64{}, "afterwards: %+v", v)
}

// A turn waits for a member whose worker gets no CPU for turnPatience only, and not for one that is read in vain.
func TestTurnWaitsNotForEver(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	for _, end := range []func(){
		func() { r.now = r.sw.TxDeadline(uplinkPort, r.now) },
		func() {
			r.sw.TakePending(uplinkPort)
			r.sw.FramesInRings(0, false, r.now)
			assert.True(t, r.sw.Pending(uplinkPort), "the uplink is not told that it may go on")
		},
	} {
		from := r.now
		r.sw.FramesInRings(0, true, r.now)
		r.offer(1, several(1, 5, lossless, 3, small)...)
		got := len(r.send(uplinkPort, 9)) + len(r.send(uplinkPort, 9))
		assert.True(t, got <= 1, "%d frames leave before it is their turn", got)
		end()
		if r.drain(uplinkPort, r.now+second); r.sw.Occupied(uplinkPort, r.now) != 0 || r.sw.trunks[0].waiting != 0 {
			t.Errorf("frames wait since %d", from)
		}
	}
	r.empty()
}

// While all members have frames in their rings, no member puts more than one in a row on the uplink, however long the
// bursts are, and nothing stays behind.
func TestNoMemberOvertakesAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := trunkRig(t, threeToOne(), nil)
		var rings [members][][]byte
		for m := range rings {
			rings[m] = several(m, 5, lossless, rapid.IntRange(1, 60).Draw(t, "frames"), small)
		}
		turn := 0
		for more := true; more; r.now += turnPatience / 10 {
			more = false
			for m, ring := range rings {
				n := min(len(ring), rapid.IntRange(1, 30).Draw(t, "burst"))
				rings[m] = ring[n:]
				all := true
				for k := range rings {
					all = all && len(rings[k]) > 0
					r.sw.FramesInRings(k, len(rings[k]) > 0, r.now)
				}
				r.arrive(m, ring[:n]...)
				r.settle()
				for _, from := range origins(r.send(uplinkPort, 64)) {
					assert.MustBeTrue(t, !all || from == turn%members, "frame %d is of member %d", turn, from)
					turn++
				}
				more = more || all
			}
		}
		for m, ring := range rings {
			r.sw.FramesInRings(m, false, r.now)
			r.offer(m, ring...)
		}
		r.drain(uplinkPort, r.now+second)
		r.empty()
	})
}

// Frames of other workers' ports take their turn all the same.
func TestMembersOfOtherWorkersTakeTurns(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	r.sw.SetOwner(uplinkPort, 1)
	for m := range members {
		r.arrive(m, several(m, 5, lossless, 2, small)...)
		staged := r.sw.Staged(nil)
		r.sw.Store(staged)
		r.sw.Publish(staged, r.now)
		r.settle()
	}
	assert.Same(t, origins(r.drain(uplinkPort, second)), []int{0, 1, 2, 0, 1, 2}, "sent in the order")
	r.empty()
}
