package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"pfcswitch/dataplane"
)

// histogram exports durations. The buckets of a dataplane.Histogram are those of schema 2: number i holds what is above
// 2^((i-1)/4) s and not above 2^(i/4) s. Its zero bucket holds nothing but zeros.
func (o *output) histogram(f familyID, h *dataplane.Histogram, labels ...string) {
	buckets := map[int]int64{}
	for i, n := range h.Buckets {
		if n > 0 {
			buckets[h.Index(i)] = int64(n)
		}
	}
	made, err := prometheus.NewConstNativeHistogram(descs[f], h.Count, float64(h.Sum)/second, buckets, nil,
		h.Zero, dataplane.HistogramSchema, 0, o.started, labels...)
	m := o.metric(f, labels)
	if err == nil {
		var all dto.Metric
		err = made.Write(&all)
		m.Histogram = all.Histogram
	}
	o.err = errors.Join(o.err, err)
}
