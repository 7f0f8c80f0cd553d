package traffic

import "math/bits"

// latency is a histogram with 32 steps to each power of two: quantiles are right within about 3 %.
type latency struct {
	count   uint64
	max     int64
	buckets [64 * latencySteps]uint64
}

const latencySteps = 32

// record adds a latency in ns. A negative one, seen when a clock was stepped, is left out.
func (l *latency) record(ns int64) {
	if ns < 0 {
		return
	}
	l.count++
	l.max = max(l.max, ns)
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

// quantile returns an upper bound of the q-quantile in ns, 0 where nothing was recorded.
func (l *latency) quantile(q float64) int64 {
	rank := max(1, uint64(q*float64(l.count)+0.999999))
	sum := uint64(0)
	for i, n := range l.buckets {
		if sum += n; sum >= rank && n > 0 {
			return min(latencyBound(i), l.max)
		}
	}
	return 0
}
