package headroom

import (
	"math"
	"slices"
	"time"
)

// windowSamples is how many samples a window holds: enough for a 99.9 % value that is not the largest.
const windowSamples = 1024

// A window holds the newest samples of a duration, also in order of size. Adding one neither allocates nor sorts.
type window struct {
	newest [windowSamples]time.Duration // a ring, in order of time
	sorted []time.Duration
	next   int
}

func newWindow() window { return window{sorted: make([]time.Duration, 0, windowSamples)} }

func (w *window) add(d time.Duration) {
	if len(w.sorted) == windowSamples {
		i, _ := slices.BinarySearch(w.sorted, w.newest[w.next])
		w.sorted = slices.Delete(w.sorted, i, i+1)
	}
	w.newest[w.next] = d
	w.next = (w.next + 1) % windowSamples
	i, _ := slices.BinarySearch(w.sorted, d)
	w.sorted = slices.Insert(w.sorted, i, d)
}

func (w *window) reset() { w.sorted, w.next = w.sorted[:0], 0 }

// quantile is the smallest sample that a share of all does not exceed, 0 where there is none.
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
