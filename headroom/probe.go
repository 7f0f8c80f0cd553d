package headroom

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"pfcswitch/macctl"
)

// Settings of a Probe. Values in bits count as on the wire.
type Settings struct {
	Inputs     Inputs // of this port; the Delay only bounds the round trips that are believed
	Packing    Packing
	Calculated int64  // bits of the calculated headroom, in force until a better one is found
	Min        int64  // least bits of a headroom that was found; 0: Floor
	Max        int64  // most bits that rest on the peer's word; 0: 4 × Calculated
	Limit      int64  // most bits of a headroom that was found, but for the least; 0: none
	Share      int64  // likewise, so that one port does not take the pool of all
	Auto       bool   // the port's headroom is to follow
	Key        string // where the headroom is set by hand, for messages

	Precision  time.Duration // by which this end's stamps may be wrong; stamps that disagree by more are not used
	Percentile float64       // share of reactions that counts, 0.999
	Interval   time.Duration // in which eight samples are taken
	Flags      uint8         // how requests are to be answered
	Session    uint16        // tells this run of this end from others; random
	Sequence   uint32        // number before that of the first message; random, so that nobody far away can guess it

	Streams  bool  // the peer may have this end fill the link
	Lossless uint8 // with these priorities, bit n = priority n
}

// neighbourWait is how long a port waits for a neighbour after the link came up, before a person has to act.
const neighbourWait = int64(10 * time.Second)

// A Probe measures the headroom of one port. It requests, answers, sends its results to the peer, and says what the
// headroom of the port should be. Frames and time come in, frames and a value come out:
//
//	Receive → Next → Out → Stamped            Target → SetInForce
//
// A Probe is not safe for concurrent use.
type Probe struct {
	set Settings

	up             bool
	upSince        int64
	ownMeasures    bool // this end tells its neighbour that it measures
	agreed         bool
	agreementKnown bool // SetAgreed was called
	neighbour      string
	address        [6]byte // of the neighbour; zero: not known
	warned         bool
	notes          []string
	notesUntil     int64 // until then notes use up noteGap each

	// initiator
	estimate    estimator
	requests    [maxOpenRequests]openRequest
	sequence    uint32
	asked       int64 // since the agreement
	nextRequest int64
	unanswered  int64           // requests in a row without an answer
	unusable    int             // answers in a row that could not be used
	tooFar      int             // answers in a row whose trip is out of proportion
	shortestFar time.Duration   // shortest of those since the last whole manyInARow
	farTrip     time.Duration   // shortest of the last whole manyInARow, 0 where there is none
	parameters  parameterWindow // of the peer
	responder   [6]byte         // source of the newest answer; zero: none yet
	controlPath controlPath

	// responder
	asker         uint16 // session of the peer's requests, where askerKnown
	askerKnown    bool
	replies       [maxPendingReplies]pendingReply
	first         int
	waiting       int
	lastMoment    Moment     // of the newest Receive or Out
	doubtfulUntil int64      // until then stamps of requests may be wrong
	reactions     loadWindow // times for which this end goes on sending after an XOFF

	// results
	results      results
	target       target
	measuredBits int64 // bits that this end has measured
	inForce      int64 // bytes of the buffer
	holds        int64 // octets on the wire that those hold
	exceedsMax   bool  // more was measured than Max and Limit allow
	exceedsShare bool  // more is wanted than Share allows
	holdUntil    int64 // when the headroom that was found is given back; 0 where the link is measured, or never was
	givenBack    bool  // and it is, until the link is measured again

	stream  streams
	backoff backoff

	count Counters
}

// Counters of a Probe. They only grow.
type Counters struct {
	Asked, Answered uint64 // requests of this end, and answers of the peer
	Replies         uint64 // answers to the peer's requests
	Lost            uint64 // requests that were not answered in time
	Results         uint64 // results of the peer that count
	Streams         uint64 // streams granted to the peer
	Ignored         [NumIgnored]uint64
}

