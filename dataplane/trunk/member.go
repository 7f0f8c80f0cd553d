package trunk

import (
	"math/bits"

	"pfcswitch/dataplane/frame"
)

// A Distributor chooses the member by which a frame from the uplink leaves.
type Distributor struct {
	// ByFlow sends all frames of a flow by one member. Without it a frame goes to the member that holds least.
	ByFlow bool
	next   int // member that wins the next tie
}

// Choose returns the member for the next frame among those that are up (bit n = member n), or -1 if none is. held is
// what each member's area holds, in octets. With ByFlow only flow, the number of the frame's flow, matters. Nothing
// changes until Chosen.
func (d *Distributor) Choose(held []int64, up uint64, flow uint64) int {
	if d.ByFlow {
		return rendezvous(len(held), up, flow)
	}
	best := -1
	for i := range held {
		member := d.next + i
		if member >= len(held) {
			member -= len(held)
		}
		if up>>member&1 == 1 && (best < 0 || held[member] < held[best]) {
			best = member
		}
	}
	return best
}

// Chosen says that a frame went to a member. Among members that hold equally much the next one has its turn.
func (d *Distributor) Chosen(member, members int) { d.next = (member + 1) % members }

// rendezvous returns the member that weighs most for a flow.
func rendezvous(members int, up uint64, flow uint64) int {
	best, heaviest := -1, uint64(0)
	for member := range members {
		if up>>member&1 == 0 {
			continue
		}
		if weight := frame.Weight(flow, member); best < 0 || weight > heaviest {
			best, heaviest = member, weight
		}
	}
	return best
}

// MaxMembers is the largest number of members of a trunk.
const MaxMembers = 64

// An Arbiter lets the members send to the uplink in turn, one frame each.
type Arbiter struct{ next uint8 }

// Next returns the next member in turn among those that have frames (bit n = member n), or -1 if none has.
func (a *Arbiter) Next(waiting uint64) int {
	if waiting == 0 {
		return -1
	}
	member := bits.TrailingZeros64(waiting)
	if later := waiting &^ (1<<a.next - 1); later != 0 {
		member = bits.TrailingZeros64(later)
	}
	a.next = uint8(member+1) % MaxMembers
	return member
}
