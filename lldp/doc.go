// Package lldp is the Link Layer Discovery Protocol of one port (IEEE 802.1AB): what this end announces of itself, and
// what the neighbours at the other end of the link announce.
//
//	0x88CC frame in → ParseFrame → Agent: neighbours with their time to live
//	Agent: timers → AppendFrame → 0x88CC frame out
//
// The files, in the order in which a frame meets them:
//
//	frame.go      Ethernet around an LLDPDU       tlv.go        type, length, value
//	pdu.go        LLDPDU: what it says            parse.go      reading one, and what is wrong with it
//	basic.go      capabilities, addresses         agent.go      Agent: one port, its machines and their clock
//	receive.go    receive state machine           neighbour.go  neighbours and their time to live
//	transmit.go   transmit state machine          timer.go      transmit timer state machine
//	machine.go    what a state machine is         event.go      what a person should know
//
// Package dcbx below it is the Data Center Bridging Exchange, which rides in these frames.
//
// The package has no socket, goroutine or clock. Times are int64 nanoseconds of one monotonic clock. An Agent is not
// safe for concurrent use.
package lldp