// NewProbe returns a Probe whose link is down.
func NewProbe(s Settings) *Probe {
	p := &Probe{}
	p.nextRequest, p.results.nextCheck = math.MaxInt64, math.MaxInt64
	p.sequence, p.results.sequence, p.stream.sequence = s.Sequence+1, s.Sequence, s.Sequence
	p.Configure(s, 0)
	return p
}

// Continue makes the counters go on from those of an earlier Probe of the same port.
func (p *Probe) Continue(c Counters) { p.count = c }

// Configure changes the settings. Samples stay where they still mean the same.
func (p *Probe) Configure(s Settings, now int64) {
	s.Max = cmp.Or(s.Max, 4*s.Calculated)
	if s.Limit > 0 {
		s.Max = min(s.Max, s.Limit)
	}
	again := s.Flags != p.set.Flags || s.Percentile != p.set.Percentile || s.Inputs.Speed != p.set.Inputs.Speed
	other := s.Inputs != p.set.Inputs
	p.set = s
	p.SetInForce(p.inForce)
	if !s.Streams || s.Lossless>>p.stream.priority&1 == 0 {
		p.stream.until = 0
	}
	if again {
		p.restart(now)
	}
	if other && p.boundedMeasured() == 0 {
		p.target = target{} // which was found for another link
	}
	if p.target.bits > 0 {
		p.target.bits = max(p.target.bits, p.floor())
	}
	if most := max(s.Share, p.floor()); s.Share > 0 && p.target.bits > most { // the buffer has no room for more
		p.target.bits, p.target.lowerTo = most, 0
	}
	if other && p.target.bits > 0 { // the samples are those of the link before the change
		p.target.bits, p.target.lowerTo = max(p.target.bits, s.Calculated), 0
	}
	p.updateTarget(now)
	p.target.reason = p.targetSource()
}

// Inputs returns the inputs of the latest settings.
func (p *Probe) Inputs() Inputs { return p.set.Inputs }

// SetUp says that the link came up or went down. The headroom that was found stays for holdFor intervals.
func (p *Probe) SetUp(up bool, now int64) {
	if p.up == up {
		return
	}
	p.up, p.upSince, p.warned = up, now, false
	p.restart(now)
}

// SetAgreed says whether this end and its peer state that they measure, and who the neighbour is ("" where there is
// none). Unless both state it, measuring stops, the headroom in force stays for holdFor intervals, and a note tells a
// person.
func (p *Probe) SetAgreed(own, peer bool, neighbour string, now int64) {
	agreed, before := own && peer, p.neighbour
	p.neighbour = neighbour
	switch {
	case p.agreementKnown && p.ownMeasures == own && p.agreed == agreed && (before == "") == (neighbour == ""):
		return // at most the name of the neighbour is new
	case !p.agreementKnown && !agreed && neighbour == "": // no neighbour has spoken yet
		p.ownMeasures = own
		return
	}
	p.warned = p.warned && !agreed && before == neighbour && p.ownMeasures == own
	p.agreementKnown, p.ownMeasures, p.agreed = true, own, agreed
	if agreed {
		p.note(now, "%s measures headroom too", p.peer())
	}
	p.restart(now)
	p.warn(now)
}

// SetNeighbour says which address the neighbour has, by LLDP; zero where that is not known. Messages of other stations
// do not count. With another neighbour measuring begins anew.
func (p *Probe) SetNeighbour(address [6]byte, now int64) {
	if address == p.address {
		return
	}
	p.address = address
	p.restart(now)
}

// Neighbour returns the argument of the last SetNeighbour.
func (p *Probe) Neighbour() [6]byte { return p.address }

// Agreed returns the arguments of the last SetAgreed, false and "" before the first. agreed means that both ends
// measure.
func (p *Probe) Agreed() (own, agreed bool, neighbour string) {
	return p.ownMeasures, p.agreed, p.neighbour
}

// Measuring reports whether the link is up and both ends measure.
func (p *Probe) Measuring() bool { return p.up && p.agreed }

