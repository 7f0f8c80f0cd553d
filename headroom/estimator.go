package headroom

import (
	"math"
	"slices"
	"time"
)

// settleSamples is how many samples in a row must agree on a longer round trip. A single sample may have met a frame
// that was being sent, or a machine that stood still. An interval has twice as many samples, so a link that grows is
// followed within one interval.
const settleSamples = 4

// clockRates is the divisor of a turnaround for the disagreement of two clocks: Linux slews each by 500 ppm at most.
const clockRates = 1000

// TurnaroundError is how much too short a round trip may be, since the clock of the other end measured the turnaround.
// The result is 0 for a negative turnaround.
func TurnaroundError(turn time.Duration) time.Duration { return max(turn, 0) / clockRates }

// An estimator makes a finding of many samples. Only what delays all of the last settleSamples is the link, so the
// shortest of them counts. The round trip is the longest of these minima within the window. So a link that grows is
// followed within settleSamples, and a link that shrinks after a whole window.
type estimator struct {
	percentile float64    // Turnaround is this share of all turnarounds, 0 to 1
	trips      window     // t
	settled    window     // the shortest of settleSamples, after each sample
	turns      loadWindow // how long the peer kept the request: t3-t2
	last       [settleSamples]time.Duration
	count      int
}

// Add takes a sample: the round trip, and the peer's turnaround, which is negative with two stamps. busy says that the
// link carried traffic.
func (e *estimator) Add(trip, turn time.Duration, busy bool) {
	e.trips.add(trip)
	if turn >= 0 {
		e.turns.add(turn, busy)
	}
	e.last[e.count%settleSamples] = trip + TurnaroundError(turn)
	e.count++
	if e.Settled() {
		e.settled.add(slices.Min(e.last[:]))
	}
}

// Settled reports whether there are enough samples for an estimate.
func (e *estimator) Settled() bool { return e.count >= settleSamples }

// RoundTrip is the time t of the headroom in force, with the TurnaroundError.
func (e *estimator) RoundTrip() time.Duration { return e.settled.quantile(1) }

// Turnaround is how late the peer answers: the percentile of its turnarounds, or with two stamps that of the round
// trips beyond the shortest.
func (e *estimator) Turnaround() time.Duration {
	if len(e.turns.all.sorted) == 0 {
		return e.trips.quantile(e.percentile) - e.trips.quantile(0)
	}
	return e.turns.all.quantile(e.percentile)
}

// windowSamples is how many samples a window holds: enough for a 99.9 % value that is not the largest.
const windowSamples = 1024

// A window holds the newest samples of a duration, also in order of size. Adding one to a window that is full neither
// allocates nor sorts.
type window struct {
	newest []time.Duration // a ring, in order of time, that grows until it has windowSamples
	sorted []time.Duration
	next   int
}

func (w *window) add(d time.Duration) {
	if len(w.newest) < windowSamples {
		w.newest = append(w.newest, d)
	} else {
		i, _ := slices.BinarySearch(w.sorted, w.newest[w.next])
		w.sorted = slices.Delete(w.sorted, i, i+1)
		w.newest[w.next] = d
		w.next = (w.next + 1) % windowSamples
	}
	i, _ := slices.BinarySearch(w.sorted, d)
	w.sorted = slices.Insert(w.sorted, i, d)
}

// quantile returns the smallest sample that a share of all samples does not exceed, 0 where there is none.
func (w *window) quantile(share float64) time.Duration {
	n := len(w.sorted)
	if n == 0 {
		return 0
	}
	const rounding = 1e-9 // 99.9 / 100 is a little more than 0.999
	rank := int(math.Ceil(share*float64(n) - rounding))
	return w.sorted[min(max(rank, 1), n)-1]
}

// A Distribution describes the samples of a window.
type Distribution struct {
	Samples                int
	Min, Median, P99, P999 time.Duration
	Max                    time.Duration
}

func (w *window) distribution() Distribution {
	return Distribution{Samples: len(w.sorted), Min: w.quantile(0), Median: w.quantile(0.5), P99: w.quantile(0.99),
		P999: w.quantile(0.999), Max: w.quantile(1)}
}

// A loadWindow has samples of a duration, with those of an idle and of a busy link apart.
type loadWindow struct{ all, idle, busy window }

// add takes a sample. busy says that the link carried traffic.
func (w *loadWindow) add(d time.Duration, busy bool) {
	w.all.add(d)
	if busy {
		w.busy.add(d)
	} else {
		w.idle.add(d)
	}
}
