package dcqcn

import (
	"math"
	"math/bits"
)

// one is the largest α. α counts in units of 2^-32, and all else in integers too, so that every machine gets the same.
const one = 1 << 32

// A ReactionPoint is the rate of a flow's sender. Start makes it ready.
type ReactionPoint struct {
	p               Params
	most            int64  // bit/s
	current, target int64  // bit/s: R_C, R_T
	alpha           uint64 // how much there is congestion, up to one
	decayAt         int64  // when α falls next
	timerAt         int64  // when a round of the timer ends
	left            int64  // octets until a round of the byte counter ends
	timerRounds     int    // since the last cut: T of the paper,
	octetRounds     int    // and BC
}

// Start begins a flow that may send at most bit/s. It begins at that: there is no slow start, and α is 1 (section 3.1).
func (r *ReactionPoint) Start(p Params, most, now int64) {
	p.Least = min(p.Least, most)
	*r = ReactionPoint{p: p, most: most, current: most, target: most, alpha: one, left: p.Octets}
	r.decayAt, r.timerAt = now+p.Decay, now+p.Timer
}

// Rate returns the rate at which the flow may send, in bit/s, as of the last call.
func (r *ReactionPoint) Rate() int64 { return r.current }

// Next returns when the rate changes next without a CNP or octets sent, in ns; math.MaxInt64: never.
func (r *ReactionPoint) Next() int64 {
	if r.free() {
		return math.MaxInt64
	}
	return r.timerAt
}

// free reports whether nothing limits the flow.
func (r *ReactionPoint) free() bool { return r.current == r.most }

// Notified says that a CNP came at time now: the rate is cut, and all begins anew (section 3.1, equation 1):
//
//	R_T = R_C;  R_C = R_C·(1 - α/2);  α = (1-g)·α + g
func (r *ReactionPoint) Notified(now int64) {
	r.Advance(now)
	r.target = r.current
	r.current = max(r.p.Least, r.current-share(r.current, r.alpha)/2)
	r.alpha += (one - r.alpha) >> gainShift
	r.decayAt, r.timerAt, r.left = now+r.p.Decay, now+r.p.Timer, r.p.Octets
	r.timerRounds, r.octetRounds = 0, 0
}

// share returns rate·α.
func share(rate int64, alpha uint64) int64 {
	high, low := bits.Mul64(uint64(rate), alpha)
	return int64(high<<32 | low>>32)
}

// Advance lets time pass until now. Each Decay without a CNP lowers α (section 3.1, equation 2):
//
//	α = (1-g)·α
func (r *ReactionPoint) Advance(now int64) {
	for ; r.decayAt <= now; r.decayAt += r.p.Decay {
		if r.alpha == 0 {
			r.decayAt = now // the next cut begins anew
		}
		r.alpha -= (r.alpha + 1<<gainShift - 1) >> gainShift
	}
	for ; r.timerAt <= now; r.timerAt += r.p.Timer {
		if r.free() {
			r.timerAt = now
			continue
		}
		r.timerRounds++
		r.increase()
	}
}

// Sent says that the flow has sent so many octets.
func (r *ReactionPoint) Sent(octets int64) {
	if r.free() {
		return
	}
	for r.left -= octets; r.left <= 0; r.left += r.p.Octets {
		r.octetRounds++
		r.increase()
	}
}

// increase is the end of a round (section 3.1, equations 3 and 4): fast recovery in the first fastRounds
// of both counters, hyper increase after as many of each, and additive increase between.
//
//	R_T = R_T + 0, R_AI or R_HAI;  R_C = (R_T + R_C)/2
func (r *ReactionPoint) increase() {
	switch {
	case min(r.timerRounds, r.octetRounds) > fastRounds:
		r.target += r.p.Hyper
	case max(r.timerRounds, r.octetRounds) > fastRounds:
		r.target += r.p.Additive
	}
	r.target = min(r.target, r.most)
	r.current = (r.target + r.current + 1) / 2
}
