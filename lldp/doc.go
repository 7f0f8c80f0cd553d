// Package lldp is the Link Layer Discovery Protocol of one port (IEEE 802.1AB): what this end announces of itself, and
// what the neighbours at the other end of the link announce.
//
//	0x88CC frame in → ParseFrame → Agent: neighbours with their time to live
//	Agent: timers → AppendFrame → 0x88CC frame out
//
// Package dcbx below it is the Data Center Bridging Exchange, which rides in these frames.
//
// The package has no socket, goroutine or clock. Times are int64 nanoseconds of one monotonic clock. An Agent is not
// safe for concurrent use.
package lldp
