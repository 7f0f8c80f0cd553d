package buffer

import (
	"errors"
	"fmt"
	"slices"
)

// MaxRatio is the highest over-subscription of the headroom segment.
const MaxRatio = 1024

// HeadroomSharing says how large the headroom segment is. Zero: as large as the headrooms of all queues together (Ση).
// A smaller segment is a shared headroom pool, as SONiC's: each queue may still hold its η, but not all queues at once.
type HeadroomSharing struct {
	// Dynamic is DSH: see dynamic.go. The segment holds the insurances of the ports, and Ratio and Size count for
	// nothing.
	Dynamic bool
	Ratio   float64 // Ση over the size of the pool, 1 to MaxRatio; 0 counts as 1
	Size    int64   // of the pool in bytes, 1 to MaxSize, rounded up to cells; 0: by Ratio, which else is 0 or 1
}

// HeadroomNeed adds up the headrooms of queues, in bytes of whole cells.
type HeadroomNeed struct {
	Sum     int64 // Ση
	Largest int64 // the largest η
	Ports   int64 // sum over the ports of the largest η of each
}

// Add adds the headrooms of a port's queues, 0 where there is no queue.
func (n *HeadroomNeed) Add(port [Priorities]int64) {
	for _, eta := range port {
		n.Sum += eta
	}
	n.Largest = max(n.Largest, slices.Max(port[:]))
	n.Ports += slices.Max(port[:])
}

// Segment returns the size of the headroom segment, in bytes of whole cells. It is at least the largest η, so that one
// queue alone always has what it was promised, and at most Ση.
func (h HeadroomSharing) Segment(n HeadroomNeed, cell int64) int64 {
	size := n.Sum
	switch {
	case h.Dynamic:
		return n.Ports
	case h.Size > 0:
		size = h.Size
	case h.Ratio > 1:
		size = int64(float64(n.Sum) / h.Ratio)
	}
	return min(n.Sum, max(n.Largest, wholeCells(size, cell)))
}

// pooled reports whether the segment is a shared headroom pool.
func (h HeadroomSharing) pooled() bool { return h.Size > 0 || h.Ratio > 1 }

func (h HeadroomSharing) validate() error {
	switch {
	case h.Dynamic && h.pooled():
		return errors.New("dynamic headroom needs no pool: leave out its ratio and size")
	case h.Ratio != 0 && !(h.Ratio >= 1 && h.Ratio <= MaxRatio):
		return fmt.Errorf("headroom pool: ratio %v is outside 1 to %d", h.Ratio, MaxRatio)
	case h.Size < 0 || h.Size > MaxSize:
		return fmt.Errorf("headroom pool: size %d B is outside 0 to %d", h.Size, int64(MaxSize))
	case h.Size > 0 && h.Ratio > 1:
		return fmt.Errorf("headroom pool: size and ratio contradict each other: set one")
	}
	return nil
}

// headroomLeft returns how many bytes the headroom still takes of a queue. A shared segment above its size, which
// RemovePort may leave behind where the headroom is a pool, borrows from the pool.
func (m *Manager) headroomLeft(q *queue) int64 {
	pool := m.lossless.limit.headroom - m.lossless.used.headroom.now + min(0, m.lossless.free())
	return min(m.ownHeadroomLeft(q), pool)
}

// ownHeadroomLeft is what is left of the queue's headroom, or of its port's insurance.
func (m *Manager) ownHeadroomLeft(q *queue) int64 { return q.config.Headroom - m.inHeadroom(q) }

// HeadroomPoolFull reports whether a frame of n octets finds no room in the headroom only because other queues fill the
// shared headroom pool.
func (m *Manager) HeadroomPoolFull(port int, prio uint8, n int) bool {
	_, q := m.queue(port, prio)
	size := m.Charge(n)
	return q != nil && size <= m.ownHeadroomLeft(q) && size > m.headroomLeft(q)
}
