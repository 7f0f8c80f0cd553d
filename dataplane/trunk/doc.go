// Package trunk joins several slow ports, the members, to one fast port, the uplink. It only decides: frames, queues
// and sockets are the data plane's. Time and random numbers come as arguments, so that the same code runs under
// virtual time. A frame meets these files in this order:
//
//	from a member to the uplink
//	  member.go       Arbiter: one frame of each member in turn
//	  meter.go        RFC 2698: is the frame within the rates of its priority, and of all priorities together?
//	  red.go          random early discard of frames above the committed rate
//	  aggregator.go   meters and RED in their order, and their counters
//	from the uplink to a member
//	  hash.go         a number for the flow, where the order within the flow matters
//	  member.go       Distributor: the member that holds least, or the flow's member
//	both ways
//	  flow.go         watermarks, pauses that pass through (which ports are held), and what waits by member
//
// Octets of a load are those of the frame with FCS, not cells.
package trunk
