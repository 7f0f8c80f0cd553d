package dataplane

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestLatencyQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Latency
		all := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 200).Draw(t, "latencies")
		for _, v := range all {
			l.Record(v)
			if b := latencyBucket(v); latencyBound(b) < v || b > 0 && latencyBound(b-1) >= v {
				t.Fatalf("%d ns lies in bucket %d, which ends at %d", v, b, latencyBound(b))
			}
		}
		for _, q := range []float64{0.5, 0.99, 1} {
			got, above := l.Quantile(q), 0
			for _, v := range all {
				if v > got {
					above++
				}
			}
			assert.MustBeTrue(t, float64(above) <= (1-q)*float64(len(all))+1e-9,
				"%d of %d latencies lie above the %v quantile %d", above, len(all), q, got)
		}
		assert.MustEqual(t, l.Quantile(1), l.Max, "the 1-quantile, want the largest")
	})
}
