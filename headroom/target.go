package headroom

import "fmt"

// lowerAfter is for how many intervals a smaller value must have been enough before the headroom is lowered.
const lowerAfter = 16

// A target is the headroom that a port should have. It rises at once and falls slowly, from the first value on.
type target struct {
	bits    int64 // 0 where nothing was found
	proven  int64 // part of bits that does not rest on the peer's word alone
	lowerTo int64 // most that was wanted since less than bits was wanted; 0 where bits are wanted
	lowerAt int64 // when bits falls to lowerTo
	reason  string
}

// set follows the bits that are wanted now.
func (t *target) set(want, now, hold int64) {
	switch {
	case want >= t.bits:
		t.bits, t.lowerTo = want, 0
	case t.lowerTo == 0:
		t.lowerTo, t.lowerAt = want, now+hold
	default:
		t.lowerTo = max(t.lowerTo, want)
		if now >= t.lowerAt {
			t.bits, t.lowerTo = t.lowerTo, 0
		}
	}
}

// updateTarget computes the target anew. The peer's word never lowers it, and an expired word of the peer never raises
// it.
func (p *Probe) updateTarget(now int64) {
	own, received := p.boundedMeasured(), p.receivedBits()
	p.measuredBits = own
	if own == 0 && received == 0 && (p.target.bits == 0 || !p.Measuring()) {
		return
	}
	if p.target.bits == 0 {
		p.target.bits, p.target.proven = p.set.Calculated, p.set.Calculated // the value in force so far
	}
	if own > 0 {
		p.target.proven = own
	}
	before := p.target.bits
	p.target.set(max(p.target.proven, received, p.floor()), now, lowerAfter*int64(p.set.Interval))
	if p.target.bits != before {
		p.target.reason = p.changeReason(p.target.bits > before)
	}
}

// floor returns the bits below which the target never goes.
func (p *Probe) floor() int64 {
	if p.set.Min > 0 {
		return p.set.Min
	}
	return Floor(p.set.Inputs)
}

// changeReason says why the target has changed.
func (p *Probe) changeReason(raised bool) string {
	switch {
	case max(p.measuredNeed(), p.receivedNeed()) > p.target.bits:
		return "headroom.max allows no more"
	case raised:
		return p.targetSource()
	}
	return fmt.Sprintf("less has been enough for %d intervals", lowerAfter)
}

// targetSource says what the target follows from, "" for the calculated headroom.
func (p *Probe) targetSource() string {
	switch bits := p.target.bits; {
	case bits == 0:
		return ""
	case bits == p.measuredBits:
		return "measured"
	case bits == p.receivedBits():
		return "told by " + p.peer()
	case bits == p.set.Min:
		return "headroom.min"
	case bits == p.floor():
		return "the least that IEEE 802.1Q asks for"
	case bits == p.set.Calculated:
		return ""
	}
	return "measured or told before"
}

// Reason says what the Target follows from: a measurement, the peer's result, or the least.
func (p *Probe) Reason() string {
	if p.target.reason == "" {
		return "calculated"
	}
	return p.target.reason
}

// Target is the headroom that the port should have, in octets; 0 where nothing was found yet.
func (p *Probe) Target() int64 { return Octets(p.target.bits) }

// Found is the headroom that this end has measured, in octets; 0 where it has not measured yet. The call is cheap.
func (p *Probe) Found() int64 { return Octets(p.measuredBits) }

// Xon is the resume threshold that the port should have where none is configured, in octets; 0 where this end has not
// measured yet.
func (p *Probe) Xon() int64 {
	if !p.estimate.Settled() {
		return 0
	}
	return MeasuredXon(p.set.Inputs, p.finding())
}

// SetInForce says which headroom the port has, in octets.
func (p *Probe) SetInForce(octets int64) { p.inForce = octets }
