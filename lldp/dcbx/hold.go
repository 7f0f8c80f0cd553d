package dcbx

import "math"

// A hold keeps an Outcome in force for some time, so that a peer that changes its mind all the time does not make the
// port follow every time.
type hold struct {
	gap     int64 // between changes
	inForce Outcome
	wanted  Outcome
	free    int64 // when the next change may be
}

// force puts an Outcome in force.
func (h *hold) force(o Outcome) { h.inForce, h.wanted = o, o }

// want asks for an Outcome. The first change in a while is in force at once.
func (h *hold) want(o Outcome, now int64) {
	h.wanted = o
	h.advance(now)
}

func (h *hold) advance(now int64) {
	if h.wanted != h.inForce && now >= h.free {
		h.inForce = h.wanted
		h.free = now + h.gap
	}
}

// next returns when advance changes something.
func (h *hold) next() int64 {
	if h.wanted == h.inForce {
		return math.MaxInt64
	}
	return h.free
}
