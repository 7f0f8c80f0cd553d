package metrics

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// TestHistogramBuckets records durations and asks Prometheus' own representation, spans and deltas, where they are.
func TestHistogramBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOf(rapid.OneOf(rapid.Int64Range(-5, 10_000_000_000),
			rapid.Int64Range(0, 1<<20*1e9))).Draw(t, "ns")
		snapshot := func(v *dataplane.Snapshot) {
			for _, ns := range durations {
				v.Xoff.Record(ns)
			}
		}
		gathered := assert.Got(registry(Config{Started: started, Snapshot: snapshot}).Gather()).Must(t)
		for _, f := range gathered {
			if f.GetName() != "pfcswitch_xoff_reaction_seconds" {
				continue
			}
			h := f.GetMetric()[0].GetHistogram()
			assert.MustBeTrue(t, len(h.GetPositiveSpan()) != 0 || h.GetZeroCount() != 0,
				"no span: Prometheus would not take it for a native histogram")
			assert.MustBeTrue(t, h.GetCreatedTimestamp().AsTime().Equal(started), "created %v, want %v",
				h.GetCreatedTimestamp().AsTime(), started)
			bounds := map[int]int64{}
			index, delta, count := 0, 0, int64(0)
			for _, span := range h.GetPositiveSpan() {
				index += int(span.GetOffset())
				for range span.GetLength() {
					count += h.GetPositiveDelta()[delta]
					bounds[index] = count
					index, delta = index+1, delta+1
				}
			}
			for _, b := range h.GetBucket() {
				want := uint64(0)
				for _, ns := range durations {
					if float64(ns)/1e9 <= b.GetUpperBound() {
						want++
					}
				}
				assert.MustEqual(t, b.GetCumulativeCount(), want, "classic bucket to %v s", b.GetUpperBound())
			}
			assert.MustEqual(t, len(h.GetBucket()), 13, "classic buckets")
			wantRecorded(t, durations, h.GetSchema(), h.GetZeroCount(), h.GetSampleCount(), h.GetSampleSum(), bounds)
			return
		}
		t.Fatal("not exported")
	})
}

// wantRecorded takes every duration out of the bucket that the definition of native histograms puts it in.
func wantRecorded(t *rapid.T, durations []int64, schema int32, zero, count uint64, sum float64, buckets map[int]int64) {
	base, total := math.Exp2(math.Exp2(-float64(schema))), 0.0
	assert.MustBeTrue(t, count == uint64(len(durations)), "count %d, want %d", count, len(durations))
	for _, ns := range durations {
		if ns <= 0 {
			zero--
			continue
		}
		seconds := float64(ns) / 1e9
		total += seconds
		for i := range buckets {
			if math.Pow(base, float64(i-1)) < seconds*(1+1e-12) && seconds <= math.Pow(base, float64(i))*(1+1e-12) &&
				buckets[i] > 0 {
				buckets[i]--
				seconds = 0
				break
			}
		}
		assert.MustEqual(t, seconds, 0, "%d ns is in no bucket of schema %d", ns, schema)
	}
	assert.MustEqual(t, zero, 0, "zeros too many")
	for i, n := range buckets {
		assert.MustEqual(t, n, 0, "bucket %d: too many", i)
	}
	assert.MustBeTrue(t, math.Abs(sum-total) <= 1e-6*(1+total), "sum %v, want %v", sum, total)
}
