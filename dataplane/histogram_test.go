package dataplane

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A duration lies in the bucket whose bounds contain it, upper bound included.
func TestHistogramBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.OneOf(rapid.Int64Range(1, 16_000_000_000), rapid.Int64Range(1, 1<<20*1e9)).Draw(t, "ns")
		var h Histogram
		h.Record(ns)
		for i, n := range h.Buckets {
			if n == 0 {
				continue
			}
			low, high := math.Exp2(float64(h.Index(i)-1)/4), math.Exp2(float64(h.Index(i))/4)
			if s := float64(ns) / 1e9; (s <= low*(1-1e-12) && i > 0) || s > high*(1+1e-12) {
				t.Fatalf("%d ns lies in the bucket from %g to %g s", ns, low, high)
			}
			return
		}
		t.Fatalf("%d ns lies in no bucket", ns)
	})
}

func TestHistogramEnds(t *testing.T) {
	var h Histogram
	assert.Equal(t, h.Quantile(0.5), 0, "the median of nothing")
	for _, ns := range []int64{-5, 0, 1, math.MaxInt64} {
		h.Record(ns)
	}
	assert.True(t, h.Count == 4 && h.Zero == 2 && h.Buckets[0] == 1 && h.Buckets[histogramLen-1] == 1,
		"count %d, zero %d, first %d, last %d, want 4, 2, 1, 1", h.Count, h.Zero, h.Buckets[0],
		h.Buckets[histogramLen-1])
	assert.True(t, h.Quantile(0.5) == 0 && h.Quantile(0.75) != 0, "median %d, 75 %% %d: half of the values are 0",
		h.Quantile(0.5), h.Quantile(0.75))
}

// A quantile is above its value by less than a bucket, 19 %.
func TestHistogramQuantile(t *testing.T) {
	var h Histogram
	for ns := int64(1); ns <= 1000; ns++ {
		h.Record(ns * 1000)
	}
	assert.Equal(t, h.Sum, 500_500_000, "sum")
	for q, want := range map[float64]int64{0.001: 1000, 0.5: 500_000, 0.99: 990_000, 1: 1_000_000} {
		if got := h.Quantile(q); got < want || got > want*1190/1000 {
			t.Errorf("quantile %v: %d, want %d to %d", q, got, want, want*1190/1000)
		}
	}
}

func TestHistogramHalves(t *testing.T) {
	var h Histogram
	for range 5 {
		for _, ns := range []int64{0, 1000, 1000, 1_000_000, 1_000_000, 1_000_000} {
			h.Record(ns)
		}
	}
	median := h.Quantile(0.5)
	h.Halve()
	assert.True(t, h.Count == 14 && h.Zero == 2 && h.Sum == 7_505_000 && h.Quantile(0.5) == median,
		"count %d, zero %d, sum %d, median %d of %d", h.Count, h.Zero, h.Sum, h.Quantile(0.5), median)
	for range 10 {
		h.Halve()
	}
	assert.True(t, h.Count == 0 && h.Quantile(1) == 0, "%d are left of a few values that are long past", h.Count)
}
