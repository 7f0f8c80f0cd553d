package headroom

import (
	"time"

	"pfcswitch/macctl"
)

// claims are what a peer says of itself.
type claims struct {
	precision, reaction time.Duration
	sendLimit, burst    int64 // bits; a send limit of 0: none is stated
}

// claimed reads what a message says of its sender. No send call can be less than a frame, so no less is believed.
func (in Inputs) claimed(m *macctl.Measurement) claims {
	c := claims{nanoseconds(m.Precision), nanoseconds(m.Reaction), int64(m.SendLimit), int64(m.Burst)}
	if c.sendLimit > 0 {
		c.sendLimit = max(c.sendLimit, in.frameBits())
	}
	return c
}

// worst returns the claims that need the most headroom.
func (c claims) worst(other claims) claims {
	limit := max(c.sendLimit, other.sendLimit)
	if c.sendLimit == 0 || other.sendLimit == 0 {
		limit = 0
	}
	return claims{max(c.precision, other.precision), max(c.reaction, other.reaction), limit, max(c.burst, other.burst)}
}

// A claimWindow knows the worst claims of the newest answers: of windowSamples, or of half as many.
type claimWindow struct {
	newest, before claims
	count          int // in newest
	turned         bool
}

func (w *claimWindow) add(c claims) {
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
func (w *claimWindow) worst() claims {
	if w.turned {
		return w.newest.worst(w.before)
	}
	return w.newest
}

func (w *claimWindow) empty() bool { return w.count == 0 }

// peerClaims are the claims that count. An answer that is the request itself, sent back, says nothing of the peer: there its
// result does. Until that comes the peer's burst is taken to be that of this end, as it is in the calculated headroom.
func (p *Probe) peerClaims() claims {
	switch {
	case !p.claims.empty():
		return p.claims.worst()
	case p.results.heard:
		return p.set.Inputs.claimed(&p.results.peer)
	}
	return claims{burst: 8 * p.set.Inputs.Burst}
}
