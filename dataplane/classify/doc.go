// Package classify finds the priority of a frame (802.1Q clause 6.9.4 and, for DSCP, what switching chips do). It does
// so twice: in the data plane as a function, and in the kernel as a classic BPF program that spreads a port's frames
// over its receive rings. Both read one Config and agree on every frame. So lossy traffic, which no PFC can hold back,
// never fills the ring of the lossless frames.
//
//	priority.go  Config, and Priority for the data plane
//	fanout.go    Fanout: the same decision for PACKET_FANOUT_CBPF; MAC Control and LLDP frames get their own ring
//
// The three ways to trust a frame:
//
//	trust  tagged (VID 0 included)  untagged        neither IPv4 nor IPv6
//	pcp    PCP                      default         as the tag says, or default
//	dscp   map[DSCP]                map[DSCP]       default, tagged or not
//	port   default                  default         default
//
// A tag is an outer 0x8100. A frame with an outer 0x88A8 is a provider's: no tag of ours and not IP, so it gets the
// default.
package classify
