// Package traffic is the two ends of an experiment: a sender and a sink on raw ports that obey PAUSE and PFC, as a
// network card would. A plain Linux host behind a veth ignores both.
//
//	protocol.go  the test frames: UDP packets with flow, sequence number, time of sending and totals
//	source.go    what the sender sends next: one queue per priority, weights, speed, pauses
//	options.go   what a sender is told
//	dialogue.go  finding the sink, and settling totals with it
//	send.go      the sender on a port
//	stall.go     how long it stood still
//	thread.go    a thread and a processor for each of both
//	open.go      the port of an endpoint, and which way its frames leave
//	tracker.go   one flow at the sink: lost, reordered, duplicated
//	latency.go   a histogram of latencies
//	sink.go      the sink on a port
//	hold.go      holding the peer while the sink's own ring fills, or it is told to
//	storm.go     a broken host that pauses its peer without end
//	report.go    what both say at the end
//
// Sender and sink exchange totals, so that a frame lost at the very end counts. Both stamp with CLOCK_REALTIME; latencies
// are true where both run on one machine.
package traffic
