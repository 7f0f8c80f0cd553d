package trunk

import (
	"math/bits"

	"pfcswitch/macctl"
)

// A Mark is a pair of watermarks in octets. High 0 is no mark.
type Mark struct{ High, Low int64 }

// A FlowConfig says when ports of a trunk are held. The eight watermarks have the numbers of the patent.
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

// holds applies one watermark. A port is held above the high mark, and while a pause from the other side blocks it. It
// is released below the low mark if it is not blocked. "Above" and "below" are strict.
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

// Members decides which members are held towards the uplink. In ModePause a member is held when its share is above
// watermark 1, until the share is below watermark 2, and all members while the uplink is paused. In ModePFC a priority
// of all members is held by watermarks 3 and 4, and while that priority of the uplink is paused. load waits for the
// uplink. paused are the priorities that the uplink's peer holds now (0xFF: PAUSE). held is the last decision.
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

// ToUplink decides what is held of the uplink. In ModePause all of it is held by watermarks 5 and 6, and while every
// member is paused. In ModePFC a priority is held by watermarks 7 and 8, and while it is paused at every member. load
// waits for members. paused is what the peers of all members that are up hold in common (see Common).
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

// A Common collects what is paused at every member that is up. If no member is up, nothing is: frames to members are
// dropped then, and a held uplink would stay held for ever.
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

// NumPriorities is the number of priority areas of a trunk, one for each priority.
const NumPriorities = 8

// A Load is what waits in one direction of a trunk, in octets with FCS.
type Load struct {
	Member   []int64 // by the member that the frames came from or go to
	Priority [NumPriorities]int64
	Total    int64
}

// NewLoad returns an empty load of a trunk with that many members.
func NewLoad(members int) Load { return Load{Member: make([]int64, members)} }

// Add adds a frame that waits from now on. A negative number of octets removes a frame that does not wait any more.
func (l *Load) Add(member int, prio uint8, octets int64) {
	l.Member[member] += octets
	l.Priority[prio&7] += octets
	l.Total += octets
}
