package dcbx

import "math"

// A holdDown keeps an Outcome in force for some time, so that a peer that changes its mind all the time does not make the
// port follow every time.
type holdDown struct {
	gap      int64 // between changes
	inForce  Outcome
	proposed Outcome
	free     int64 // when the next change may be
}

// set puts an Outcome in force.
func (h *holdDown) set(o Outcome) { h.inForce, h.proposed = o, o }

// propose asks for an Outcome. The first change in a while is in force at once.
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
