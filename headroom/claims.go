package headroom

import (
	"time"

	"pfcswitch/macctl"
)

// peerParameters are what a peer says of itself.
type peerParameters struct {
	precision, reaction time.Duration
	sendLimit, burst    int64 // bits; a send limit of 0: none is stated
}

// parametersOf reads what a message says of its sender. No send call can be less than a frame, so no less is believed.
func (in Inputs) parametersOf(m *macctl.Measurement) peerParameters {
	c := peerParameters{nanoseconds(m.Precision), nanoseconds(m.Reaction), int64(m.SendLimit), int64(m.Burst)}
	if c.sendLimit > 0 {
		c.sendLimit = max(c.sendLimit, in.frameBits())
	}
	return c
}

// worst returns the claims that need the most headroom.
func (c peerParameters) worst(other peerParameters) peerParameters {
	limit := max(c.sendLimit, other.sendLimit)
	if c.sendLimit == 0 || other.sendLimit == 0 {
		limit = 0
	}
	return peerParameters{max(c.precision, other.precision), max(c.reaction, other.reaction), limit, max(c.burst, other.burst)}
}

// A parameterWindow knows the worst claims of the newest answers: of windowSamples, or of half as many.
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

// worst is zero where nothing was claimed.
func (w *parameterWindow) worst() peerParameters {
	if w.turned {
		return w.newest.worst(w.before)
	}
	return w.newest
}

func (w *parameterWindow) empty() bool { return w.count == 0 }

// peerParameters are the claims that count. An answer that is the request itself, sent back, says nothing of the peer: there its
// result does. Until that comes the peer's burst is taken to be that of this end, as it is in the calculated headroom.
func (p *Probe) peerParameters() peerParameters {
	switch {
	case !p.parameters.empty():
		return p.parameters.worst()
	case p.results.received:
		return p.set.Inputs.parametersOf(&p.results.peer)
	}
	return peerParameters{burst: 8 * p.set.Inputs.Burst}
}
