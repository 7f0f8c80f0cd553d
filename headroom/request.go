package headroom

import (
	"time"

	"pfcswitch/macctl"
)

// Limits of requests and of their answers.
const (
	maxOpenRequests = 16
	perInterval     = 2 * settleSamples // requests
	fastSamples     = 4 * perInterval   // after the agreement, fastInterval apart
	fastInterval    = int64(10 * time.Millisecond)
	answerTime      = int64(time.Second)    // after which an answer is ignored, however long the peer kept the request
	maxRoundTrip    = 10 * time.Millisecond // 1,000 km of cable, there and back
	manyInARow      = 16                    // events in a row that prove something, such as unanswered requests
	maxPrecision    = time.Millisecond      // a precision that no clock has
	maxReaction     = time.Second
)

// A openRequest is a request that may still be answered.
type openRequest struct {
	open     bool
	fallback bool
	sequence uint32
	flags    uint8
	statedAt int64 // t1 as the frame states it
	sent     int64 // t1
	at       Moment
}

// ask makes the next request when it is due.
func (p *Probe) ask(at Moment) (out macctl.MeasurementFrame, ok bool) {
	if at.Now < p.nextRequest {
		return out, false
	}
	p.schedule(at.Now)
	p.expireResult(at.Now)
	q := &p.requests[p.sequence%maxOpenRequests]
	if q.open {
		p.count.Lost++
	}
	*q = openRequest{open: true, sequence: p.sequence, flags: p.set.Flags, statedAt: at.Now, sent: at.Now, at: at,
		fallback: p.unanswered >= manyInARow && p.unanswered%2 == 1}
	p.sequence++
	p.asked++
	p.count.Asked++
	if p.unanswered++; p.unanswered == manyInARow {
		p.note(at.Now, "%s agreed to measure and does not answer: the headroom in force stays", p.peer())
	}
	out.Measurement = macctl.Measurement{Flags: q.flags, Operation: macctl.MeasureRequest, Session: p.set.Session,
		Sequence: q.sequence}
	if q.flags&macctl.MeasureTwoStamps != 0 {
		out.Area[0] = uint64(q.statedAt)
	}
	out.Fallback = q.fallback
	p.fillOwnParameters(&out.Measurement)
	return out, true
}

// schedule sets when the next request follows.
func (p *Probe) schedule(now int64) {
	wait := max(int64(p.set.Interval)/perInterval, int64(time.Millisecond))
	if p.asked < fastSamples {
		wait = min(wait, fastInterval)
	}
	p.nextRequest = p.rareRequest(now, wait)
}

// Stamped says when a request really left, where the kernel says so: by the switch's clock, as it was compared at a
// moment. The session tells requests of this end from those of the peer that are sent back. The time must lie between
// that given to Out and that of the answer. A doubtful time is ignored: that given to Out makes the round trip longer.
func (p *Probe) Stamped(session uint16, sequence uint32, sent int64, at Moment) {
	q := &p.requests[sequence%maxOpenRequests]
	if q.open && session == p.set.Session && q.sequence == sequence && q.flags&macctl.MeasureClient == 0 &&
		sent > q.sent && !p.clocksDisagree(q.at, at) {
		q.sent = sent
	}
}

// handleAnswer takes the answer to a request: a new message, or the request itself that was sent back.
func (p *Probe) handleAnswer(in macctl.MeasurementFrame, stamp int64, at Moment) {
	q := &p.requests[in.Sequence%maxOpenRequests]
	switch {
	case in.Session != p.set.Session || in.Sequence != q.sequence || !q.open || at.Now-q.at.Now > answerTime:
		p.ignore(IgnoredUnasked)
		return
	case in.Group, in.Flags != q.flags, in.Fallback != q.fallback,
		(in.Operation == macctl.MeasureRequest) != (q.flags&macctl.MeasureLoopback != 0),
		q.flags&macctl.MeasureTwoStamps != 0 && in.Area[0] != uint64(q.statedAt):
		p.ignore(IgnoredAltered)
		return
	}
	q.open, p.unanswered = false, 0 // also where the answer turns out to be unusable
	if p.clocksDisagree(q.at, at) {
		p.rejectAnswer(at.Now, IgnoredClock)
		return
	}
	trip, turn, why := q.measure(in, stamp)
	if why != NumIgnored {
		p.rejectAnswer(at.Now, why)
		return
	}
	if trip+TurnaroundError(turn) > p.longestRoundTrip() {
		p.rejectTooFar(at.Now, trip)
		return
	}
	if q.flags&macctl.MeasureLoopback == 0 {
		p.parameters.add(p.set.Inputs.parametersOf(&in.Measurement))
	}
	p.answeredBy(in.Peer)
	p.count.Answered++
	p.unusable, p.tooFar, p.farTrip = 0, 0, 0
	p.controlPath.answered(in.Fallback)
	p.estimate.Add(trip, turn, in.Busy)
	p.sampleAdded(at.Now)
	p.settle(in.Busy, at.Now)
}

// longestRoundTrip is the longest round trip that is believed: a peer that delays its answers must not look like more
// cable.
func (p *Probe) longestRoundTrip() time.Duration { return max(maxRoundTrip, 4*p.set.Inputs.Delay) }

// rejectAnswer ignores an answer that cannot be used, and notes when many in a row could not.
func (p *Probe) rejectAnswer(now int64, why Ignored) {
	p.ignore(why)
	if p.unusable++; p.unusable == manyInARow {
		p.note(now, "%s answers, and %d answers in a row could not be used, the newest being ignored as %q: "+
			"the headroom in force stays", p.peer(), manyInARow, why)
	}
}

