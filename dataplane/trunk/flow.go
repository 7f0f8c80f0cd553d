package trunk

import (
	"math/bits"

	"pfcswitch/macctl"
)

// A Mark is a pair of watermarks in octets. High 0 is no mark.
type Mark struct{ High, Low int64 }

// A FlowConfig says when ports of a trunk are held. The eight watermarks are numbered as the patent has them.
type FlowConfig struct {
	Mode           macctl.Mode         // of all ports of the trunk
	Lossless       uint8               // priorities under PFC, bit n = priority n
	Member         Mark                // 1 and 2: a member's share, ModePause
	Priority       [NumPriorities]Mark // 3 and 4: octets of a priority on their way to the uplink, ModePFC
	Uplink         Mark                // 5 and 6: all octets on their way to members, ModePause
	UplinkPriority [NumPriorities]Mark // 7 and 8: octets of a priority on their way to members, ModePFC
}

// Holds are the ports of a trunk that are held.
type Holds struct {
	Members    uint64 // ModePause: bit n = member n
	Priorities uint8  // ModePFC: of all members, bit n = priority n
	Uplink     uint8  // priorities of the uplink; 0xFF in ModePause
}

// holds decides on one watermark: it is held above the high one, or while it is blocked by a pause from the other side, and
// released below the low one when it is not. "Above" and "below" are strict.
func (m Mark) holds(held, blocked bool, octets int64) bool {
	switch {
	case blocked:
		return true
	case m.High == 0:
		return false
	case held:
		return octets >= m.Low
	}
	return octets > m.High
}

// Members decides which members are held towards the uplink: in ModePause each one whose share is above watermark 1 until it
// is below watermark 2, and all of them while the uplink is paused; in ModePFC, a priority of all of them by watermarks 3 and
// 4 and while the uplink's is paused. load is what waits for the uplink, paused the priorities that its peer holds now
// (0xFF: PAUSE), held what is held already.
func (c *FlowConfig) Members(held Holds, load *Load, paused uint8) Holds {
	next := Holds{Uplink: held.Uplink}
	switch c.Mode {
	case macctl.ModePause:
		for m, share := range load.Member {
			if c.Member.holds(held.Members>>m&1 == 1, paused != 0, share) {
				next.Members |= 1 << m
			}
		}
	case macctl.ModePFC:
		next.Priorities = c.eachPriority(&c.Priority, held.Priorities, paused, load)
	}
	return next
}

// ToUplink decides what is held of the uplink: in ModePause all of it by watermarks 5 and 6 and while every member is paused,
// in ModePFC a priority by watermarks 7 and 8 and while it is paused at every member. load is what waits for members, paused
// what the peers of all members that are up hold in common (see Common).
func (c *FlowConfig) ToUplink(held Holds, load *Load, paused uint8) Holds {
	next := held
	next.Uplink = 0
	switch c.Mode {
	case macctl.ModePause:
		if c.Uplink.holds(held.Uplink != 0, paused != 0, load.Total) {
			next.Uplink = 0xFF
		}
	case macctl.ModePFC:
		next.Uplink = c.eachPriority(&c.UplinkPriority, held.Uplink, paused, load)
	}
	return next
}

func (c *FlowConfig) eachPriority(marks *[NumPriorities]Mark, held, paused uint8, load *Load) (next uint8) {
	for set := c.Lossless; set != 0; set &= set - 1 {
		p := bits.TrailingZeros8(set)
		if marks[p].holds(held>>p&1 == 1, paused>>p&1 == 1, load.Priority[p]) {
			next |= 1 << p
		}
	}
	return next
}

// A Common collects what is paused at every member that is up. Where no member is up nothing is: frames to them are dropped
// then, and a held uplink would stay so for ever.
type Common struct {
	any    bool
	paused uint8
}

// Add adds a member that is up and the priorities that its peer holds.
func (c *Common) Add(paused uint8) {
	if !c.any {
		c.any, c.paused = true, 0xFF
	}
	c.paused &= paused
}

// Paused returns the priorities that are paused at every member seen.
func (c *Common) Paused() uint8 { return c.paused }
