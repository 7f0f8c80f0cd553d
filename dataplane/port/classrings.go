package port

// classRings are the data rings of one class: one for frames that are neither long nor small, one for long frames, and,
// where the port has it, one for small ones.
// Frames are handed over in the order in which they arrived, whichever ring holds them. Rings of before (see Larger)
// come first.
type classRings struct {
	rings   []*ring
	newest  int               // index in rings of the first of those to which frames come
	holds   Slots             // what a ring holds through whose queue all frames come; zero: there is none
	from    [maxPending]uint8 // the ring of each of the next frames, as far as it is settled
	first   int               // index in from of the oldest frame that is not released
	pending int               // frames received and not released
	settled int               // frames whose ring is settled: pending ones, and those received before a rewind

	skips   int // how often in a row a waiting frame was skipped for one of the other ring
	skipped int // the ring of the skipped frame
	forced  int // how many frames come from that ring before stamps are compared again
}

// maxRings is how many rings a class can have: three, or a queue, and as many for each time that they were enlarged.
const maxRings = 9

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

// oldest returns the ring of the oldest frame, and another ring of the same time with a frame, or -1. A frame in a ring
// of before is older than those in the newest ones. It is looked for last, because it may have become visible after the
// first look.
func (l *classRings) oldest() (first, other int) {
	first, other = l.oldestOf(l.newest, len(l.rings))
	if l.newest > 0 {
		if before, another := l.oldestOf(0, l.newest); before >= 0 {
			return before, another
		}
	}
	return first, other
}

// oldestOf returns, of some rings, that whose next frame has the earliest stamp, and another one with a frame, or -1.
// Frames of one flow arrive one after the other. So a look at the other rings after a frame was seen finds all that
// arrived before it. The last round is such a look.
func (l *classRings) oldestOf(from, to int) (first, other int) {
	first = -1
	for {
		seen := first
		other = -1
		for i := from; i < to; i++ {
			switch r := l.rings[i]; {
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
			if r.release(counts[i]); i < l.newest {
				r.freeBuffers()
			}
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
		if r.behind(min(n, r.slots/4)) || r.oversize.seen && r.filled(r.head) {
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

// slots returns the sizes of the newest rings, or what one of them holds that stands for all.
func (l *classRings) slots() (s Slots) {
	if l.holds != (Slots{}) {
		return l.holds
	}
	for i, r := range l.rings[l.newest:] {
		switch {
		case i == 0:
			s.Full = r.slots
		case r.frameSize > 0:
			s.Small = r.slots
		}
	}
	return s
}
