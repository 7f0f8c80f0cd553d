package headroom

import "time"

// settleSamples is how many samples in a row must agree on a longer trip: one alone may have met a frame that was being
// sent, or a machine that stood still. They are half of what an interval has, so that a link that grows is followed
// within one.
const settleSamples = 4

// clockRates is how much of a turn-around the clocks of the two ends may disagree about: Linux slews each by 500 ppm at most.
const clockRates = 1000

// TurnaroundError is how much too short a trip may be because of its turn-around, which the clock of the other end has measured. It is 0 for a
// negative one.
func TurnaroundError(turn time.Duration) time.Duration { return max(turn, 0) / clockRates }

// An Estimator makes a finding of many samples. The trip is the shortest of the last settleSamples, since only what
// delays all of them is the link; where that was longer within the window, it is the longest that it was. So on a link that
// stays as it is the trip is the shortest of all as soon as one in settleSamples has met no delay, a link that grows is
// followed within settleSamples, and one that shrinks after a whole window.
type Estimator struct {
	percentile float64
	trips      window // t
	settled    window // the shortest of settleSamples, after each sample
	turns      window // how long the peer kept the question: t3-t2
	idle, busy window // the same, while the link was idle and while it carried traffic
	last       [settleSamples]time.Duration
	count      int
}

// NewEstimator returns an Estimator without samples. The reaction is this share of all turn-arounds, 0 to 1.
func NewEstimator(percentile float64) *Estimator {
	return &Estimator{percentile: percentile, trips: newWindow(), settled: newWindow(), turns: newWindow(), idle: newWindow(), busy: newWindow()}
}

// Reset forgets every sample.
func (e *Estimator) Reset() {
	e.trips.reset()
	e.settled.reset()
	e.turns.reset()
	e.idle.reset()
	e.busy.reset()
	e.count = 0
}

// Add takes a sample: the trip, and the peer's turn-around where four stamps tell it. With two stamps, turn is
// negative. busy says that the link carried traffic.
func (e *Estimator) Add(trip, turn time.Duration, busy bool) {
	e.trips.add(trip)
	switch {
	case turn < 0:
	case busy:
		e.turns.add(turn)
		e.busy.add(turn)
	default:
		e.turns.add(turn)
		e.idle.add(turn)
	}
	e.last[e.count%settleSamples] = trip + TurnaroundError(turn)
	e.count++
	if e.count >= settleSamples {
		shortest := e.last[0]
		for _, t := range e.last[1:] {
			shortest = min(shortest, t)
		}
		e.settled.add(shortest)
	}
}

// Settled reports whether there are samples enough for an estimate.
func (e *Estimator) Settled() bool { return e.count >= settleSamples }

// RoundTrip is the time t of the headroom in force, with what a turn-around may be wrong by.
func (e *Estimator) RoundTrip() time.Duration { return e.settled.quantile(1) }

// Turnaround is how late the peer answers at its worst: the percentile of its turn-arounds, or with two stamps of what trips
// took beyond the shortest.
func (e *Estimator) Turnaround() time.Duration {
	if len(e.turns.sorted) == 0 {
		return e.trips.quantile(e.percentile) - e.trips.quantile(0)
	}
	return e.turns.quantile(e.percentile)
}
