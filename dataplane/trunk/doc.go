// Package trunk joins several slow ports, the members, to one fast port, the uplink. It only decides: frames, queues
// and sockets are the data plane's. Time and random numbers come as arguments, so that the same code runs under
// virtual time:
//
//	from a member to the uplink: Arbiter → Aggregator (meters of RFC 2698, RED)
//	from the uplink to a member: frame.Flow → Distributor
//	both ways: FlowConfig and Load say which ports are held
//
// Octets of a load are those of the frame with FCS, not cells.
package trunk