// restart begins to measure anew, where both ends agree.
func (p *Probe) restart(now int64) {
	if p.estimate.Settled() {
		p.target.proven = p.target.bits // until this end has measured again
	}
	p.estimate = estimator{percentile: p.set.Percentile}
	p.measuredBits = 0
	p.requests = [maxOpenRequests]openRequest{}
	p.waiting, p.asked, p.unanswered, p.unusable, p.tooFar, p.farTrip = 0, 0, 0, 0, 0, 0
	p.askerKnown = false
	p.parameters, p.responder, p.controlPath = parameterWindow{}, [6]byte{}, controlPath{}
	p.target.lowerTo, p.exceedsMax, p.exceedsShare = 0, false, false
	if p.target.bits > 0 && p.holdUntil == 0 && !p.givenBack {
		p.holdUntil = now + holdFor*int64(p.set.Interval)
	}
	p.results.restart()
	p.stream.restart()
	p.backoff = backoff{idle: p.backoff.idle}
	p.nextRequest = math.MaxInt64
	if p.Measuring() {
		p.nextRequest = now
	}
}

// ManualRequired reports whether a person has to set the port's headroom: it should be measured, and the peer cannot
// measure, or is farther away than is believed.
func (p *Probe) ManualRequired(now int64) bool {
	return p.noPeerMeasures(now) || p.set.Auto && p.farTrip > 0
}

// noPeerMeasures reports whether the headroom should be measured, and no peer measures.
func (p *Probe) noPeerMeasures(now int64) bool {
	return p.set.Auto && p.up && !p.agreed && (p.agreementKnown || now-p.upSince >= neighbourWait)
}

// warn notes once what a person has to do.
func (p *Probe) warn(now int64) {
	if p.warned || !p.noPeerMeasures(now) {
		return
	}
	p.warned = true
	p.note(now, "%s: the %d B of the buffer in force stay; set the headroom of this port by hand: %s: %d",
		p.whoDoesNotMeasure(), p.inForce, p.set.Key, p.manualBytes())
}

// manualBytes returns the bytes of buffer that a person should set: for the calculated headroom, for the measured
// distance where that is known, and no less than are in force.
func (p *Probe) manualBytes() int64 {
	in, calculated := p.set.Inputs, p.set.Calculated
	if p.farTrip > 0 {
		in.Delay = max(in.Delay, (p.farTrip+1)/2)
		calculated = max(calculated, Calculate(in, macctl.ModePFC).Bits()) // ModePause gives as much
	}
	return max(p.inForce, p.set.Packing.Bytes(Octets(calculated)))
}

func (p *Probe) whoDoesNotMeasure() string {
	switch {
	case !p.ownMeasures:
		return "this end does not tell its neighbour that it measures headroom, since its LLDP agent, DCBX " +
			"or the bit for that is off (lldp.agent, lldp.dcbx, lldp.bit_ieee, lldp.bit_legacy)"
	case p.neighbour == "":
		return "no neighbour has said over LLDP that it measures headroom"
	}
	return "neighbour " + p.neighbour + " does not measure headroom"
}

func (p *Probe) peer() string {
	if p.neighbour == "" {
		return "the peer, which LLDP has not named,"
	}
	return "neighbour " + p.neighbour
}

// Bounds of notes, for a caller that fetches none and for a peer that changes its mind all the time.
const (
	maxNotes = 16
	noteGap  = int64(10 * time.Second) // between two notes, after maxNotes at once
)

