// Package lldp is the Link Layer Discovery Protocol of one port (IEEE 802.1AB): what this end tells of itself, and what
// the neighbours at the other end of the link have told.
//
//	0x88CC frame in → ParseFrame → Agent: neighbours with their time to live
//	Agent: timers → AppendFrame → 0x88CC frame out
//
// The files, in the order in which a frame meets them:
//
//	frame.go      Ethernet around an LLDPDU       tlv.go        type, length, value
//	pdu.go        LLDPDU: what it says            parse.go      reading one, and what is wrong with it
//	basic.go      capabilities, addresses         agent.go      Agent: one port, its machines and their clock
//	receive.go    receive state machine           neighbour.go  what neighbours have told, and for how long
//	transmit.go   transmit state machine          timer.go      transmit timer state machine
//	machine.go    what a state machine is         event.go      what a person should know
//	agreement.go  who can measure headroom
//
// Package dcbx below it is the Data Center Bridging Exchange that rides in these frames.
//
// There are no sockets, goroutines or clocks here. Times are int64 nanoseconds of one monotonic clock. An Agent is not
// safe for concurrent use.
package lldp
