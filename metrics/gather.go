package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"pfcswitch/dataplane"
)

var _ prometheus.Gatherer = (*Collector)(nil)

// Gather implements prometheus.Gatherer: families by name, the series of each in the order of the ports. Gather makes
// only what is encoded, so that scrapes disturb the switch little. A registry would send each series through a channel,
// check it against all others and sort all; the tests let one do so.
func (c *Collector) Gather() ([]*dto.MetricFamily, error) {
	o := c.collect()
	all := make([]*dto.MetricFamily, 0, len(families))
	for _, f := range byName {
		if series := o.series[f.index]; len(series) > 0 {
			all = append(all, &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: f.kind.Enum(), Metric: series})
		}
	}
	return all, o.err
}

// An output takes the metrics of one scrape.
type output struct {
	started time.Time
	series  [][]*dto.Metric          // by family
	pairs   map[label]*dto.LabelPair // each once
	err     error                    // a label that cannot be exported, such as a port's name that is not UTF-8

	metrics  slab[dto.Metric]
	counters slab[dto.Counter]
	gauges   slab[dto.Gauge]
	numbers  slab[float64]
	lists    slab[*dto.LabelPair]
}

type label struct{ name, value string }

// A slab hands out zero values, and allocates many at a time.
type slab[T any] struct{ rest []T }

func (s *slab[T]) take(n int) []T {
	if len(s.rest) < n {
		s.rest = make([]T, 512)
	}
	taken := s.rest[:n:n]
	s.rest = s.rest[n:]
	return taken
}

// value exports one number. The labels have the order of the family's.
func (o *output) value(f *family, v float64, labels ...string) {
	m, number := o.metric(f, labels), &o.numbers.take(1)[0]
	*number = v
	if f.kind == dto.MetricType_COUNTER {
		m.Counter = &o.counters.take(1)[0]
		m.Counter.Value = number
		return
	}
	m.Gauge = &o.gauges.take(1)[0]
	m.Gauge.Value = number
}

// metric adds a metric that has no value yet.
func (o *output) metric(f *family, labels []string) *dto.Metric {
	m := &o.metrics.take(1)[0]
	m.Label = o.lists.take(len(labels))
	for i, at := range f.sorted {
		m.Label[i] = o.pair(f.labels[at], labels[at])
	}
	o.series[f.index] = append(o.series[f.index], m)
	return m
}

func (o *output) pair(name, value string) *dto.LabelPair {
	if p := o.pairs[label{name, value}]; p != nil {
		return p
	}
	if !utf8.ValidString(value) {
		o.err = errors.Join(o.err, fmt.Errorf("label %s: %q is not UTF-8", name, value))
	}
	l := label{name, value}
	p := &dto.LabelPair{Name: &l.name, Value: &l.value}
	o.pairs[l] = p
	return p
}

// histogram exports durations. The buckets of a dataplane.Histogram are those of schema 2: number i holds what is above
// 2^((i-1)/4) s and not above 2^(i/4) s. Its zero bucket holds nothing but zeros.
func (o *output) histogram(f *family, h *dataplane.Histogram, labels ...string) {
	buckets := map[int]int64{}
	for i, n := range h.Buckets {
		if n > 0 {
			buckets[h.Index(i)] = int64(n)
		}
	}
	made, err := prometheus.NewConstNativeHistogram(f.desc, h.Count, float64(h.Sum)/second, buckets, nil, h.Zero,
		dataplane.HistogramSchema, 0, o.started, labels...)
	m := o.metric(f, labels)
	if err == nil {
		var all dto.Metric
		err = made.Write(&all)
		m.Histogram = all.Histogram
	}
	o.err = errors.Join(o.err, err)
}

// Handler serves what c collects, and nothing else: as text, or in the protobuf format on request, which alone carries
// the buckets of native histograms. Nothing is compressed: with 32 ports compression takes a third more CPU time, which
// frames need.
func Handler(c *Collector) http.Handler {
	return promhttp.HandlerFor(c, promhttp.HandlerOpts{DisableCompression: true})
}
