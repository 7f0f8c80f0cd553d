package trunk

// A REDConfig is random early discard on a number of waiting octets. High 0 is off: everything is kept.
type REDConfig struct {
	Low, High   int64   // octets; Low ≤ High
	Probability float64 // of a drop from Low to High; at High, where Averaged
	// Averaged uses the moving average instead of the instantaneous number, with a probability that rises from 0 at
	// Low to Probability at High (RFC 2309; Floyd and Jacobson, "Random Early Detection Gateways for Congestion
	// Avoidance", 1993). TypicalNs is the time of a typical frame on the uplink. While nothing waits, the average
	// falls as if an empty queue had been seen once every TypicalNs.
	Averaged  bool
	TypicalNs int64
}

// averageWeight is the weight of a new value in the average: 2⁻⁹, the usual one (wq ≈ 0.002).
const averageWeight = 1.0 / 512

// afterIdle returns (1 - averageWeight)^(idle/typical), up to a millionth. Products in float64() are rounded by
// themselves: every machine gets the same bits, whether it can multiply and add in one step or not. math.Exp does not
// promise that.
func afterIdle(idle, typical int64) float64 {
	share := 1 - float64(averageWeight*(float64(idle%typical)/float64(typical)))
	base := 1 - averageWeight
	for n := idle / typical; n > 0; n >>= 1 {
		if n&1 == 1 {
			share *= base
		}
		base *= base
	}
	return share
}

// A RED decides which frames are dropped before a queue is full.
type RED struct {
	config  REDConfig
	average float64
	count   int   // frames kept since the last drop, between Low and High
	seen    int64 // time of the last Observe or Emptied
}

// NewRED returns a RED that has seen an empty queue.
func NewRED(c REDConfig, now int64) RED { return RED{config: c, count: -1, seen: now} }

// Configure changes the bounds. The average stays.
func (r *RED) Configure(c REDConfig) { r.config = c }

// Observe notes how many octets wait before a frame that arrives at time now. The average needs this for every frame,
// whatever its colour.
func (r *RED) Observe(waiting, now int64) {
	if !r.config.Averaged {
		return
	}
	if idle := now - r.seen; waiting == 0 && idle > 0 && r.config.TypicalNs > 0 {
		r.average *= afterIdle(idle, r.config.TypicalNs)
	}
	r.seen = max(r.seen, now)
	r.average += float64(averageWeight * (float64(waiting) - r.average))
}

// Emptied says that the last frame left the queue at time now. The queue is idle from then on, not from the last
// arrival.
func (r *RED) Emptied(now int64) { r.seen = max(r.seen, now) }

// Drops tells whether a frame is dropped when so many octets wait before it. random returns a number from 0 up to, not
// including, 1. Below Low it is not called.
func (r *RED) Drops(waiting int64, random func() float64) bool {
	c := &r.config
	if c.High == 0 {
		return false
	}
	if c.Averaged {
		return r.dropsAveraged(random)
	}
	switch {
	case waiting < c.Low:
		return false
	case waiting > c.High:
		return true
	}
	return random() < c.Probability
}

// dropsAveraged spreads drops evenly: the probability grows with the number of frames kept since the last drop
// (section 6 of the paper).
func (r *RED) dropsAveraged(random func() float64) bool {
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
	if spread := 1 - float64(float64(r.count)*p); spread > p {
		p /= spread
	} else {
		p = 1
	}
	if random() >= p {
		return false
	}
	r.count = 0
	return true
}
