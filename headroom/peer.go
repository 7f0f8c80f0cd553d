package headroom

import (
	"time"

	"pfcswitch/macctl"
)

type peerParameters struct {
	precision, reaction time.Duration
	sendLimit, burst    int64 // bits; a send limit of 0 is not stated
}

// parametersOf reads what a message states of its sender. A send call is a frame at least, so a smaller limit is
// raised.
func (in Inputs) parametersOf(m *macctl.Measurement) peerParameters {
	c := peerParameters{nanoseconds(m.Precision), nanoseconds(m.Reaction), int64(m.SendLimit), int64(m.Burst)}
	if c.sendLimit > 0 {
		c.sendLimit = max(c.sendLimit, in.frameBits())
	}
	return c
}

// worst returns the parameters that need the most headroom: the maximum of each, and no send limit where one has none.
func (c peerParameters) worst(other peerParameters) peerParameters {
	limit := max(c.sendLimit, other.sendLimit)
	if c.sendLimit == 0 || other.sendLimit == 0 {
		limit = 0
	}
	return peerParameters{max(c.precision, other.precision), max(c.reaction, other.reaction), limit,
		max(c.burst, other.burst)}
}

// A parameterWindow has the worst parameters of the newest answers: of windowSamples, or of half as many.
type parameterWindow struct {
	newest, before peerParameters
	count          int // in newest
	turned         bool
}

func (w *parameterWindow) add(c peerParameters) {
	switch {
	case w.count == windowSamples/2:
		w.before, w.newest, w.count, w.turned = w.newest, c, 0, true
	case w.count > 0:
		w.newest = w.newest.worst(c)
	default:
		w.newest = c
	}
	w.count++
}

// worst returns zero before the first add.
func (w *parameterWindow) worst() peerParameters {
	if w.turned {
		return w.newest.worst(w.before)
	}
	return w.newest
}

func (w *parameterWindow) empty() bool { return w.count == 0 }

// peerParameters returns the parameters that count. A request that was sent back states nothing of the peer; there the
// peer's result does. Until a result comes, the peer's burst is taken to be that of this end, as in the calculated
// headroom.
func (p *Probe) peerParameters() peerParameters {
	switch {
	case !p.parameters.empty():
		return p.parameters.worst()
	case p.results.received:
		return p.set.Inputs.parametersOf(&p.results.peer)
	}
	return peerParameters{burst: 8 * p.set.Inputs.Burst}
}

// A Moment is a time at a port, in ns. Clock is by how much the real-time clock, which stamps are taken from, is ahead
// of the switch's clock.
type Moment struct {
	Now   int64
	Clock int64
}

// clocksDisagree reports whether stamps that were converted at two moments cannot be compared, since the distance of
// the clocks has changed: the real-time clock was set, or this program stood still between reading the two clocks.
// Linux slews both clocks alike, so slewing does not count. A change that goes unseen is below the precision of the
// stamps.
func (p *Probe) clocksDisagree(a, b Moment) bool {
	return max(a.Clock-b.Clock, b.Clock-a.Clock) > int64(p.set.Precision)
}

// An Ignored says why a message was ignored.
type Ignored uint8

// The reasons.
const (
	IgnoredNotAgreed  Ignored = iota // the two ends have not agreed to measure
	IgnoredUnasked                   // an answer or acknowledgement to no open request, late or for the second time
	IgnoredAltered                   // an answer that does not fit its request
	IgnoredBackwards                 // stamps that run backwards
	IgnoredProportion                // values out of all proportion
	// the real-time clock was set meanwhile, or was not read at the same moment as the other
	IgnoredClock
	IgnoredOld      // a result or a request for a stream older than the newest
	IgnoredBusy     // more requests at once than are answered, or faster than streams are granted
	IgnoredStranger // a result of a station other than the one that answers
	NumIgnored
)

var ignoredNames = [NumIgnored]string{"not-agreed", "unasked", "altered", "backwards", "proportion", "clock", "old",
	"busy", "stranger"}

// String returns the reason as it stands in metric labels.
func (i Ignored) String() string {
	if i >= NumIgnored {
		return "unknown"
	}
	return ignoredNames[i]
}

// saturate32 writes a value into a field of 4 octets.
func saturate32(n int64) uint32 { return uint32(min(max(n, 0), 1<<32-1)) }

// saturate reads a value of the frame, limited to 2^62.
func saturate(n uint64) int64 { return int64(min(n, 1<<62)) }

func nanoseconds(n uint32) time.Duration { return time.Duration(n) }
