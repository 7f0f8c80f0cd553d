package port

// A classRings is the data rings of one class: one for small frames where the port has such, and one for all others. It hands frames
// over in the order in which they came, whichever ring they lie in.
type classRings struct {
	rings   []*ring
	from    [maxPending]uint8 // the rings of the next frames, as far as that is settled
	first   int               // where the oldest frame stands that was not given back
	pending int               // frames received and not given back
	known   int               // frames whose ring is settled: those, and those that were received before a rewind

	passed int // how often in a row a waiting frame was passed over for one of the other ring
	over   int // the ring of that frame
	forced int // how many frames come from that ring before stamps are looked at again
}

// maxPending is how many frames of a classRings can be received and not given back.
const maxPending = 256

// receive fills dst with the next frames, up to maxBytes octets.
func (l *classRings) receive(dst []Frame, maxBytes int) int {
	n := 0
	for n < len(dst) && maxBytes > 0 && l.pending < maxPending {
		at, i := (l.first+l.pending)%maxPending, 0
		if l.pending < l.known {
			i = int(l.from[at]) // the oldest frame stays the oldest, whatever has come since
		} else if i = l.next(); i < 0 {
			break
		}
		if !l.rings[i].take(&dst[n]) {
			break
		}
		l.from[at] = uint8(i)
		l.pending++
		l.known = max(l.known, l.pending)
		maxBytes -= len(dst[n].Data)
		n++
	}
	return n
}

// next returns the ring of the next frame, -1 where none waits. A frame is passed over for no more than the other ring holds: if
// still more seem to be older, the real-time clock was set back in between, and all that waits beside that frame is older than
// they are.
func (l *classRings) next() int {
	if l.forced > 0 {
		l.forced--
		return l.over
	}
	first, other := l.oldest()
	if other < 0 || other != l.over {
		l.passed, l.over = 0, max(0, other)
	}
	if other < 0 {
		return first
	}
	if l.passed++; l.passed <= l.rings[first].slots {
		return first
	}
	l.passed, l.forced = 0, l.rings[other].backlog()-l.rings[other].pending-1
	return other
}

// oldest returns the ring whose next frame came first by its stamp, and one whose frame came later, -1 where there is none. Frames
// of one flow come one after the other, so a look at the other rings after a frame was seen shows all that came before it; the
// last round is such a look.
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
	var counts [2]int
	for range n {
		counts[l.from[l.first]]++
		l.first = (l.first + 1) % maxPending
	}
	l.pending -= n
	l.known -= n
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
		if r.behind(min(n, r.slots/2)) || r.oversize.seen {
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

func (l *classRings) slots() int {
	n := 0
	for _, r := range l.rings {
		n += r.slots
	}
	return n
}