func (p *Probe) note(now int64, format string, args ...any) {
	next := max(p.notesUntil, now) + noteGap
	if len(p.notes) == maxNotes || next > now+maxNotes*noteGap {
		return
	}
	p.notesUntil = next
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// Notes returns and clears the sentences that a person should read.
func (p *Probe) Notes() []string {
	if len(p.notes) == 0 {
		return nil
	}
	notes := p.notes
	p.notes = nil
	return notes
}

// Receive handles a message that came at stamp, by the switch's clock, and is looked at now. It reports whether Out has
// an answer that is to be sent before anything else.
//
// Requests and results count at the group address only, which no bridge forwards: they come from this very link. What
// comes to the port's own address may come from afar. It counts only as the reply to an open message of this end, whose
// session and sequence nobody else on the way knows.
func (p *Probe) Receive(in macctl.MeasurementFrame, stamp int64, at Moment) (urgent bool) {
	if in.Flags&macctl.MeasureClient != 0 {
		stamp = at.Now
	}
	p.checkClocks(at)
	switch {
	case !p.Measuring():
		p.ignore(IgnoredNotAgreed)
	case p.address != [6]byte{} && in.Peer != p.address:
		p.ignore(IgnoredStranger)
	case in.Operation == macctl.MeasureRequest && in.Group && stamp <= p.doubtfulUntil:
		p.ignore(IgnoredClock)
	case in.Operation == macctl.MeasureRequest && in.Group:
		return p.handleRequest(in, stamp, at)
	case in.Operation == macctl.MeasureAnswer, in.Operation == macctl.MeasureRequest:
		p.handleAnswer(in, stamp, at)
	case in.Operation == macctl.MeasureResult && in.Group:
		p.handleResult(in, at.Now)
	case in.Operation == macctl.MeasureResult:
		p.ignore(IgnoredUnasked)
	case in.Operation == macctl.MeasureResultAck:
		p.handleAck(in, at.Now)
	case in.Operation == macctl.MeasureStream && in.Group:
		p.handleStreamRequest(in, at.Now)
	case in.Operation == macctl.MeasureStream:
		p.handleStreamGrant(in)
	}
	return false
}

// checkClocks compares the distance of the clocks with that of the moment before. Where it has changed, stamps before
// now may be wrong.
func (p *Probe) checkClocks(at Moment) {
	if p.clocksDisagree(p.lastMoment, at) {
		p.doubtfulUntil = at.Now
	}
	p.lastMoment = at
}

func (p *Probe) ignore(why Ignored) { p.count.Ignored[why]++ }

// Next returns when Out has to be called, math.MaxInt64 where nothing is to be sent.
func (p *Probe) Next() int64 {
	switch {
	case p.waiting > 0 || p.results.ack || p.stream.pending():
		return 0
	case !p.warned && p.up && !p.agreed && p.set.Auto:
		return p.upSince + neighbourWait
	}
	return min(p.nextRequest, p.results.nextCheck)
}

// Out returns the message to be sent now, if there is one. The caller reads at just before: it counts as the time of
// sending, unless Stamped gives a better one.
func (p *Probe) Out(at Moment) (out macctl.MeasurementFrame, ok bool) {
	p.checkClocks(at)
	p.warn(at.Now)
	if !p.Measuring() {
		return out, false
	}
	if out, ok = p.answer(at); ok {
		return out, true
	}
	if out, ok = p.acknowledge(); ok {
		return out, true
	}
	if out, ok = p.nextStreamMessage(); ok {
		return out, true
	}
	if out, ok = p.nextResult(at.Now); ok {
		return out, true
	}
	return p.ask(at)
}

// fillOwnParameters fills in what a message states of this end. A request or result that is sent back keeps the values
// of the peer.
func (p *Probe) fillOwnParameters(m *macctl.Measurement) {
	m.Precision = saturate32(int64(p.set.Precision))
	m.Reaction = saturate32(int64(p.reactions.all.quantile(p.set.Percentile)))
	m.SendLimit = saturate32(8 * SendLimit(p.set.Inputs.Speed, p.set.Inputs.MaxFrame))
	m.Burst = saturate32(8 * p.set.Inputs.Burst)
}

// Reacted says how long after the arrival of an XOFF the last send call of its priority ended; 0 or less where that
// call had ended before. A priority with nothing to send has no reaction. busy says that the link carried traffic.
func (p *Probe) Reacted(d time.Duration, busy bool) { p.reactions.add(max(d, 0), busy) }