// rejectTooFar ignores an answer, and makes a note when none is nearer. The distance is the shortest of the newest
// manyInARow.
func (p *Probe) rejectTooFar(now int64, trip time.Duration) {
	p.ignore(IgnoredProportion)
	if p.tooFar%manyInARow == 0 {
		p.shortestFar = trip
	}
	p.shortestFar = min(p.shortestFar, trip)
	if p.tooFar++; p.tooFar%manyInARow > 0 {
		return
	}
	p.farTrip = p.shortestFar
	if p.tooFar == manyInARow {
		p.note(now, "the way to %s and back%s takes %v, and no more than %v are believed: "+
			"where it is that long, set the headroom of this port by hand: %s: %d",
			p.peer(), p.turnaroundNote(), p.farTrip, p.longestRoundTrip(), p.set.Key, p.manualBytes())
	}
}

// turnaroundNote says what else is in a round trip: with two stamps also the time for which the peer keeps a request.
func (p *Probe) turnaroundNote() string {
	if p.set.Flags&macctl.MeasureTwoStamps == 0 {
		return ""
	}
	return ", with how long it keeps a question, which only headroom.stamps: 4 tells apart,"
}

// measure returns the round trip, and the turnaround or -1 with two stamps. why is NumIgnored where both are sound.
func (q *openRequest) measure(in macctl.MeasurementFrame, stamp int64) (trip, turn time.Duration, why Ignored) {
	whole := stamp - q.sent
	turn = -1
	if q.flags&macctl.MeasureTwoStamps == 0 {
		t2, t3 := in.Area[0], in.Area[1]
		if t3 < t2 {
			return 0, 0, IgnoredBackwards
		}
		if t3-t2 > uint64(max(whole, 0)) {
			return 0, 0, IgnoredProportion
		}
		turn = time.Duration(t3 - t2)
	}
	switch {
	case whole < 0:
		return 0, 0, IgnoredBackwards
	case nanoseconds(in.Precision) > maxPrecision, nanoseconds(in.Reaction) > maxReaction:
		return 0, 0, IgnoredProportion
	}
	return time.Duration(whole) - max(turn, 0), turn, NumIgnored
}

// finding is what this end knows now.
func (p *Probe) finding() Finding {
	c := p.peerParameters()
	return Finding{RoundTrip: p.estimate.RoundTrip(), Precision: max(p.set.Precision, c.precision),
		Reaction: max(p.estimate.Turnaround(), c.reaction), SendLimit: c.sendLimit, Burst: c.burst}
}

// A controlPath counts the answers by kind of frame: many MACs discard MAC Control frames.
type controlPath struct{ control, fallback uint64 }

func (p *controlPath) answered(fallback bool) {
	if fallback {
		p.fallback++
	} else {
		p.control++
	}
}

// ControlDiscarded reports that MAC Control frames do not pass both ways, though other frames do, so that no pause
// frame can work. One fallback answer is no proof, since a peer that agrees late has ignored earlier requests. Between
// two of them, the peer has answered none of manyInARow MAC Control frames.
func (p *Probe) ControlDiscarded() bool {
	return p.controlPath.control == 0 && p.controlPath.fallback > 1
}

// ControlPasses reports that MAC Control frames have passed both ways.
func (p *Probe) ControlPasses() bool { return p.controlPath.control > 0 }

// maxPendingReplies is how many requests may wait for their answers. A peer has no reason to ask faster.
const maxPendingReplies = 8

// A pendingReply is a request that waits for its answer.
type pendingReply struct {
	request macctl.MeasurementFrame
	stamp   int64 // t2
	at      Moment
}

// handleRequest queues the answer to a request, and reports whether the answer is to be sent at once.
func (p *Probe) handleRequest(in macctl.MeasurementFrame, stamp int64, at Moment) (urgent bool) {
	p.asker, p.askerKnown = in.Session, true
	if p.waiting == maxPendingReplies {
		p.ignore(IgnoredBusy)
		return false
	}
	p.replies[(p.first+p.waiting)%maxPendingReplies] = pendingReply{request: in, stamp: stamp, at: at}
	p.waiting++
	return in.Flags&macctl.MeasureAtLink != 0
}

// answer makes the oldest answer.
func (p *Probe) answer(at Moment) (out macctl.MeasurementFrame, ok bool) {
	for p.waiting > 0 {
		r := &p.replies[p.first]
		p.first = (p.first + 1) % maxPendingReplies
		p.waiting--
		if p.clocksDisagree(r.at, at) || at.Now < r.stamp {
			p.ignore(IgnoredClock)
			continue
		}
		p.count.Replies++
		return p.reply(r, at.Now), true
	}
	return out, false
}

func (p *Probe) reply(r *pendingReply, now int64) macctl.MeasurementFrame {
	out := macctl.MeasurementFrame{Measurement: r.request.Measurement, Peer: r.request.Peer,
		Fallback: r.request.Fallback}
	if out.Flags&macctl.MeasureLoopback != 0 {
		return out
	}
	out.Operation = macctl.MeasureAnswer
	if out.Flags&macctl.MeasureTwoStamps == 0 {
		out.Area = [2]uint64{uint64(r.stamp), uint64(now)}
	}
	p.fillOwnParameters(&out.Measurement)
	return out
}
