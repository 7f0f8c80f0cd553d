// Package bridge decides where a frame goes, as an IEEE 802.1Q VLAN bridge. A frame meets these steps, in this order:
//
//	Ingress (vlan.go)      tag or PVID → VID, frame types, member set     802.1Q 6.9, 8.6.2
//	Forward (forward.go)   reserved addresses, port state                 8.6.1, 8.6.3
//	  refuses (secure.go)  may the source send by this port?
//	  learn (fdb.go)       source address → port                          8.7
//	    moves.go           hold of a station that two senders use
//	    stations.go        limit of a port, and who is forgotten
//	  lookup (fdb.go)      destination address → one port, or a group     8.6.3, 8.8
//	  flood (forward.go)   no entry, or a group address → member ports    8.6.4
//	  storm (storm.go)     limit on what one port may flood
//	    backoff.go          loop probes are rare until a frame floods
//	Pick (groups.go)       a group of ports and the frame's flow → one port
//	Trace (forward.go)     what Forward would decide, without learning
//	Egress (vlan.go)       tagged, untagged or not a member               8.6.4
//
// The bridge is sequential and has no clock: the caller holds the lock and passes the time, int64 nanoseconds of one
// monotonic clock. It knows ports by index (0 to MaxPorts-1) and MAC addresses as uint64 with the first octet in bits
// 47 to 40. Each VLAN learns for itself (independent VLAN learning, one FID per VID). No verb that a frame meets
// allocates.
//
// The caller keeps MAC Control frames and LLDP away (EtherTypes 0x8808 and 0x88CC), so that nothing is learned from
// them. The bridge does not look at priorities. The caller decides what happens to a flooded frame of a lossless class:
// Decision tells that the frame floods and why.
package bridge
