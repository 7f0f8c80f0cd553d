// Package sim puts many Switches and hosts on virtual links, in virtual time. It is a state machine as the Switch is:
// no goroutine, no clock, no socket. The same calls give the same results on every machine, also where the caller has
// shards run side by side.
//
//	fabric.go    Fabric: nodes, links and flows, and when a run ends
//	clock.go     shards that run side by side, in windows of time
//	shard.go     nodes with a timeline of their own: what happens at their wires
//	events.go    what happens next: by time, then in a random order that depends on the events alone
//	wire.go      one direction of a link: speed, delay, frames on their way
//	switch.go    drives a dataplane.Switch in the order that its package states, as package runner does
//	host.go      a host's NIC: a queue for each priority, which obeys PFC or PAUSE
//	flow.go      what a host sends, and what of it arrives
//	control.go   flows whose senders slow down: DCQCN
//	measure.go   links whose ends measure headroom
//	path.go      the ways that a flow may take: whether each leads to its host
//	fault.go     storms, slow hosts, links that flap
//	duplex.go    half-duplex links: collisions, backoff, back pressure
//	deadlock.go  who waits for whom
//	result.go    what a run has shown
//	capture.go   frames of switches for package capture
//
// A frame takes its octets and 24 more of a wire (frame.WireOctets), at the speed of the sending port. It is received
// when all of them have passed and the delay of the link is over. A port hands its wire one frame at a time. MAC
// Control frames go before data, and wait for the frame on the wire only. A Switch obeys a MAC Control frame when it is
// received, a host after its response time. What waits or is sent has left no wire early: pause holds whole frames.
//
// The first octets of each frame are real, all others are zero.
package sim
