package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves what c collects, and nothing else: as text, and to those who ask for it in the protobuf format, which
// alone carries the buckets of native histograms. Nothing is compressed: with 32 ports that would take a third more of CPU
// time, which frames need more than a link needs the octets.
func Handler(c *Collector) (http.Handler, error) {
	return promhttp.HandlerFor(c, promhttp.HandlerOpts{DisableCompression: true}), nil
}
