// Package demo shows on real links that the switch is lossless where a switch without flow control is not. Switches,
// senders and sinks are processes of this program in network namespaces, joined by veth links. Switches and host NICs
// have nice 0 there, not their default of -10, so that they share the CPUs evenly with the hosts.
//
// A demo has phases. Each builds its own lab, runs its load, and adds its checks to the report.
//
//	report.go     the report: phases, flows, switches
//	progress.go   which phase runs, and how much time is left
//	verdict.go    checks: hard ones, soft ones, what is not judged, the last line
//	phase.go      the life of a phase: its lab, its switches, its load, its observation
//	endpoint.go   senders, sinks and storms of a phase, and their flows
//	switch.go     a switch of a phase: its configuration and its answers
//	machine.go    what the machine withheld from a phase: CPU, senders' rates, the hypervisor's share
//	checks.go     checks on what a phase observed, and those of demo incast
//	calibrate.go  the speed that the machine carries, tried on the demo's own topology
//	incast.go     demo incast
//	dcqcn.go      demo dcqcn and its checks
//	links.go      demo headroom: its runs; link_checks.go: the checks of each run, and of all together
//	host.go       demo host; tcp.go: its programs
//	trunk.go      demo trunk; trunkmodel.go: the same loads under virtual time
//	deadlock.go   demo deadlock and its checks
//	ring.go       three switches in a ring, whose buffers wait for each other
//	storm.go      frames that circle, and a host that pauses without end
//	timeline.go   what happened when
//	table.go      the report as text
//	seen.go       the sentences at its end
//	course.go     what switches did over time
//	page.go       the report as a page with plots, by page.html
package demo
