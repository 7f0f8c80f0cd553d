package headroom

import (
	"time"

	"pfcswitch/macctl"
)

// How questions are asked.
const (
	maxOpenRequests = 16
	perInterval     = 2 * settleSamples // requests
	fastSamples     = 4 * perInterval   // after the agreement, fastInterval apart
	fastInterval    = int64(10 * time.Millisecond)
	answerTime      = int64(time.Second)    // after which an answer counts no more, however long the peer kept the question
	maxRoundTrip    = 10 * time.Millisecond // 1,000 km of cable, there and back
	manyInARow      = 16                    // unanswered requests in a row after which the fallback is tried as well
	maxPrecision    = time.Millisecond      // a precision that no clock has
	maxReaction     = time.Second
)

// A openRequest is a request that may be answered.
type openRequest struct {
	open     bool
	fallback bool
	sequence uint32
	flags    uint8
	statedAt int64 // t1 as the frame states it
	sent     int64 // t1
	at       Moment
}

// ask makes the next request, where it is time.
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
	out.Measurement = macctl.Measurement{Flags: q.flags, Operation: macctl.MeasureRequest, Session: p.set.Session, Sequence: q.sequence}
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
	p.nextRequest = now + wait
}

// Stamped says when, by the switch's clock as it was compared at a moment, a request really left, where the kernel tells. The session
// tells those of this end from those of the peer that are sent back. The time must be between the one that Out was given and that of the
// answer. A doubtful one is passed over: the time that Out was given makes the trip longer.
func (p *Probe) Stamped(session uint16, sequence uint32, sent int64, at Moment) {
	q := &p.requests[sequence%maxOpenRequests]
	if q.open && session == p.set.Session && q.sequence == sequence && q.flags&macctl.MeasureClient == 0 && sent > q.sent && !p.clocksDisagree(q.at, at) {
		q.sent = sent
	}
}

// handleAnswer takes the answer to a question: a new message, or the request itself that was sent back.
func (p *Probe) handleAnswer(in macctl.MeasurementFrame, stamp int64, at Moment) {
	q := &p.requests[in.Sequence%maxOpenRequests]
	switch {
	case in.Session != p.set.Session || in.Sequence != q.sequence || !q.open || at.Now-q.at.Now > answerTime:
		p.ignore(IgnoredUnasked)
		return
	case in.Group, in.Flags != q.flags, in.Fallback != q.fallback, (in.Operation == macctl.MeasureRequest) != (q.flags&macctl.MeasureLoopback != 0),
		q.flags&macctl.MeasureTwoStamps != 0 && in.Area[0] != uint64(q.statedAt):
		p.ignore(IgnoredAltered)
		return
	}
	q.open, p.unanswered = false, 0 // whatever it is good for, it is an answer
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
}

// longestRoundTrip is how long a trip may be at most: a peer that keeps its answers back must not look like ever longer cable.
func (p *Probe) longestRoundTrip() time.Duration { return max(maxRoundTrip, 4*p.set.Inputs.Delay) }

// rejectAnswer ignores an answer that cannot be used, and tells a person where none can.
func (p *Probe) rejectAnswer(now int64, why Ignored) {
	p.ignore(why)
	if p.unusable++; p.unusable == manyInARow {
		p.note(now, "%s answers, and %d answers in a row could not be used, the newest being ignored as %q: the headroom in force stays", p.peer(), manyInARow, why)
	}
}

// rejectTooFar ignores an answer, and tells a person where none is nearer. How long the way is, is the shortest of the newest proofAfter.
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
		p.note(now, "the way to %s and back%s takes %v, and no more than %v are believed: where it is that long, set the headroom of this port by hand: %s: %d",
			p.peer(), p.turnaroundNote(), p.farTrip, p.longestRoundTrip(), p.set.Key, p.manualBytes())
	}
}

// turnaroundNote says what else is in a trip: two stamps do not tell it from the time that the peer keeps a question.
func (p *Probe) turnaroundNote() string {
	if p.set.Flags&macctl.MeasureTwoStamps == 0 {
		return ""
	}
	return ", with how long it keeps a question, which only headroom.stamps: 4 tells apart,"
}

// measure returns the trip, and the turn-around or -1 with two stamps; why is NumIgnored where they are sound.
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

// A controlPath is what the answers tell of the way of MAC Control frames: many MACs swallow them.
type controlPath struct{ control, fallback uint64 }

func (p *controlPath) answered(fallback bool) {
	if fallback {
		p.fallback++
	} else {
		p.control++
	}
}

// ControlDiscarded reports that MAC Control frames do not pass both ways, though other frames do: no pause frame can work. One answer
// is no proof, since a peer that agrees late has ignored what came before; between two, it has answered none of proofAfter MAC
// Control frames.
func (p *Probe) ControlDiscarded() bool {
	return p.controlPath.control == 0 && p.controlPath.fallback > 1
}

// ControlPasses reports that MAC Control frames have passed both ways.
func (p *Probe) ControlPasses() bool { return p.controlPath.control > 0 }
