package dataplane

import "math/bits"

// A Latency counts durations more finely than a Histogram: 32 buckets for each power of two, so that quantiles are at
// most 3 % too large. It counts with integers, so that results are the same on every machine.
type Latency struct {
	Count   uint64
	Max     int64 // ns
	buckets [64 * latencySteps]uint64
}

const latencySteps = 32

// Record adds a latency in ns. It ignores a negative one, which a stepped clock gives.
func (l *Latency) Record(ns int64) {
	if ns < 0 {
		return
	}
	l.Count++
	l.Max = max(l.Max, ns)
	l.buckets[latencyBucket(ns)]++
}

func latencyBucket(ns int64) int {
	if ns < latencySteps {
		return int(ns)
	}
	octave := bits.Len64(uint64(ns)) - 6
	return (octave+1)*latencySteps + int(ns>>octave) - latencySteps
}

// latencyBound is the largest latency of a bucket.
func latencyBound(bucket int) int64 {
	if bucket < latencySteps {
		return int64(bucket)
	}
	octave := bucket/latencySteps - 1
	return int64(bucket%latencySteps+latencySteps+1)<<octave - 1
}

// Quantile returns an upper bound of the q-quantile in ns, 0 where nothing was recorded.
func (l *Latency) Quantile(q float64) int64 {
	// The conversion keeps some machines from fusing the operations, which would round otherwise.
	rank := max(1, uint64(float64(q*float64(l.Count))+0.999999))
	sum := uint64(0)
	for i, n := range l.buckets {
		if sum += n; sum >= rank && n > 0 {
			return min(latencyBound(i), l.Max)
		}
	}
	return 0
}
