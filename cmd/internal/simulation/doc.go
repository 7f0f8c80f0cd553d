// Package simulation runs a lab in virtual time: the topology file of pfcswitch lab, with the load of its traffic
// section, on package dataplane/sim, and judges the result as the demos do.
//
//	simulation.go  Run: from the file to the report
//	build.go       the fabric of a topology, and what virtual time does not have
//	lldp.go        LLDP and DCBX between switches, before the flows begin
//	measure.go     links whose ends measure headroom, and hosts that are late at random
//	watchdog.go    the deadlock watchdog of the switches
//	workload.go    flows of random sizes at random times; sizes.txt has the published distributions
//	completion.go  how long flows took
//	control.go     what DCQCN did
//	duplex.go      half-duplex links: back pressure, and frames that were given up
//	plan.go        the traffic of a topology for real links, which package labrun sends
//	report.go      the report: checks, flows, ports, hosts, the cycle of a deadlock
//	holds.go       who held whom
//	waits.go       who waits for whom on real links, where nothing moves
//	table.go       the report as text
//	svg.go         the run as a picture
//	capture.go     the frames of each switch as a pcapng file
package simulation
