// Package metrics shows the switch to Prometheus. Every scrape takes one snapshot of the switch and turns it into metrics:
//
//	families.go   the names, labels and help texts of all metrics
//	collector.go  Collector: one snapshot for each scrape; what concerns the whole switch
//	gather.go     what a scrape gets, made at little cost
//	port.go       what concerns one port: link, frames, MAC control, its queues
//	trunk.go      what concerns one trunk
//	watchdog.go   deadlocks of egress queues
//	priority.go   what stands in the label "priority"
//	drops.go      frames that were lost, by priority and reason
//	histogram.go  durations as native histograms
//	handler.go    the HTTP handler behind /metrics
//	grafana/      a dashboard for Grafana
//	rules/        alert rules for Prometheus, and their tests
//
// Counters only grow while the daemon runs: neither a scrape nor a user who clears his own view resets anything. Units are
// seconds and bytes (octets without FCS). The number of series is bounded by the number of ports: labels other than the
// port come from fixed sets, and addresses, VLANs or texts never become labels.
package metrics
