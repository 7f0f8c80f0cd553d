// Package trunk joins several slow ports, the members, to one fast one, the uplink. It decides; frames, queues and sockets
// are the data plane's, and time and chance come as arguments, so that the same code runs under virtual time. What a frame
// meets on its way, in this order:
//
//	from a member to the uplink
//	  arbiter.go      one frame of each member in turn
//	  packet.go       what of a frame is metered, by RFC 2698's octets
//	  meter.go        RFC 2698: is it within the rates that its priority, and all of them together, were promised?
//	  red.go          random early discard of what is not quite
//	  aggregator.go   meters and RED in their order; what is counted
//	from the uplink to a member
//	  hash.go         a number for the flow, where order within it matters
//	  distributor.go  the member that holds least, or the flow's
//	both ways
//	  load.go         what waits, by member and priority
//	  flow.go         watermarks, and pauses that pass through: whom to hold
//
// Octets of a load are those of the frame with FCS, not cells.
package trunk
