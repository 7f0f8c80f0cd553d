package headroom

import (
	"time"

	"pfcswitch/macctl"
)

// peerParameters are what a peer states of itself.
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

// worst returns the maximum of each claim: those that need the most headroom.
func (c peerParameters) worst(other peerParameters) peerParameters {
	limit := max(c.sendLimit, other.sendLimit)
	if c.sendLimit == 0 || other.sendLimit == 0 {
		limit = 0
	}
	return peerParameters{max(c.precision, other.precision), max(c.reaction, other.reaction), limit,
		max(c.burst, other.burst)}
}

// A parameterWindow has the worst claims of the newest answers: of windowSamples, or of half as many.
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

// worst returns zero where nothing was claimed.
func (w *parameterWindow) worst() peerParameters {
	if w.turned {
		return w.newest.worst(w.before)
	}
	return w.newest
}

func (w *parameterWindow) empty() bool { return w.count == 0 }

// peerParameters returns the claims in force. A request that was sent back states nothing of the peer; there the peer's
// result does. Until a result comes, the peer's burst is taken to be that of this end, as in the calculated headroom.
func (p *Probe) peerParameters() peerParameters {
	switch {
	case !p.parameters.empty():
		return p.parameters.worst()
	case p.results.received:
		return p.set.Inputs.parametersOf(&p.results.peer)
	}
	return peerParameters{burst: 8 * p.set.Inputs.Burst}
}
