package sched

import "math"

// perOctet is the credit of one octet. Credit counts bits × 10⁹, so that rate × nanoseconds needs no rounding.
const perOctet = 8 * 1_000_000_000

// A Shaper is a token bucket. The zero value, and a rate of 0, passes everything.
type Shaper struct {
	rate    int64 // bit/s
	depth   int64 // credit that the bucket holds
	credit  int64
	last    int64 // time up to which credit is accounted for
	halt    int64 // when Stop was called
	stopped bool
}

// Quantum returns how many octets' worth of tokens a port waits for after it used up a bucket of burst octets: half of
// the bucket, and of a small bucket up to three quarters. So the port wakes up seldom, and loses none of its rate if
// it wakes up late by no more than the last quarter. More than quantumOctets at once would lengthen the queues behind
// a fast port.
func Quantum(burst int64) int64 { return max(burst/2, min(burst*3/4, quantumOctets)) }

// quantumOctets is eight full frames on the wire.
const quantumOctets = 8 * 1538

// maxDepth is what a bucket can hold, in octets: half of what fits in credit, so that no sum overflows.
const maxDepth = math.MaxInt64 / 2 / perOctet

// Configure sets the rate in bit/s (0: no limit) and the depth of the bucket in octets on the wire. The bucket keeps
// its credit up to the new depth. A bucket that had no rate starts full. A depth above maxDepth, 576 MB, counts as
// that.
func (s *Shaper) Configure(rate, burst, now int64) {
	if s.rate == 0 {
		s.credit, s.last = math.MaxInt64, now
	} else {
		s.refill(now)
	}
	s.rate, s.depth = rate, min(burst, maxDepth)*perOctet
	s.credit = min(s.credit, s.depth)
}

// Stop says that the port has frames but a pause holds all of them. Such time earns nothing.
func (s *Shaper) Stop(now int64) {
	if !s.stopped {
		s.refill(now)
		s.halt, s.stopped = now, true
	}
}

// Stopped reports whether Stop was called last, so that Start has to follow.
func (s *Shaper) Stopped() bool { return s.stopped }

// Start ends Stop. since is when the pause ended of a queue that may send now. If that was before Stop, the queue's
// frame has only now arrived.
func (s *Shaper) Start(since, now int64) {
	if !s.stopped {
		return
	}
	s.stopped = false
	if since < s.halt {
		since = now
	}
	s.last = max(s.last, min(since, now))
}

// Ready tells whether octets on the wire may leave now.
func (s *Shaper) Ready(octets, now int64) bool {
	if s.rate == 0 {
		return true
	}
	s.refill(now)
	return s.credit >= octets*perOctet
}

// Take charges octets that left.
func (s *Shaper) Take(octets int64) {
	if s.rate != 0 {
		s.credit -= octets * perOctet
	}
}

// Held says that octets on the wire that were charged have not left yet: they are in a delay line of delay ns.
// Together with the tokens in the bucket they must not exceed the bucket's depth and what the rate lets pass in delay.
// If the line is late, they do, and Held removes the excess tokens. Start then does not add credit for time before
// now.
func (s *Shaper) Held(octets, delay, now int64) {
	if s.rate == 0 || delay > (math.MaxInt64-s.depth)/s.rate {
		return
	}
	s.refill(now)
	s.credit = min(s.credit, max(0, s.depth+delay*s.rate-octets*perOctet))
}

// When returns the time at which octets may leave, which is now or later.
func (s *Shaper) When(octets, now int64) int64 {
	if s.Ready(octets, now) {
		return now
	}
	missing := octets*perOctet - s.credit
	return now + (missing+s.rate-1)/s.rate
}

// refill adds credit for the time since the last call. Credit beyond a full bucket is lost.
func (s *Shaper) refill(now int64) {
	elapsed := now - s.last
	if s.rate == 0 || elapsed <= 0 {
		return
	}
	if !s.stopped {
		missing := s.depth - s.credit
		if elapsed >= missing/s.rate+1 {
			s.credit = s.depth
		} else {
			s.credit += elapsed * s.rate
		}
	}
	s.last = now
}
