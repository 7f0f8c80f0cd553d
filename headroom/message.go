package headroom

import "time"

// A Moment is when something happens at a port: by the switch's clock, and what the real-time clock, which stamps are
// taken from, is ahead of it. Both in ns.
type Moment struct {
	Now   int64
	Clock int64
}

// clocksDisagree reports whether stamps that were converted at two moments cannot be held against each other, since the clocks were
// not as far apart at both: the real-time clock was set meanwhile, or this program stood still between reading the one and the
// other. Slewing is not that: Linux slews both alike. What goes unseen is no more than the precision of the stamps.
func (p *Probe) clocksDisagree(a, b Moment) bool {
	return max(a.Clock-b.Clock, b.Clock-a.Clock) > int64(p.set.Precision)
}

// An Ignored says why a message was ignored.
type Ignored uint8

// The reasons.
const (
	IgnoredNotAgreed  Ignored = iota // the two ends have not agreed to measure
	IgnoredUnasked                   // an answer or acknowledgement to no open question, late or for the second time
	IgnoredAltered                   // an answer that does not fit its question
	IgnoredBackwards                 // stamps that run backwards
	IgnoredProportion                // values out of all proportion
	IgnoredClock                     // the real-time clock was set meanwhile, or was not read at the same moment as the other
	IgnoredOld                       // a result or a request for a stream older than the newest
	IgnoredBusy                      // more requests at once than are answered, or faster than streams are granted
	IgnoredStranger                  // a result of a station that is not the one that answers
	NumIgnored
)

var ignoredNames = [NumIgnored]string{"not-agreed", "unasked", "altered", "backwards", "proportion", "clock", "old", "busy", "stranger"}

// String returns the reason as it stands in metric labels.
func (i Ignored) String() string {
	if i >= NumIgnored {
		return "unknown"
	}
	return ignoredNames[i]
}

// saturate32 writes a value that the frame has 4 octets for.
func saturate32(n int64) uint32 { return uint32(min(max(n, 0), 1<<32-1)) }

// saturate reads a value of the frame: no one above 2^62 is meant.
func saturate(n uint64) int64 { return int64(min(n, 1<<62)) }

func nanoseconds(n uint32) time.Duration { return time.Duration(n) }
