package dataplane

import "math"

// Histogram buckets have exponential bounds, four to an octave, from 2^-30 s (about 1 ns) up to 2^20 s (12 days):
// schema 2 of Prometheus' native histograms.
const (
	HistogramSchema = 2
	histogramLow    = -30*4 + 1
	histogramLen    = 50 * 4
)

// A Histogram counts durations.
type Histogram struct {
	Count, Zero uint64
	Sum         int64 // ns
	Buckets     [histogramLen]uint64
}

// Record adds a duration in ns. One of 0 or less counts as 0, one that is longer than all buckets in the last.
func (h *Histogram) Record(ns int64) {
	h.Count++
	if ns <= 0 {
		h.Zero++
		return
	}
	h.Sum += ns
	i := int(math.Ceil(math.Log2(float64(ns)/1e9)*4)) - histogramLow
	h.Buckets[min(max(i, 0), histogramLen-1)]++
}

// record adds a duration to a histogram that is made for the first one: most ports never pause.
func record(h **Histogram, ns int64) {
	if *h == nil {
		*h = new(Histogram)
	}
	(*h).Record(ns)
}

// value is the histogram, empty where there is none yet.
func (h *Histogram) value() Histogram {
	if h == nil {
		return Histogram{}
	}
	return *h
}

// Halve halves every count. A count of 1 vanishes.
func (h *Histogram) Halve() {
	h.Zero /= 2
	h.Count = h.Zero
	for i := range h.Buckets {
		h.Buckets[i] /= 2
		h.Count += h.Buckets[i]
	}
	h.Sum /= 2
}

// Index is the native histogram's number of bucket i: it holds durations from 2^((Index-1)/4) to 2^(Index/4) seconds.
func (h *Histogram) Index(i int) int { return i + histogramLow }

// Quantile returns an upper bound of the q-quantile in ns, 0 where nothing was recorded.
func (h *Histogram) Quantile(q float64) int64 {
	rank := uint64(math.Ceil(q * float64(h.Count)))
	sum := h.Zero
	if rank <= sum {
		return 0
	}
	for i, n := range h.Buckets {
		if sum += n; sum >= rank {
			return int64(math.Exp2(float64(h.Index(i))/4) * 1e9)
		}
	}
	return 0
}
