package trunk

import "math/bits"

// MaxMembers is the largest number of members of a trunk.
const MaxMembers = 64

// An Arbiter lets the members send to the uplink one frame after the other, in turn.
type Arbiter struct{ next uint8 }

// Next returns the member whose turn it is among those that have frames (bit n = member n), -1 where none has.
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
