package sched

import "math"

// perOctet is the credit of one octet: credit is counted in bits × 10⁹, so that rate × nanoseconds needs no rounding.
const perOctet = 8 * 1_000_000_000

// A Shaper is a token bucket. The zero value, and a rate of 0, lets everything pass.
type Shaper struct {
	rate    int64 // bit/s
	depth   int64 // credit that the bucket holds
	credit  int64
	last    int64 // time up to which credit was earned, or is known not to be
	halt    int64 // when the port stopped
	stopped bool
}

// Quantum returns how many octets' worth of tokens a port waits for that has used up a bucket of burst octets: half of the
// bucket, and of a small bucket up to three quarters. So it wakes up seldom, and none of its rate is lost where it wakes up
// late by no more than the last quarter. More than quantumOctets at once would lengthen the queues behind a fast port.
func Quantum(burst int64) int64 { return max(burst/2, min(burst*3/4, quantumOctets)) }

// quantumOctets is eight full frames on the wire.
const quantumOctets = 8 * 1538

// Configure sets the rate in bit/s (0: no limit) and the depth of the bucket in octets on the wire. What the bucket
// holds stays, up to its new depth; a bucket that had no rate begins full.
func (s *Shaper) Configure(rate, burst, now int64) {
	if s.rate == 0 {
		s.credit, s.last = math.MaxInt64, now
	} else {
		s.earn(now)
	}
	s.rate, s.depth = rate, burst*perOctet
	s.credit = min(s.credit, s.depth)
}

// Stop says that from now on the port has frames but a pause holds all of them: such time earns nothing.
func (s *Shaper) Stop(now int64) {
	if !s.stopped {
		s.earn(now)
		s.halt, s.stopped = now, true
	}
}

// Start ends Stop. since is the moment at which the pause of a queue that may send now ended; if that was before Stop,
// its frame came only now.
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

// Ready tells whether octets on the wire may go now.
func (s *Shaper) Ready(octets, now int64) bool {
	if s.rate == 0 {
		return true
	}
	s.earn(now)
	return s.credit >= octets*perOctet
}

// Take pays for octets that went.
func (s *Shaper) Take(octets int64) {
	if s.rate != 0 {
		s.credit -= octets * perOctet
	}
}

// Held says that octets on the wire that were paid for have not left yet: they are in a line that takes delay ns. With the
// tokens in the bucket they are no more than the bucket's depth and what the rate lets pass in delay, unless the line is late:
// then there are so many tokens less. What Start may find out to have been earned before now is forgone.
func (s *Shaper) Held(octets, delay, now int64) {
	if s.rate == 0 || delay > (math.MaxInt64-s.depth)/s.rate {
		return
	}
	s.earn(now)
	s.credit = min(s.credit, max(0, s.depth+delay*s.rate-octets*perOctet))
}

// When returns the time at which octets may go, now or later.
func (s *Shaper) When(octets, now int64) int64 {
	if s.Ready(octets, now) {
		return now
	}
	missing := octets*perOctet - s.credit
	return now + (missing+s.rate-1)/s.rate
}

// earn adds what the time since the last call is worth; time beyond a full bucket is lost.
func (s *Shaper) earn(now int64) {
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
