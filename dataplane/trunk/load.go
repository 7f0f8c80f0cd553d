package trunk

// NumPriorities is the number of priority areas of a trunk, one for each priority.
const NumPriorities = 8

// A Load is what waits in one direction of a trunk, in octets with FCS.
type Load struct {
	Member   []int64 // of the member that the frames came by, or go to
	Priority [NumPriorities]int64
	Total    int64
}

// NewLoad returns an empty load of a trunk with that many members.
func NewLoad(members int) Load { return Load{Member: make([]int64, members)} }

// Add takes note of a frame that waits from now on, or, with a negative number of octets, of one that does not any more.
func (l *Load) Add(member int, prio uint8, octets int64) {
	l.Member[member] += octets
	l.Priority[prio&7] += octets
	l.Total += octets
}
