// Package dataplane moves frames. A frame visits these stations, in this order:
//
//	port → frame → [macctl | trap] → classify → [bridge | trunk] → buffer → sched → port
//
// and package capture sees it where a port received it, sent it or dropped it.
//
// The stations follow the forwarding process of IEEE 802.1Q clause 8.6; each has a folder. What joins them is Switch, a
// sequential state machine without I/O that takes the time as an argument: frames in at time now, which frames may port
// p send at time now, tick at time now. Runner puts it on real ports.
//
//	config.go    what a switch and its ports are told
//	switch.go    Switch: its state, ports that come, go, flap and change
//	memory.go    packet memory: cells, and frame descriptors without pointers
//	mapping.go   tables outside the Go heap, which can grow without being copied
//	ingress.go   a received burst: VLAN, learning, forwarding, admission, into the egress queues
//	wait.go      a frame that waits in its ring for buffer
//	queue.go     egress queues as lists
//	ecn.go       congestion marking on the egress queue
//	egress.go    what a port may send now, and what it has sent
//	trunks.go    trunks of ports that are no longer the bridge's
//	aggregate.go a frame's way through a trunk: members in turn, meters, the choice of a member
//	trunkflow.go whom a trunk holds
//	control.go   MAC Control frames in and out, causes to hold a peer
//	watch.go     what a deadlock watchdog reads and orders
//	measure.go   frames that measure the headroom of a link, and what a Prober makes of them
//	use.go       what really came after an XOFF
//	stream.go    frames of a port's own that fill the link for the peer's check of its headroom
//	probe.go     loop detection and ageing
//	counters.go  drop reasons and counters
//	events.go    what a person should know
//	capture.go   what is captured, and when
//	explain.go   what a capture says of MAC Control frames and drops
//	foresee.go   what would become of a frame
//	trunksnapshot.go  what a trunk holds and has counted
//	snapshot.go  one consistent picture for metrics and tables
//	run.go       Runner: stopping the workers for a change, and changing what they run
//	attach.go    ports get their sockets and their workers
//	task.go      the receive and transmit task of one port
//	alive.go     whether the workers still work
//	change.go    changes of a running port, and what goes wrong after one
//	retired.go   counters that outlive their port
//	forgotten.go how many of them
//	worker.go    a worker's round, spinning and sleeping
//	crowd.go     whether other threads want the CPU that a worker spins on
//	tuning.go    other choices for that, for experiments
//	gather.go    waiting for more frames
//	moderate.go  leaving rings alone under load, as NICs moderate interrupts
//	receive.go   the receive task of a port
//	transmit.go  the transmit task of a port
//	delay.go     the delay line of a port
//	stuck.go     frames that the kernel or the link never takes
//	tick.go      what is done once a second
//	tend.go      which way frames leave, looked at again and again
//
// Every port has a receive task and a transmit task; a worker is a goroutine that runs the tasks of its ports and alone
// touches their sockets. A frame whose queue is empty and may go is sent straight from its receive ring slot; what must
// wait is copied into the packet memory, so that a paused priority never blocks a ring.
//
// One mutex (Runner.mu) guards the Switch. A worker takes it once per burst and copies and sends outside of it.
//
// Goroutines:
//
//	go w.run()          — Runner: one per worker
//	go r.runLosses()    — Runner: reads the kernel's loss counters of the rings once a second
//	go OnOwnThread()    — port: one function call inside another network namespace, then gone
//	go runOffMain()     — port: the same where that would have been the main thread
//	go runWatch()       — port: link changes of one namespace
package dataplane
