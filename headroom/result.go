package headroom

import (
	"math"
	"time"

	"pfcswitch/macctl"
)

// How results are repeated and believed. An interval is 100 s at most, so that a repeated result never expires.
const (
	repeatAfter     = 16                     // intervals after which an acknowledged result is repeated,
	repeatLimit     = int64(time.Minute)     // or this time, if that is shorter
	resultLife      = int64(5 * time.Minute) // after which a result expires that is not repeated
	resultJump      = 1 << 10                // results that may be lost in a row
	shortAfter      = 16                     // acknowledgements of the same smaller value in a row before a note
	maxHeadroomBits = 1 << 33                // largest headroom that is sent and believed: 1 GiB, 86 ms at 100 Gbit/s
)

// results is the exchange of the headrooms that the two ends have found.
type results struct {
	// own, to the peer
	sequence    uint32
	nextCheck   int64              // when nextResult looks for a new result
	sent        macctl.Measurement // newest result sent
	acked       bool               // sent was acknowledged
	peerInForce int64              // bits in force at the peer, by its newest acknowledgement
	short       int                // acknowledgements in a row with the same value below that of sent
	repeatAt    int64              // when sent is repeated even if it was applied
	awaitsAck   bool               // for an acknowledgement

	// of the peer
	peer     macctl.Measurement
	received bool
	until    int64 // when peer expires
	lapsed   bool  // the target still follows from a result that has expired
	ack      bool  // peer is to be acknowledged
	from     macctl.MeasurementFrame
}

func (r *results) restart() {
	sequence := r.sequence
	*r = results{sequence: sequence, nextCheck: math.MaxInt64}
}

// nextResult makes the next result message. Once an interval it sends a new result, or repeats one that the peer has
// not applied. Applied results are repeated too, more rarely, so that the peer can let results expire.
func (p *Probe) nextResult(now int64) (out macctl.MeasurementFrame, ok bool) {
	r := &p.results
	if now < r.nextCheck {
		return out, false
	}
	r.nextCheck = now + int64(p.set.Interval)
	p.expireResult(now)
	m := p.result()
	if m.Sequence = r.sent.Sequence; m != r.sent {
		r.sequence++
		m.Sequence = r.sequence
		r.sent, r.acked = m, false
	}
	if r.applied() && now < r.repeatAt {
		if p.backoff.wait > 0 {
			r.nextCheck = r.repeatAt
		}
		return out, false
	}
	r.awaitsAck, r.repeatAt = true, now+min(repeatAfter*int64(p.set.Interval), repeatLimit)
	if p.backoff.wait > 0 {
		r.repeatAt = now + repeatLimit
	}
	out.Measurement = r.sent
	return out, true
}

// result returns what this end has found.
func (p *Probe) result() macctl.Measurement {
	in, f := p.set.Inputs, p.finding()
	m := macctl.Measurement{Operation: macctl.MeasureResult, Session: p.set.Session,
		Area: [2]uint64{uint64(Measure(in, f).Bits()), uint64(in.WireBits(f))}}
	p.fillOwnParameters(&m)
	return m
}

// applied reports whether the peer has at least as much in force as the newest result. A peer that only sends the
// result back seems to have just that.
func (r *results) applied() bool { return r.acked && r.peerInForce >= saturate(r.sent.Area[0]) }

// handleAck takes the peer's acknowledgement. The acknowledgement leaves before the peer can apply the result, and each
// result may be larger. So only a peer whose headroom does not move is one that cannot apply it.
func (p *Probe) handleAck(in macctl.MeasurementFrame, now int64) {
	r := &p.results
	if why := p.checkAck(in); why != NumIgnored {
		p.ignore(why)
		return
	}
	moved := r.peerInForce != int64(in.Area[0])
	r.acked, r.awaitsAck, r.peerInForce = true, false, int64(in.Area[0])
	switch {
	case r.applied():
		r.short = 0
	case moved:
		r.short = 1
	default:
		r.short++
	}
	if r.short == shortAfter {
		p.note(now, "%s has a headroom of %d B in force, and was told that the link needs %d B",
			p.peer(), Octets(r.peerInForce), Octets(saturate(r.sent.Area[0])))
	}
}

// checkAck says why an acknowledgement is to be ignored, NumIgnored where it is sound.
func (p *Probe) checkAck(in macctl.MeasurementFrame) Ignored {
	r := &p.results
	switch {
	case p.isStranger(in.Peer):
		return IgnoredStranger
	case !r.awaitsAck || in.Session != p.set.Session || in.Sequence != r.sent.Sequence:
		return IgnoredUnasked
	case in.Group || in.Area[1] != r.sent.Area[1]:
		return IgnoredAltered
	case in.Area[0] > maxHeadroomBits:
		return IgnoredProportion
	}
	return NumIgnored
}

// isStranger reports whether answers come from another station.
func (p *Probe) isStranger(peer [6]byte) bool { return p.responder != [6]byte{} && peer != p.responder }

