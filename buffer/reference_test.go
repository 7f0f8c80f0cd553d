package buffer

// A second, plain writing of the rules, to hold the first against. It works on what a snapshot shows, knows α only as
// a number of sixteenths, and compares products instead of rounding them.

type refState struct {
	private, shared, headroom int64 // of the queue
	others                    int64 // of the shared segment, held by other queues
	othersHeadroom            int64 // of the headroom segment, held by other queues
	// held by other queues of the port, where headroom is dynamic
	portShared, portInsured int64
	congestion              int64 // of other queues of its number, where thresholds are active
	off                     bool
	waiting                 int64
}

type refRules struct {
	cell             int64
	ringHold, static bool
	segment, pool    int64 // B_s and the headroom segment
	q                QueueConfig
	port             []QueueConfig // all of the port, where headroom is dynamic, else none
}

func refOf(s Snapshot, c Config, port, queue int) (refRules, refState) {
	_, static := c.Threshold.(StaticThreshold)
	q := s.Ports[port].Ingress[queue]
	r := refRules{cell: int64(c.Cell), ringHold: c.RingHold, static: static, segment: s.Lossless.SharedSize,
		pool: s.Lossless.HeadroomSize, q: q.Config}
	var portShared, portInsured int64
	for k, other := range s.Ports[port].Ingress {
		if !c.Headroom.Dynamic {
			break
		}
		if other.Lossless {
			r.port = append(r.port, other.Config)
		}
		if k != queue {
			portShared += other.Used.Shared.Now
			portInsured += other.Used.Headroom.Now
		}
	}
	var congestion int64
	for i := range s.Ports {
		if o := &s.Ports[i].Ingress[queue].Used; c.Active && i != port {
			congestion += min(20_000, o.Private.Now+o.Shared.Now+o.Headroom.Now)
		}
	}
	return r,
		refState{
			congestion: congestion,
			portShared: portShared, portInsured: portInsured,
			private: q.Used.Private.Now, shared: q.Used.Shared.Now, headroom: q.Used.Headroom.Now,
			others:         s.Lossless.Used.Shared.Now - q.Used.Shared.Now,
			othersHeadroom: s.Lossless.Used.Headroom.Now - q.Used.Headroom.Now, off: q.Off, waiting: q.Waiting,
		}
}

func (r refRules) bytes(n int) int64 {
	cells := int64(n) / r.cell
	if int64(n)%r.cell != 0 {
		cells++
	}
	return cells * r.cell
}

// within reports whether shared ≤ T, where the queue and the others hold what s says.
func (r refRules) within(shared int64, s refState) bool {
	if r.port != nil {
		return shared <= max(0, r.threshold(r.q, s)-r.q.Headroom)
	}
	if r.static {
		return shared <= r.q.Xoff
	}
	sixteenths := int64(r.q.Alpha * 16)
	return 16*shared <= sixteenths*r.free(s)
}

// free is the part of the free bytes that counts for the queue: by how many full queues there are, this one among them.
func (r refRules) free(s refState) int64 {
	return max(0, r.segment-s.shared-s.others) * 20_000 / (20_000 + s.congestion)
}

// threshold is T.
func (r refRules) threshold(q QueueConfig, s refState) int64 {
	if r.static {
		return q.Xoff
	}
	return int64(q.Alpha*16) * max(0, r.segment-s.shared-s.others) / 16
}

// withinPort reports whether the port may hold so much of the shared segment beside what it holds.
func (r refRules) withinPort(more int64, s refState) bool {
	sum := int64(0)
	for _, q := range r.port {
		sum += r.threshold(q, s)
	}
	return r.port == nil || s.portShared+s.shared+more <= max(0, sum)
}

// fits reports whether the shared segment has room for n more bytes of the queue.
func (r refRules) fits(n int64, s refState) bool { return r.within(s.shared+n, s) && r.room(n, s) }

func (r refRules) room(n int64, s refState) bool {
	return s.shared+s.others+n <= r.segment && r.withinPort(n, s)
}

// admit applies the rules of admission in their order and returns the state after them.
func (r refRules) admit(n int64, s refState) (Verdict, refState) {
	if s.headroom+s.portInsured == 0 {
		rest := max(0, n-(r.q.Private-s.private))
		if rest == 0 || r.fits(rest, s) {
			s.private += n - rest
			s.shared += rest
			s.waiting = 0
			return Accept, r.resume(s)
		}
		if r.port != nil && r.room(rest, s) {
			s.private += n - rest
			s.shared += rest
			s.off, s.waiting = true, 0
			return AcceptHeadroom, s
		}
	}
	own := s.headroom+s.portInsured+n <= r.q.Headroom
	if own && r.pooled(n, s) {
		s.headroom += n
		s.off, s.waiting = true, 0
		return AcceptHeadroom, s
	}
	if r.fits(n, s) {
		s.shared += n
		s.waiting = 0
		return Accept, s
	}
	s.waiting = 0
	if v, _ := r.admitEmpty(n); v == DropOversize {
		return v, s
	}
	s.off = true
	if r.ringHold {
		s.waiting = n
		return Wait, s
	}
	if own {
		return DropHeadroomPool, s
	}
	return DropHeadroom, s
}

// pooled reports whether the headroom segment has room for n more bytes, where what the shared segment has too much is
// taken from it.
func (r refRules) pooled(n int64, s refState) bool {
	tooMuch := s.shared + s.others - r.segment
	return s.headroom+s.othersHeadroom+n+max(0, tooMuch) <= r.pool
}

// admitEmpty is admit where nothing is held anywhere.
func (r refRules) admitEmpty(n int64) (Verdict, refState) {
	empty := refState{}
	if rest := max(0, n-r.q.Private); rest == 0 || r.fits(rest, empty) {
		return Accept, empty
	}
	if n <= r.q.Headroom {
		return AcceptHeadroom, empty
	}
	return DropOversize, empty
}

// release gives back n bytes: headroom, shared, private.
func (r refRules) release(n int64, s refState) refState {
	for _, from := range []*int64{&s.headroom, &s.shared, &s.private} {
		k := min(n, *from)
		*from -= k
		n -= k
	}
	return r.resume(s)
}

// resume returns the state with the queue ON where it may be.
func (r refRules) resume(s refState) refState {
	if !s.off || s.headroom+s.portInsured > 0 {
		return s
	}
	if s.portShared+s.shared > 0 && !r.withinPort(max(0, r.q.XonOffset), s) {
		return s
	}
	empty := s.private+s.shared == 0
	low := r.within(s.shared, s) && (s.shared <= r.q.Xon ||
		r.q.XonOffset != NoXonOffset && r.within(s.shared+r.q.XonOffset, s))
	if !empty && !low {
		return s
	}
	if s.waiting > 0 {
		trial := s
		trial.waiting, trial.off = 0, false // resume would call itself otherwise
		if v, _ := r.admit(s.waiting, trial); v == Wait {
			return s
		}
	}
	s.off = false
	return s
}
