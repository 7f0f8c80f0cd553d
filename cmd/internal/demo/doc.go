// Package demo shows on real links that the switch is lossless where a switch without flow control is not. Switches,
// senders and sinks are processes of this program in network namespaces of their own, joined by veth links. Switches and host NICs have
// nice 0 there, not their default of -10, so that they share the CPUs evenly with the hosts.
//
//	report.go   what a demo says: acts, flows, switches
//	verdict.go  its checks: hard ones, soft ones, what is not judged, the last line
//	calibrate.go  the speed that the machine carries, tried on the demo's own topology
//	act.go      one act: nodes, links and processes, run and observed
//	switch.go   a switch of an act: its configuration, and what it says of itself
//	machine.go  what the machine withheld from an act: CPU, senders' rates, the hypervisor's share
//	incast.go   demo incast: the acts and what each has to show
//	headroom.go demo headroom: its runs; links.go: what each has to show; links_judge.go: what they show together
//	host.go     demo host: acts, and what each has to show
//	tcp.go      the programs of demo host
//	trunk.go    demo trunk: acts 1 and 2
//	distribution.go  demo trunk: act 3
//	trunkmodel.go    the same loads under virtual time
//	load.go     demo deadlock: switches, senders, sinks and storms, as processes of an act
//	ring.go     three switches in a ring, whose buffers wait for each other
//	deadlock.go, storm.go  its acts; deadlock_checks.go: what they have to show
//	timeline.go what happened when, for a person
//	checks.go   single checks on what an act observed
//	table.go    the report for a person
package demo
