package bridge

import "pfcswitch/dataplane/frame"

const (
	// MaxStorm is the highest storm limit, in bit/s: the fastest Ethernet.
	MaxStorm = 800_000_000_000

	bit = 1_000_000_000 // one bit in the unit of the bucket, in which rate times nanoseconds is exact

	stormWindow = 10_000_000                              // depth of the bucket in nanoseconds at the limit's rate,
	stormFrames = 2 * (1518 + frame.WireExtras) * 8 * bit // but at least two tagged frames of the usual MTU
)

// storm is the limit on what one ingress port may flood: a token bucket of depth max(rate × 10 ms, two frames). A
// frame passes while the level is above zero, and takes the level below zero by at most its length. So a frame larger
// than the bucket (a GSO frame of 64 KiB) passes at the right rate too. The zero value has no limit.
type storm struct {
	rate  int64 // bit/s of wire octets; 0: no limit
	depth int64 // in 10⁻⁹ bit, as is level
	level int64
	last  int64 // when the level was true, in nanoseconds
}

// newStorm returns a full bucket.
func newStorm(rate int64) storm {
	depth := max(rate*stormWindow, stormFrames)
	return storm{rate: rate, depth: depth, level: depth}
}

// charge tells whether a frame of that length without FCS may flood, and charges it if so.
func (s *storm) charge(octets int, now int64) bool {
	if s.rate == 0 {
		return true
	}
	s.fill(now)
	if s.level <= 0 {
		return false
	}
	s.level -= int64(frame.WireOctets(octets)) * 8 * bit
	return true
}

// allows tells what charge would return, and charges nothing.
func (s *storm) allows(now int64) bool {
	if s.rate == 0 {
		return true
	}
	then := *s
	then.fill(now)
	return then.level > 0
}

func (s *storm) fill(now int64) {
	elapsed := now - s.last
	if elapsed <= 0 {
		return
	}
	s.last = now
	if missing := s.depth - s.level; elapsed > missing/s.rate { // also keeps the product below 2⁶³
		s.level = s.depth
		return
	}
	s.level += elapsed * s.rate
}
