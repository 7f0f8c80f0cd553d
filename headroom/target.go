package headroom

import (
	"fmt"
	"math"
	"time"
)

// lowerAfter is for how many intervals a smaller value must have been enough before the headroom is lowered.
const lowerAfter = 16

// holdFor is for how many intervals a headroom that was found stays without a measurement of the link.
const holdFor = 4 * lowerAfter

// growth is by how much a headroom may be multiplied within growthPeriod: a peer that answers late must not take a pool
// at once.
const (
	growth       = 4
	growthPeriod = int64(time.Second)
)

// A target is the headroom that a port should have. It rises at once, but for growth, and falls slowly, from the first
// value on.
type target struct {
	bits    int64 // 0 where nothing was found
	proven  int64 // part of bits that does not rest on the peer's word alone
	lowerTo int64 // most that was wanted since less than bits was wanted; 0 where bits are wanted
	lowerAt int64 // when bits falls to lowerTo
	reason  string
	bound   string // what keeps bits below what the link seems to need; "" where they are as much

	most      int64 // of bits, until mostUntil
	mostUntil int64
}

// limitGrowth returns how much of the bits that are wanted may be in force now; atOnce may be in any case.
func (t *target) limitGrowth(want, atOnce, now int64) int64 {
	if now >= t.mostUntil {
		t.most, t.mostUntil = growth*t.bits, now+growthPeriod
	}
	return min(want, max(t.most, t.bits, atOnce))
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
	p.target.set(p.bounded(max(p.target.proven, received, p.floor()), now), now, lowerAfter*int64(p.set.Interval))
	if p.target.bits != before {
		p.target.reason = p.changeReason(p.target.bits > before)
	}
}

// The bounds of a headroom, as reasons name them.
const (
	boundMax    = "headroom.max allows no more"
	boundShare  = "headroom.share allows no more"
	boundGrowth = "it grows no more than fourfold in a second"
)

// bounded returns how much of the bits that are wanted may be in force now, and notes the bound that acts. What the
// configuration itself asks for is not bounded.
func (p *Probe) bounded(want, now int64) int64 {
	t, most := &p.target, max(p.set.Share, p.floor())
	t.bound = ""
	if p.exceedsMax {
		t.bound = boundMax
	}
	exceedsShare := p.set.Share > 0 && want > most
	if exceedsShare {
		if !p.exceedsShare {
			p.note(now, "the link to %s needs a headroom of %d B by what was measured and by what the peer says, and "+
				"headroom.share leaves %d B, so that one port does not take the buffer of all: where it is true, "+
				"write the cable or delay of the port, a larger headroom.share, or %s: %d",
				p.peer(), Octets(want), Octets(most), p.set.Key, p.set.Packing.Bytes(Octets(want)))
		}
		want, t.bound = most, boundShare
	}
	p.exceedsShare = exceedsShare
	if allowed := t.limitGrowth(want, max(p.set.Max, p.floor()), now); allowed < want {
		want, t.bound = allowed, boundGrowth
	}
	return want
}

// AdvanceAt returns when Advance has something to do, math.MaxInt64 for never.
func (p *Probe) AdvanceAt() int64 {
	if p.holdUntil == 0 {
		return math.MaxInt64
	}
	return p.holdUntil
}

// Advance gives back a headroom that was found where the link has not been measured for long: after the link went down,
// the neighbour became another one, or the two ends agreed no more.
func (p *Probe) Advance(now int64) {
	if p.holdUntil == 0 || now < p.holdUntil {
		return
	}
	p.holdUntil, p.givenBack = 0, true
	if p.target.bits == 0 || p.target.bits == p.set.Calculated {
		return
	}
	p.target = target{bits: p.set.Calculated, proven: p.set.Calculated,
		reason: fmt.Sprintf("calculated, since the link was not measured for %d intervals", holdFor)}
	p.updateTarget(now)
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
	case p.target.bound != "":
		return p.target.bound
	case max(p.measuredNeed(), p.receivedNeed()) > p.target.bits:
		return boundMax
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

// Target is the headroom that the port should have, in octets on the wire; 0 where nothing was found yet.
func (p *Probe) Target() int64 { return Octets(p.target.bits) }

// Found is the headroom that this end has measured, in octets on the wire, or what the headroom in force holds where
// that is less; 0 where this end has not measured yet. The call is cheap.
func (p *Probe) Found() int64 { return min(Octets(p.measuredBits), p.holds) }

// Xon is the resume threshold that the port should have where none is configured, in octets; 0 where this end has not
// measured yet.
func (p *Probe) Xon() int64 {
	switch {
	case p.givenBack:
		return DefaultXon(p.set.Inputs)
	case !p.estimate.Settled():
		return 0
	}
	return MeasuredXon(p.set.Inputs, p.finding())
}

// SetInForce says which headroom the port has, in bytes of the buffer.
func (p *Probe) SetInForce(bytes int64) { p.inForce, p.holds = bytes, p.set.Packing.Octets(bytes) }
