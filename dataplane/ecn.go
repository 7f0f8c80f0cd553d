package dataplane

import "pfcswitch/dataplane/frame"

// mark sets congestion experienced in a frame that is about to join queue q, by the length of the queue. A frame whose
// sender does not know ECN passes unmarked, and one that came marked passes as it is.
func (s *Switch) mark(out *portState, a *Arrival, q uint8) {
	if share := out.cfg.ECN[q].share(out.count.QueueBytes[q]); share == 0 || share < 1 && s.random01() >= share {
		return
	}
	var came [markedOctets]byte
	copy(came[:], a.network(a.Data))
	if frame.MarkCE(a.Data, a.header.NetOffset, a.header.EtherType) {
		out.count.Marked[q]++
		a.came, a.marked = came, true
	}
}

// markedOctets are those of an IP header up to the IPv4 checksum, which MarkCE may change.
const markedOctets = 12

// network returns where the IP header begins in a copy of the frame, or of its start.
func (a *Arrival) network(b []byte) []byte { return b[min(a.header.NetOffset, len(b)):] }

// Unmark makes a copy of the frame, or of its start, what came: without a mark that this switch has set.
func (a *Arrival) Unmark(b []byte) {
	if a.marked {
		copy(a.network(b), a.came[:])
	}
}

// share is the part of the frames that is marked where the queue holds n octets, 0 to 1.
func (e *ECN) share(n int64) float64 {
	switch {
	case e.Kmax == 0 || n < e.Kmin:
		return 0
	case n <= e.Kmax:
		return float64(n-e.Kmin) / float64(max(1, e.Kmax-e.Kmin)) * e.Pmax
	}
	return 1
}

// random01 returns a number from 0 up to, not including, 1 (xorshift64, Marsaglia 2003).
func (s *Switch) random01() float64 {
	s.random ^= s.random << 13
	s.random ^= s.random >> 7
	s.random ^= s.random << 17
	return float64(s.random>>11) / (1 << 53)
}
