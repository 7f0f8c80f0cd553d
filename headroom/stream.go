package headroom

import (
	"time"

	"pfcswitch/macctl"
)

// Limits of the streams that a peer gets.
const (
	MaxStream    = time.Second           // for one request; the next request prolongs the stream
	streamGap    = 50 * time.Millisecond // between two requests that are granted
	streamBudget = 60 * time.Second      // of streams in a row
	streamRefill = 4                     // ns without a stream that earn one ns of stream
)

// streams fill the link for a check of the peer's headroom. A port then sends at its full speed because its peer asks.
// So a person must have allowed it, the priority must be lossless, and the time is bounded.
type streams struct {
	// initiator
	pendingRequest bool // request is to be sent
	request        macctl.Measurement
	sequence       uint32
	answered       bool
	granted        time.Duration

	// responder
	priority     uint8
	until        int64
	lastGrant    int64
	spent        time.Duration // of the budget, at lastGrant
	session      uint16        // of the newest request
	newest       uint32
	received     bool
	pendingReply bool
	reply        macctl.MeasurementFrame
}

// restart ends what is under way. What was spent of the budget stays spent.
func (s *streams) restart() {
	*s = streams{sequence: s.sequence, lastGrant: s.lastGrant, spent: s.spent}
}

func (s *streams) pending() bool { return s.pendingRequest || s.pendingReply }

// AskStream asks the peer to fill the link with frames of a priority for d from the arrival of the request on; 0 ends
// the stream.
func (p *Probe) AskStream(priority uint8, d time.Duration) {
	s := &p.stream
	s.sequence++
	s.request = macctl.Measurement{Operation: macctl.MeasureStream, Session: p.set.Session, Sequence: s.sequence,
		Area: [2]uint64{uint64(priority), uint64(max(d, 0))}}
	s.pendingRequest, s.answered, s.granted = p.Measuring(), false, 0
}

// Granted returns the peer's answer to the newest AskStream: for how long it fills the link, 0 for not at all.
func (p *Probe) Granted() (d time.Duration, answered bool) {
	return p.stream.granted, p.stream.answered
}

// Stream returns the priority with whose frames this end fills the link, and until when; 0 where it does not.
func (p *Probe) Stream() (priority uint8, until int64) { return p.stream.priority, p.stream.until }

// handleStreamRequest answers a request for a stream with the time that is granted.
func (p *Probe) handleStreamRequest(in macctl.MeasurementFrame, now int64) {
	s := &p.stream
	switch {
	case s.received && in.Session == s.session && int32(in.Sequence-s.newest) <= 0:
		p.ignore(IgnoredOld)
		return
	case s.until > 0 && in.Area[1] > 0 && now-s.lastGrant < int64(streamGap), s.pendingReply:
		p.ignore(IgnoredBusy)
		return
	}
	s.received, s.session, s.newest = true, in.Session, in.Sequence
	d := p.grant(&in.Measurement, now)
	goesOn := s.until > now
	s.priority, s.until = uint8(in.Area[0]&7), 0
	if d > 0 {
		s.until = now + int64(d)
		p.count.Streams++
	}
	if d > 0 && !goesOn {
		p.note(now, "%s checks its headroom, and has this end fill the link with frames of priority %d meanwhile",
			p.peer(), s.priority)
	}
	s.lastGrant = now
	s.reply, s.pendingReply = in, true
	s.reply.Area[1] = uint64(d)
}

// grant returns the time that is granted, and takes it off the budget.
func (p *Probe) grant(m *macctl.Measurement, now int64) time.Duration {
	s := &p.stream
	rest := now - max(s.lastGrant, s.until) // since the end of the stream before
	if unused := s.until - now; unused > 0 {
		s.spent -= time.Duration(unused)
	}
	s.spent = max(0, s.spent-time.Duration(max(rest, 0)/streamRefill))
	if !p.set.Streams || m.Area[0] > 7 || p.set.Lossless>>m.Area[0]&1 == 0 {
		return 0
	}
	d := min(time.Duration(min(m.Area[1], uint64(MaxStream))), streamBudget-s.spent)
	s.spent += d
	return d
}

// handleStreamGrant takes the peer's answer to AskStream.
func (p *Probe) handleStreamGrant(in macctl.MeasurementFrame) {
	s := &p.stream
	switch {
	case s.answered || s.pendingRequest || in.Session != p.set.Session || in.Sequence != s.request.Sequence ||
		s.request.Operation != macctl.MeasureStream:
		p.ignore(IgnoredUnasked)
	case in.Area[0] != s.request.Area[0]:
		p.ignore(IgnoredAltered)
	case in.Area[1] > s.request.Area[1]:
		p.ignore(IgnoredProportion)
	default:
		s.answered, s.granted = true, time.Duration(in.Area[1])
	}
}

// nextStreamMessage returns the answer to the peer's request, or this end's own request.
func (p *Probe) nextStreamMessage() (out macctl.MeasurementFrame, ok bool) {
	s := &p.stream
	switch {
	case s.pendingReply:
		s.pendingReply, out = false, s.reply
		out.Group = false
	case s.pendingRequest:
		s.pendingRequest, out.Measurement = false, s.request
	default:
		return out, false
	}
	p.fillOwnParameters(&out.Measurement)
	return out, true
}