// handleResult takes the peer's result. A result of another session means that the peer began anew.
func (p *Probe) handleResult(in macctl.MeasurementFrame, now int64) {
	r := &p.results
	p.expireResult(now)
	known := r.received && in.Peer == r.from.Peer && in.Session == r.peer.Session
	switch ahead := int32(in.Sequence - r.peer.Sequence); {
	case p.isStranger(in.Peer), p.askerKnown && in.Session != p.asker:
		p.ignore(IgnoredStranger)
		return
	case known && ahead < 0:
		p.ignore(IgnoredOld)
		return
	case known && ahead > resultJump:
		p.ignore(IgnoredProportion)
		return
	}
	if nanoseconds(in.Precision) > maxPrecision || nanoseconds(in.Reaction) > maxReaction ||
		in.Area[0] > maxHeadroomBits || in.Area[1] > in.Area[0] {
		p.ignore(IgnoredProportion)
		return
	}
	again, replaces := known && in.Sequence == r.peer.Sequence, r.received && !known
	if again && in.Measurement != r.peer {
		p.ignore(IgnoredAltered)
		return
	}
	r.peer, r.received, r.from, r.ack, r.until = in.Measurement, true, in, true, now+resultLife
	if again {
		return
	}
	p.count.Results++
	before := p.target.bits
	p.updateTarget(now)
	r.lapsed = (r.lapsed || replaces) && p.target.lowerTo > 0
	if p.target.bits > before {
		p.note(now, "%s has found %d B, which here means a headroom of %d B",
			p.peer(), Octets(saturate(in.Area[0])), p.Target())
	}
}

// expireResult drops a result that has expired, and then the target that followed from it, also where no peer answers.
func (p *Probe) expireResult(now int64) {
	r := &p.results
	if r.received && now >= r.until {
		r.received, r.lapsed = false, true
	}
	if r.lapsed {
		p.updateTarget(now)
		r.lapsed = p.target.lowerTo > 0
	}
}

// answeredBy says which station has answered. Results of other stations do not count.
func (p *Probe) answeredBy(peer [6]byte) {
	p.responder = peer
	if r := &p.results; r.received && r.from.Peer != peer {
		r.received, r.ack, r.lapsed = false, false, true
	}
}

func (p *Probe) acknowledge() (out macctl.MeasurementFrame, ok bool) {
	r := &p.results
	if !r.ack {
		return out, false
	}
	r.ack = false
	out = r.from
	out.Operation, out.Group, out.Area[0] = macctl.MeasureResultAck, false, uint64(min(8*p.holds, maxHeadroomBits))
	return out, true
}

// sampleAdded follows a new sample.
func (p *Probe) sampleAdded(now int64) {
	if !p.estimate.Settled() {
		return
	}
	p.holdUntil, p.givenBack = 0, false
	p.warnOver(now)
	p.updateTarget(now)
	if p.backoff.wait == 0 {
		p.results.nextCheck = min(p.results.nextCheck, now+int64(p.set.Interval))
	}
	if p.results.sent.Operation == 0 {
		p.results.nextCheck = now
	}
}

// boundedMeasured returns the headroom that this end has measured, 0 where it has not yet. The wire part, which this
// end sees itself, is bounded by longestRoundTrip; the part that rests on the peer's word by Max; and the sum by Limit.
func (p *Probe) boundedMeasured() int64 {
	needs := p.measuredNeed()
	if needs == 0 {
		return 0
	}
	f := p.finding()
	f.Precision = p.set.Precision // the peer's is a claim too
	wire := p.set.Inputs.WireBits(f)
	own := wire + min(needs-wire, p.set.Max)
	if p.set.Limit > 0 {
		own = min(own, p.set.Limit)
	}
	return own
}

// measuredNeed returns the headroom that this end has measured, without bounds.
func (p *Probe) measuredNeed() int64 {
	if !p.estimate.Settled() {
		return 0
	}
	return Measure(p.set.Inputs, p.finding()).Bits()
}

// warnOver notes when the measured headroom begins to exceed its bounds.
func (p *Probe) warnOver(now int64) {
	needs, own, was := p.measuredNeed(), p.boundedMeasured(), p.exceedsMax
	if p.exceedsMax = needs > own; p.exceedsMax && !was {
		p.note(now, "the link to %s needs a headroom of %d B by what was measured and by what the peer says of "+
			"itself, and headroom.max leaves %d B of that: where it is true, write a larger headroom.max",
			p.peer(), Octets(needs), Octets(own))
	}
}

// receivedBits returns the headroom that follows from the peer's newest result, bounded by Max.
func (p *Probe) receivedBits() int64 { return min(p.receivedNeed(), p.set.Max) }

// receivedNeed returns the headroom that the peer has found for itself, or that its parts mean for this end if that is
// more.
func (p *Probe) receivedNeed() int64 {
	if !p.results.received {
		return 0
	}
	m, in := &p.results.peer, p.set.Inputs
	c := in.parametersOf(m)
	parts := Measure(in, Finding{Reaction: c.reaction, SendLimit: c.sendLimit, Burst: c.burst}).Bits() +
		int64(m.Area[1])
	return max(int64(m.Area[0]), parts)
}
