package port

// A lane is the data rings of one class: one for small frames where the port has such, and one for all others. It hands frames
// over in the order in which they came, whichever ring they lie in.
type lane struct {
	rings   []*ring
	from    [laneFrames]uint8 // the rings of the frames that were received and not given back, in order
	first   int               // where the oldest of them stands
	pending int
}

// laneFrames is how many frames of a lane can be received and not given back.
const laneFrames = 256

// receive fills dst with the next frames, up to maxBytes octets.
func (l *lane) receive(dst []Frame, maxBytes int) int {
	n := 0
	for n < len(dst) && maxBytes > 0 && l.pending < laneFrames {
		i := l.oldest()
		if i < 0 || !l.rings[i].take(&dst[n]) {
			break
		}
		l.from[(l.first+l.pending)%laneFrames] = uint8(i)
		l.pending++
		maxBytes -= len(dst[n].Data)
		n++
	}
	return n
}

// oldest returns the ring whose next frame came first by its stamp, -1 where none waits. Frames of one flow come one after the
// other, so a look at the other rings after the frame was seen shows all that came before it; the last round is such a look.
// Where the real-time clock is set back between two frames, they may change places.
func (l *lane) oldest() int {
	best := -1
	for {
		seen := best
		for i, r := range l.rings {
			if i != best && r.ready() && (best < 0 || r.stamp() < l.rings[best].stamp()) {
				best = i
			}
		}
		if best == seen {
			return best
		}
	}
}

// release gives the n oldest received frames back to the kernel.
func (l *lane) release(n int) {
	var counts [2]int
	for range n {
		counts[l.from[l.first]]++
		l.first = (l.first + 1) % laneFrames
	}
	l.pending -= n
	for i, r := range l.rings {
		if counts[i] > 0 {
			r.release(counts[i])
		}
	}
}

func (l *lane) rewind() {
	l.pending = 0
	for _, r := range l.rings {
		r.rewind()
	}
}

func (l *lane) behind(n int) bool {
	for _, r := range l.rings {
		if r.behind(n) {
			return true
		}
	}
	return false
}

func (l *lane) backlog() Backlog {
	var b Backlog
	for _, r := range l.rings {
		n := r.backlog()
		b.Frames += n
		b.Octets += n * r.frameSize
		b.Fill = max(b.Fill, float64(n)/float64(r.slots))
	}
	return b
}

func (l *lane) slots() int {
	least := l.rings[0].slots
	for _, r := range l.rings[1:] {
		least = min(least, r.slots)
	}
	return least
}
