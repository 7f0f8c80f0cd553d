package trunk

import "math"

// A REDConfig is random early discard on a number of waiting octets. High 0 is off: everything is kept.
type REDConfig struct {
	Low, High   int64   // octets; Low ≤ High
	Probability float64 // of a drop from Low to High; at High, where Averaged
	// Averaged looks at the moving average instead of the instantaneous number, with a probability that rises from 0 at Low
	// to Probability at High (RFC 2309; Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
	// 1993). TypicalNs is the time of a typical frame on the uplink: while nothing waits, the average falls as if so many
	// empty queues had been seen.
	Averaged  bool
	TypicalNs int64
}

// averageWeight is the weight of a new value in the average: 2⁻⁹, the usual one (wq ≈ 0.002).
const averageWeight = 1.0 / 512

// idleDecay is the natural logarithm of what is left of the average after each empty queue that is seen.
var idleDecay = math.Log1p(-averageWeight)

// A RED decides which frames are dropped before a queue is full.
type RED struct {
	config  REDConfig
	average float64
	count   int   // frames kept since the last drop, between Low and High
	seen    int64 // time of the last look, or when the queue became empty after it
}

// NewRED returns a RED that has seen an empty queue.
func NewRED(c REDConfig, now int64) RED { return RED{config: c, count: -1, seen: now} }

// Configure changes the bounds. The average stays.
func (r *RED) Configure(c REDConfig) { r.config = c }

// Observe tells how many octets wait before a frame that arrives at time now. Only the average needs it, and needs it of every
// frame, whatever its colour.
func (r *RED) Observe(waiting, now int64) {
	if !r.config.Averaged {
		return
	}
	if idle := now - r.seen; waiting == 0 && idle > 0 && r.config.TypicalNs > 0 {
		r.average *= math.Exp(idleDecay * float64(idle) / float64(r.config.TypicalNs)) // (1 - weight)^(idle/typical)
	}
	r.seen = max(r.seen, now)
	r.average += averageWeight * (float64(waiting) - r.average)
}

// Emptied tells that the last frame left the queue at time now: it is idle from then on, not from the last arrival.
func (r *RED) Emptied(now int64) { r.seen = max(r.seen, now) }

// Drops tells whether a frame before which that many octets wait is dropped. chance is a number from 0 up to, not
// including, 1; below Low it does not matter.
func (r *RED) Drops(waiting int64, chance func() float64) bool {
	c := &r.config
	if c.High == 0 {
		return false
	}
	if c.Averaged {
		return r.dropsAveraged(chance)
	}
	switch {
	case waiting < c.Low:
		return false
	case waiting > c.High:
		return true
	}
	return chance() < c.Probability
}

// dropsAveraged spreads drops evenly: the probability grows with the frames that were kept since the last one (the paper's
// section 6).
func (r *RED) dropsAveraged(chance func() float64) bool {
	c := &r.config
	switch {
	case r.average < float64(c.Low):
		r.count = -1
		return false
	case r.average >= float64(c.High):
		r.count = 0
		return true
	}
	r.count++
	p := c.Probability * (r.average - float64(c.Low)) / float64(c.High-c.Low)
	if spread := 1 - float64(r.count)*p; spread > p {
		p /= spread
	} else {
		p = 1
	}
	if chance() >= p {
		return false
	}
	r.count = 0
	return true
}
