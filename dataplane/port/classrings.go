package port

import "slices"

// classRings are the data rings of one class: one for frames that are neither long nor small, one for long frames, and,
// where the port has it, one for small ones.
// Frames are handed over in the order in which they arrived, whichever ring holds them.
type classRings struct {
	rings   []*ring
	newest  int               // index in rings of the first of those that came last
	holds   Slots             // what a ring holds through whose queue all frames come; zero: there is none
	from    [maxPending]uint8 // the ring of each of the next frames, as far as it is settled
	first   int               // index in from of the oldest frame that is not released
	pending int               // frames received and not released
	settled int               // frames whose ring is settled: pending ones, and those received before a rewind

	skips   int // how often in a row a waiting frame was skipped for one of the other ring
	skipped int // the ring of the skipped frame
	forced  int // how many frames come from that ring before stamps are compared again
}

// maxRings is how many rings a class can have: those of before, and the newest ones.
const maxRings = 8

// maxPending is how many frames of a class can be received and not released.
const maxPending = 256

// fewPending is for how many of them there is room before there are more: an idle port seldom has more.
const fewPending = 16

// receive fills dst with the next frames, up to maxBytes octets.
func (l *classRings) receive(dst []Frame, maxBytes int) int {
	n := 0
	for n < len(dst) && maxBytes > 0 && l.pending < maxPending {
		at, i := (l.first+l.pending)%maxPending, 0
		if l.pending < l.settled {
			i = int(l.from[at]) // the oldest frame stays the oldest, whatever has arrived since
		} else if i = l.next(); i < 0 {
			break
		}
		if !l.rings[i].receive(&dst[n]) {
			break
		}
		l.from[at] = uint8(i)
		l.pending++
		l.settled = max(l.settled, l.pending)
		maxBytes -= len(dst[n].Data)
		n++
	}
	return n
}

// next returns the ring of the next frame, or -1. A waiting frame is skipped at most as often as the other ring has
// slots. If still more frames there seem older, the real-time clock was set back in between: then all that waits beside
// the skipped frame is older than they are.
func (l *classRings) next() int {
	if l.forced > 0 {
		l.forced--
		return l.skipped
	}
	first, other := l.oldest()
	if other < 0 || other != l.skipped {
		l.skips, l.skipped = 0, max(0, other)
	}
	if other < 0 {
		return first
	}
	if l.skips++; l.skips <= l.rings[first].slots {
		return first
	}
	l.skips, l.forced = 0, l.rings[other].backlog()-l.rings[other].pending-1
	return other
}

// oldest returns the ring whose next frame has the earliest stamp, and another ring with a frame, or -1. Frames of one
// flow arrive one after the other. So a look at the other rings after a frame was seen finds all that arrived before
// it. The last round is such a look.
func (l *classRings) oldest() (first, other int) {
	first = -1
	for {
		seen := first
		other = -1
		for i, r := range l.rings {
			switch {
			case i == first || !r.ready():
			case first < 0 || r.stamp() < l.rings[first].stamp():
				first = i
			default:
				other = i
			}
		}
		if first == seen {
			return first, other
		}
	}
}

// release gives the n oldest received frames back to the kernel.
func (l *classRings) release(n int) {
	var counts [maxRings]int
	for range n {
		counts[l.from[l.first]]++
		l.first = (l.first + 1) % maxPending
	}
	l.pending -= n
	l.settled -= n
	for i, r := range l.rings {
		if counts[i] > 0 {
			r.release(counts[i])
		}
	}
}

func (l *classRings) rewind() {
	l.pending = 0
	for _, r := range l.rings {
		r.rewind()
	}
}

func (l *classRings) behind(n int) bool {
	for _, r := range l.rings {
		if r.behind(min(n, r.slots/4)) || r.oversize.seen {
			return true
		}
	}
	return false
}

func (l *classRings) backlog() Backlog {
	var b Backlog
	for _, r := range l.rings {
		n := r.backlog()
		queued, limit := r.queued()
		b.Frames += n
		b.Octets += n*r.frameSize + queued
		b.Fill = max(b.Fill, float64(n)/float64(r.slots), float64(queued)/float64(limit))
	}
	return b
}

// slots returns the sizes of the smallest rings of their kinds, or what one ring holds that stands for all.
func (l *classRings) slots() (s Slots) {
	if l.holds != (Slots{}) {
		return l.holds
	}
	smallest := func(of *int, n int) {
		if *of == 0 || n < *of {
			*of = n
		}
	}
	for _, r := range l.rings {
		switch {
		case r.forSmall:
			smallest(&s.Small, r.slots)
		case r.frameSize > 0:
			smallest(&s.Full, r.slots)
		}
	}
	return s
}

// retire takes the rings from number keep on out that stand before the newest ones, if none holds a frame. It returns
// them. No burst may be under way.
func (l *classRings) retire(keep int) (gone []*ring, ok bool) {
	gone = l.rings[keep:l.newest]
	if l.forced > 0 || slices.ContainsFunc(gone, func(r *ring) bool { return r.filled(r.head) }) {
		return nil, false
	}
	for i := range l.settled { // frames of a rewound burst, in rings that stay
		if from := &l.from[(l.first+i)%maxPending]; int(*from) >= l.newest {
			*from -= uint8(len(gone))
		}
	}
	l.rings = append(slices.Clone(l.rings[:keep]), l.rings[l.newest:]...)
	l.newest, l.holds, l.skips, l.skipped = keep, Slots{}, 0, 0
	return gone, true
}
