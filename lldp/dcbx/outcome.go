package dcbx

import "math"

// An Outcome is what follows from the exchange for the port. Outcomes are comparable.
type Outcome struct {
	Version Version // that this end speaks
	Peer    bool    // the neighbour that counts speaks it too

	PFC      uint8  // priorities that are lossless, bit n = priority n
	Reason   Reason // why these
	Mismatch bool   // the ends do not agree which priorities are lossless

	Queues     Queues // as they are to be served
	ETSAdopted bool   // Queues are those that the peer recommends

	Measures bool // the peer can measure headroom, by its last TLV

	ets ETS // that was adopted
}

func (o *Outcome) setPFC(v pfcDecision) { o.PFC, o.Reason, o.Mismatch = v.enable, v.reason, v.mismatch }

// localOutcome returns the outcome without a peer.
func (c *Config) localOutcome(v Version, why Reason) Outcome {
	return Outcome{Version: v, PFC: c.PFC, Reason: why, Queues: c.Queues}
}

// A holdDown keeps an Outcome in force for some time. So the port does not follow every change of a peer that changes
// its mind all the time.
type holdDown struct {
	gap      int64 // between changes
	inForce  Outcome
	proposed Outcome
	free     int64 // when the next change may be
}

// set puts an Outcome in force.
func (h *holdDown) set(o Outcome) { h.inForce, h.proposed = o, o }

// propose asks for an Outcome. The first change in a while comes in force at once.
func (h *holdDown) propose(o Outcome, now int64) {
	h.proposed = o
	h.advance(now)
}

func (h *holdDown) advance(now int64) {
	if h.proposed != h.inForce && now >= h.free {
		h.inForce = h.proposed
		h.free = now + h.gap
	}
}

// next returns when advance changes something.
func (h *holdDown) next() int64 {
	if h.proposed == h.inForce {
		return math.MaxInt64
	}
	return h.free
}
