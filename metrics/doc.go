// Package metrics shows the switch to Prometheus. Every scrape takes one snapshot of the switch and turns it into
// metrics:
//
//	families.go   the names, labels and help texts of all metrics
//	collector.go  Collector: one snapshot for each scrape; the switch as a whole; deadlocks of egress queues
//	gather.go     the result of a scrape; native histograms
//	handler.go    the HTTP handler behind /metrics, which answers at little cost
//	process.go    the process itself
//	port.go       one port: link, frames, MAC control, its queues
//	headroom.go   the measured headroom of one port
//	trunk.go      one trunk
//	priority.go   the label "priority"; lost frames by priority and reason
//	grafana/      a dashboard for Grafana
//	rules/        alert rules for Prometheus, and their tests
//
// Counters only grow while the daemon runs: neither a scrape nor a user who clears his own view resets anything. Units
// are seconds and bytes (octets without FCS). The number of ports bounds the number of series: labels other than the
// port come from fixed sets, and addresses, VLANs or texts never become labels.
package metrics
