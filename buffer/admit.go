package buffer

// A Verdict says what becomes of a lossless frame on arrival.
type Verdict uint8

const (
	_ Verdict = iota
	// Accept: the frame is charged to the private and the shared segment.
	Accept
	// AcceptHeadroom: the frame is charged to the headroom, the queue is OFF. With HeadroomSharing.Dynamic the headroom
	// is the shared segment, and then the insurance of the port.
	AcceptHeadroom
	// Wait: there is no room, the queue is OFF, and the frame has to wait, charged to no segment (Config.RingHold).
	Wait
	// DropHeadroom: there is no room, without RingHold: the frame is lost, drop reason lossless-headroom.
	DropHeadroom
	// DropHeadroomPool: likewise, because other queues fill the shared headroom pool (Config.Headroom): drop reason
	// lossless-headroom-pool.
	DropHeadroomPool
	// DropOversize: the frame would not fit even into the empty buffer, so waiting would not help.
	DropOversize
	// NoQueue: the priority is not lossless at this port.
	NoQueue
)

var verdictNames = [...]string{
	"invalid", "accept", "accept-headroom", "wait", "lossless-headroom", "lossless-headroom-pool", "oversize",
	"no-queue"}

// String returns the verdict's name; a drop's is its drop reason.
func (v Verdict) String() string {
	if int(v) >= len(verdictNames) {
		return verdictNames[0]
	}
	return verdictNames[v]
}

// Accepted reports whether the frame is charged, so that Release has to follow.
func (v Verdict) Accepted() bool { return v == Accept || v == AcceptHeadroom }

// turnsOff reports whether the queue must be OFF afterwards.
func (v Verdict) turnsOff() bool {
	return v == AcceptHeadroom || v == Wait || v == DropHeadroom || v == DropHeadroomPool
}

// Admit decides on a lossless frame of n octets without FCS that arrived at a port, and charges it if it is accepted.
// The queue turns OFF when the frame needs the headroom or finds no room. A queue that is OFF may turn ON again.
// After Wait the caller offers the same frame again, before any later frame of its queue.
func (m *Manager) Admit(port int, prio uint8, n int) Verdict {
	p, q := m.queue(port, prio)
	if q == nil {
		return NoQueue
	}
	size := m.Charge(n)
	m.measureLossless(q)
	q.coming = max(0, q.coming-size)
	where, v := m.chooseSegment(q, size)
	if v.Accepted() {
		p.charged[prio] += size
		q.used.add(where)
		m.lossless.used.add(where)
		q.active.move(size, q.used.total())
	}
	if v == Wait && q.waiting == 0 {
		q.count.Waited++
	}
	if q.waiting = 0; v == Wait {
		q.waiting = size
	}
	q.count.count(v)
	if m.dynamic {
		m.chargePort(p, where, v)
	}
	if v == Accept {
		m.resume(q)
	} else if v.turnsOff() {
		m.turnOff(q)
	}
	return v
}

// Expect says that frames of so many bytes (Charge) have arrived for an ingress queue, which Admit is offered next. A
// queue that they would bring above its threshold turns OFF before they come in, and stays OFF until they have, or
// until Expect says less. Under PAUSE, all priorities share ingress queue 0, and the others are none.
func (m *Manager) Expect(port int, ingress uint8, bytes int64) {
	p, q := m.queue(port, ingress)
	if q == nil || ingress&^p.queueMask != 0 || bytes == 0 && q.coming == 0 {
		return
	}
	m.measureLossless(q)
	if q.coming = bytes; bytes > 0 && m.wouldExceed(q, bytes) {
		m.turnOff(q)
		if m.wouldExceedPort(q, m.restShared(q, bytes)) {
			m.turnOffPort(p)
		}
	} else {
		m.resume(q)
	}
}

// CancelWait says that the frame with the verdict Wait will not be offered again.
func (m *Manager) CancelWait(port int, prio uint8) {
	if _, q := m.queue(port, prio); q != nil && q.waiting != 0 {
		q.waiting = 0
		m.resume(q)
	}
}

// chooseSegment decides where a frame of size bytes goes, without charging it.
//
// A frame goes to the headroom as a whole. While the headroom holds anything, every later frame goes there too. If only
// the bytes above T counted as headroom, frames would be lost: other queues fill the shared segment, T falls, and bytes
// that were below T fill the headroom before the last frames in flight have come.
func (m *Manager) chooseSegment(q *queue, size int64) (segmentBytes, Verdict) {
	held := q.used.bytes()
	if m.dynamic {
		if where, v := m.chooseDynamic(q, size); v.Accepted() {
			return where, v
		}
	} else if held.headroom == 0 {
		private := min(size, q.config.Private-held.private)
		rest := size - private
		if rest == 0 || m.fitsShared(q, rest) {
			return segmentBytes{private: private, shared: rest}, Accept
		}
	}
	if size <= m.headroomLeft(q) {
		return segmentBytes{headroom: size}, AcceptHeadroom
	}
	if m.fitsShared(q, size) && (!m.dynamic || m.fitsPort(q, size)) {
		return segmentBytes{shared: size}, Accept
	}
	switch {
	case size > largestFrame(m.threshold, q.id, q.config, m.lossless.limit.shared):
		return segmentBytes{}, DropOversize
	case m.ringHold:
		return segmentBytes{}, Wait
	case size <= m.ownHeadroomLeft(q):
		return segmentBytes{}, DropHeadroomPool
	default:
		return segmentBytes{}, DropHeadroom
	}
}

// largestFrame returns the size of the largest frame that a queue takes when the whole buffer is empty.
func largestFrame(policy Threshold, id QueueID, c QueueConfig, shared int64) int64 {
	return max(c.Headroom, c.Private+min(shared, policy.Limit(id, c, shared)))
}

func (m *Manager) fitsShared(q *queue, n int64) bool {
	free := m.lossless.free()
	return n <= free && q.used.shared.now+n <= m.limit(q, free)
}

func (p *losslessPool) free() int64 { return p.limit.shared - p.used.shared.now }
