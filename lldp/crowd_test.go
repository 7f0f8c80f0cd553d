package lldp

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
)

func anybody(*Neighbour) bool { return true }

// crowd announces made-up neighbours, each for as long as LLDP can.
func (r *recorder) crowd(first, n int) {
	for i := range n {
		p := spine
		p.Port.Value, p.SystemName = fmt.Sprintf("x%d", first+i), "made up"
		r.receive(announcement(p, 0xFFFF))
	}
}

// follows says which neighbour counts.
func (r *recorder) follows(who string) {
	r.t.Helper()
	got := "nobody"
	if n := r.a.Follow(anybody); n != nil {
		got = n.PortText()
	}
	assert.Equal(r.t, got, who, "at %d s: follows", r.now/second)
}

// speak announces a neighbour now, and again each second for some seconds.
func (r *recorder) speak(p PDU, seconds int64) {
	r.receive(announcement(p, 121))
	for range seconds {
		r.run(r.now + second)
		r.receive(announcement(p, 121))
	}
}

// Made-up neighbours that came first do not keep the real one out: it has room, and counts as soon as it was heard
// again. They are forgotten soon, however long they say that they hold.
func TestCrowdCameFirst(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	r.crowd(0, MaxNeighbours+1)
	r.follows("nobody")
	r.speak(spine, 0)
	r.follows("nobody")
	r.speak(spine, 1)
	r.follows("p7")
	r.speak(spine, crowdHold)
	assert.Equal(t, len(r.a.Neighbours()), 1, "neighbours are left")
	r.follows("p7")
}

// A neighbour that is known counts at its first frame after the link came up again, whoever spoke first, and keeps its
// place however many come after it.
func TestKnownNeighbour(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	r.speak(spine, 1)
	r.follows("p7")
	r.a.SetLink(false, r.now)
	r.run(1000 * second)
	r.a.SetLink(true, r.now)
	r.crowd(0, 1)
	r.follows("x0") // it is alone
	r.crowd(1, MaxNeighbours)
	r.run(r.now + second)
	r.crowd(0, MaxNeighbours+1)
	r.follows("nobody") // they were heard again, but the known one may only be late
	r.speak(spine, 0)
	r.follows("p7")
	for i := range 100 {
		r.crowd(100*i, 100)
		r.run(r.now + second)
		r.crowd(100*i, 100)
		r.follows("p7")
	}
}

// A known neighbour that is silent loses its place to one that speaks, also where it said that it holds for hours.
func TestKnownNeighbourIsSilent(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	r.crowd(0, 1)
	r.run(second)
	r.crowd(0, 1)
	r.follows("x0")
	r.speak(spine, crowdHold-1)
	r.follows("x0")
	r.speak(spine, 1)
	r.follows("p7")
	r.run(r.now + 4*crowdHold*second) // silent, and nobody else is there
	r.follows("nobody")
}

// A neighbour that is alone holds for as long as it says.
func TestLongLifeAlone(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	r.crowd(0, 1)
	r.run(0xFFFF*second - 1)
	r.follows("x0")
	r.run(0xFFFF * second)
	r.follows("nobody")
}
