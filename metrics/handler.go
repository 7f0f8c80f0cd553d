package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves what c collects, and nothing else: as text, and to those who ask for it in the protobuf format, which
// alone carries the buckets of native histograms. Nothing is compressed: with 32 ports that would be a third of a scrape's
// CPU time, which frames need more than a link needs the octets.
func Handler(c *Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		return nil, err
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}), nil
}
