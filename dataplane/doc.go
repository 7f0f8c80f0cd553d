// Package dataplane moves frames. A frame visits these stations, in this order:
//
//	port → frame → [macctl | trap] → classify → [bridge | trunk] → buffer → sched → port
//
// and package capture sees it where a port received it, sent it or dropped it.
//
// The stations follow the forwarding process of IEEE 802.1Q clause 8.6; each has a folder. What joins them is Switch, a
// sequential state machine without I/O that takes the time as an argument: frames in at time now, which frames may port
// p send at time now, tick at time now. Package runner puts it on real ports.
//
//	config.go         configuration of a switch and its ports
//	switch.go         Switch: its state, ports that come, go, flap and change
//	ports.go          whole configurations, tried before they are put in force
//	drive.go          further calls of a driver
//	ingress.go        a received burst: VLAN, learning, forwarding, admission, into the egress queues
//	fastpath.go       frames that a driver may forward by itself
//	decide.go         decisions about a frame, for real and for traced frames
//	waitingroom.go    frames that wait for buffer, by ingress queue
//	ecn.go            congestion marking on the egress queue
//	memory.go         packet memory: cells, and frame descriptors without pointers
//	queue.go          egress queues as lists, and what must wait leaves the ring
//	egress.go         what a port may send now, and what it has sent
//	line.go           the driver's reports of a port's delay line
//	trunks.go         trunks of ports that are no longer the bridge's
//	aggregate.go      a frame's way through a trunk: members in turn, meters, the choice of a member
//	trunkflow.go      holds that a trunk sets
//	control.go        MAC Control frames in and out, causes to hold a peer
//	watch.go          readings and orders of a deadlock watchdog
//	measure.go        frames that measure the headroom of a link, and what a HeadroomProber makes of them
//	use.go            what really arrived after an XOFF
//	stream.go         frames of a port's own that fill the link for the peer's check of its headroom
//	probe.go          loop detection and ageing
//	trace.go          what would become of a frame
//	counters.go       drop reasons and counters
//	histogram.go      durations
//	latency.go        durations, more finely
//	events.go         events for people
//	notice.go         events of what the bridge notices about stations
//	capture.go        captured frames
//	explain.go        a capture's notes on MAC Control frames and drops
//	snapshot.go       one consistent picture for metrics and tables
//	trunksnapshot.go  state and counters of a trunk
//	removed.go        counters that outlive their port or trunk
//
// A driver puts the switch on links. Package runner is the driver for the links of this machine, and package sim for
// links in virtual time. For a burst that port i has received, a driver calls
//
//	Begin            the number of the calling worker; not needed by a driver with one goroutine
//	Arrival.Prepare  each frame is parsed and classified; needs no lock
//	Ingress          until the burst is taken: after ThresholdCrossed (see ThresholdCrossedAt) XOFF is sent first,
//	                 after FrameWaits the rest waits in the ring
//	LeaveRoom        where frames have left the buffer: frames in the port's waiting room go on
//	Staged, Store, Publish  copies for ports of other workers are stored, without a lock, and queued
//
// Then it calls, for each port with work (TakePending) or a deadline that has come (TxDeadline, LoopProbeDeadline,
// MeasureDeadline),
//
//	Control, Measurement     for each MAC Control frame that has come
//	ControlOut, ControlSent  MAC Control frames to the peer, until there are no more
//	MeasureOut, LoopProbe    measurement frames and loop probes
//	Dequeue          what may be sent now
//	Fill             the chosen frames as a batch; needs no lock
//	Sent, or Refuse  how many frames the link took; a frame that it never will
//
// At the end of the burst it calls
//
//	Settle, Store    frames that still wait move out of the ring; Store needs no lock
//	Tick             holds that end by time
//
// This order is the contract. A frame stays charged, at the head of its queue, from Dequeue until Sent. Its octets stay
// in the ring until Settle. Only the calls that need no lock may run at the same time as others.
//
// Goroutines:
//
//	go w.run()          — runner: one per worker
//	go r.runLosses()    — runner: reads the kernel's loss counters of the rings once a second
//	go runAlarms()      — runner: rings for what an idle switch does, one for all switches of the process
//	go r.runRefreshes() — runner: sends XOFF in time where a worker gets no CPU, one or on each CPU
//	go addProcessors()  — runner: raises GOMAXPROCS once a port is in use, then gone
//	go OnOwnThread()    — port: one function call inside another network namespace, then gone
//	go runOffMain()     — port: the same where that would have been the main thread
//	go runWatch()       — port: link changes of one namespace
package dataplane
