package metrics

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"pfcswitch/dataplane"
)

var _ prometheus.Gatherer = (*Collector)(nil)

// Gather implements prometheus.Gatherer: families by name, the series of each in the order of the ports.
func (c *Collector) Gather() ([]*dto.MetricFamily, error) {
	o := c.collect()
	all := make([]*dto.MetricFamily, 0, len(families))
	for _, f := range byName {
		if len(o.series[f.index]) > 0 {
			all = append(all, o.family(f))
		}
	}
	return all, o.err
}

// An output takes the series of one scrape.
type output struct {
	started time.Time
	series  [][]series // by family
	labels  []string   // of all series
	err     error      // a label that cannot be exported, such as a port's name that is not UTF-8
}

// lengths are how many series of each family a scrape had, and how many labels of all.
type lengths struct {
	series []int
	labels int
}

// newOutput has room for a scrape as long as the last one, if there was one: to grow again and again took a quarter of
// the CPU time.
func newOutput(started time.Time, last *lengths) *output {
	o := &output{started: started, series: make([][]series, len(families))}
	if last != nil {
		for i, n := range last.series {
			o.series[i] = make([]series, 0, n)
		}
		o.labels = make([]string, 0, last.labels)
	}
	return o
}

func (o *output) lengths() *lengths {
	l := &lengths{series: make([]int, len(o.series)), labels: len(o.labels)}
	for i, s := range o.series {
		l.series[i] = len(s)
	}
	return l
}

// A series is one of a family.
type series struct {
	labels    int // where its values begin in output.labels, in the order of their names
	number    float64
	histogram *dto.Histogram // nil: a number
}

// value exports one number. The labels have the order of the family's.
func (o *output) value(f *family, v float64, labels ...string) { o.add(f, series{number: v}, labels) }

func (o *output) add(f *family, s series, labels []string) {
	s.labels = len(o.labels)
	for _, at := range f.sorted {
		if !utf8.ValidString(labels[at]) {
			o.err = errors.Join(o.err, fmt.Errorf("label %s: %q is not UTF-8", f.labels[at], labels[at]))
		}
		o.labels = append(o.labels, labels[at])
	}
	o.series[f.index] = append(o.series[f.index], s)
}

// family returns a family with its series as the libraries of Prometheus take them.
func (o *output) family(f *family) *dto.MetricFamily {
	made := &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: f.kind.Enum()}
	for i := range o.series[f.index] {
		made.Metric = append(made.Metric, o.metric(f, &o.series[f.index][i]))
	}
	return made
}

func (o *output) metric(f *family, s *series) *dto.Metric {
	m := &dto.Metric{Histogram: s.histogram}
	for i, at := range f.sorted {
		m.Label = append(m.Label, &dto.LabelPair{Name: &f.labels[at], Value: &o.labels[s.labels+i]})
	}
	switch f.kind {
	case dto.MetricType_COUNTER:
		m.Counter = &dto.Counter{Value: &s.number}
	case dto.MetricType_GAUGE:
		m.Gauge = &dto.Gauge{Value: &s.number}
	}
	return m
}

// Bounds of classic buckets are powers of 4 s, from 2^classicFirst s (1 µs) to 2^classicLast s (16 s).
const classicFirst, classicLast = -20, 4

// classic returns the buckets for readers that know no native histograms. Each bound is one of the native buckets too,
// so that the counts are exact.
func classic(h *dataplane.Histogram) (all []*dto.Bucket) {
	count, next := h.Zero, 0
	for exponent := classicFirst; exponent <= classicLast; exponent += 2 {
		for ; next < len(h.Buckets) && h.Index(next) <= exponent<<dataplane.HistogramSchema; next++ {
			count += h.Buckets[next]
		}
		all = append(all, &dto.Bucket{CumulativeCount: proto.Uint64(count),
			UpperBound: proto.Float64(math.Ldexp(1, exponent))})
	}
	return all
}

// histogram exports durations, native and classic. The buckets of a dataplane.Histogram are those of schema 2: number i
// holds what is above 2^((i-1)/4) s and not above 2^(i/4) s. Its zero bucket holds nothing but zeros.
func (o *output) histogram(f *family, h *dataplane.Histogram, labels ...string) {
	buckets := map[int]int64{}
	for i, n := range h.Buckets {
		if n > 0 {
			buckets[h.Index(i)] = int64(n)
		}
	}
	made, err := prometheus.NewConstNativeHistogram(f.desc, h.Count, float64(h.Sum)/second, buckets, nil, h.Zero,
		dataplane.HistogramSchema, 0, o.started, labels...)
	var m dto.Metric
	if err == nil {
		err = made.Write(&m)
	}
	if o.err = errors.Join(o.err, err); err == nil {
		m.Histogram.Bucket = classic(h)
	}
	o.add(f, series{histogram: m.Histogram}, labels)
}
