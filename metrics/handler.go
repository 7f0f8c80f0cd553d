package metrics

import (
	"errors"
	"io"
	"math"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Handler serves what c collects, and what own gathers of the process: as text, or in the protobuf format on request,
// which alone carries the buckets of native histograms. Nothing is compressed: with 32 ports compression takes a third
// more CPU time, which frames need. Prometheus, which asks for protobuf, is answered without the libraries' objects for
// every series of c: with them a scrape takes almost twice the CPU time. Tests compare the answers octet by octet.
func Handler(c *Collector, own prometheus.Gatherer) http.Handler {
	all := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		gathered, err := c.Gather()
		more, errOwn := own.Gather()
		return append(gathered, more...), errors.Join(err, errOwn)
	})
	library := promhttp.HandlerFor(all, promhttp.HandlerOpts{DisableCompression: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		if format.FormatType() != expfmt.TypeProtoDelim || r.URL.RawQuery != "" {
			library.ServeHTTP(w, r)
			return
		}
		o := c.collect()
		more, err := own.Gather()
		if err = errors.Join(o.err, err); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", string(format))
		w.Header().Set("Vary", "Accept")
		if o.writeTo(w) != nil {
			return // the reader has gone
		}
		for _, f := range more {
			if _, err := protodelim.MarshalTo(w, f); err != nil {
				return
			}
		}
	})
}

// writeTo writes all families as messages MetricFamily of io.prometheus.client, each behind its length.
func (o *output) writeTo(w io.Writer) error {
	var length, message []byte
	for _, f := range byName {
		if len(o.series[f.index]) == 0 {
			continue
		}
		message = o.appendFamily(message[:0], f)
		length = protowire.AppendVarint(length[:0], uint64(len(message)))
		for _, part := range [][]byte{length, message} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendFamily appends the fields of a MetricFamily: name (1), help (2), type (3), and metrics (4).
func (o *output) appendFamily(b []byte, f *family) []byte {
	b = appendString(b, 1, f.name)
	b = appendString(b, 2, f.help)
	b = protowire.AppendTag(b, 3, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(f.kind))
	for i := range o.series[f.index] {
		b = o.appendMetric(b, f, &o.series[f.index][i])
	}
	return b
}

// appendMetric appends a series as a Metric: its labels (1), and its value as a Gauge (2), a Counter (3), whose value
// is their field 1, or a Histogram (7).
func (o *output) appendMetric(b []byte, f *family, s *series) []byte {
	values := o.labels[s.labels : s.labels+len(f.labels)]
	var histogram []byte
	kind, size := protowire.Number(2), 1+8
	switch f.kind {
	case dto.MetricType_COUNTER:
		kind = 3
	case dto.MetricType_HISTOGRAM:
		histogram, _ = proto.Marshal(s.histogram) // whose only strings, those of labels, are checked
		kind, size = 7, len(histogram)
	}
	length := 1 + protowire.SizeBytes(size)
	for i, at := range f.sorted {
		length += 1 + protowire.SizeBytes(pairSize(f.labels[at], values[i]))
	}
	b = appendHead(b, 4, length)
	for i, at := range f.sorted {
		b = appendHead(b, 1, pairSize(f.labels[at], values[i]))
		b = appendString(b, 1, f.labels[at])
		b = appendString(b, 2, values[i])
	}
	b = appendHead(b, kind, size)
	if f.kind == dto.MetricType_HISTOGRAM {
		return append(b, histogram...)
	}
	b = protowire.AppendTag(b, 1, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(s.number))
}

// pairSize is the length of a LabelPair: name (1), value (2).
func pairSize(name, value string) int {
	return 1 + protowire.SizeBytes(len(name)) + 1 + protowire.SizeBytes(len(value))
}

// appendHead appends what stands before a message inside a message.
func appendHead(b []byte, field protowire.Number, length int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(length))
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return append(appendHead(b, field, len(s)), s...)
}
