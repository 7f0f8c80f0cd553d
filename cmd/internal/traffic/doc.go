// Package traffic has the two ends of an experiment: a sender and a sink on raw ports that obey PAUSE and PFC, as a
// network card does. A plain Linux host behind a veth ignores both.
//
//	protocol.go  the test frames: UDP packets with flow, sequence number, time of sending and totals
//	options.go   the configuration of a sender
//	shape.go     flows that are on and off, or at random
//	replay.go    flows of a file
//	source.go    which frames a sender sends next: one queue per priority, weights, speed, pauses
//	control.go   a flow that slows down: DCQCN
//	dialogue.go  finding the sink, and exchanging totals with it
//	send.go      the sender on a port
//	open.go      the port of an endpoint, and its tx path
//	sink.go      the sink on a port
//	tracker.go   one flow at the sink: lost, reordered, duplicated, late, gaps
//	pause.go     pausing the peer while the sink's own ring fills, or by configuration
//	storm.go     a broken host that pauses its peer without end
//	report.go    the reports
//	iperf.go     the report of iperf3, which sends by TCP
//
// Sender and sink exchange totals, so that a frame lost at the very end counts. Both stamp with CLOCK_REALTIME, so
// latencies are true where both run on one machine.
package traffic
