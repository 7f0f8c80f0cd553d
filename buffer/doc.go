// Package buffer keeps the accounts of a switching chip's shared packet memory. It holds no frames, reads no clock and
// does no I/O: the caller says what arrives and what departs, and is told what to do with it. A frame meets the files
// in this order:
//
//	config.go     sizes and thresholds as the operator gives them
//	plan.go       whether they fit the pools, and what remains to share; a frame occupies whole cells
//	apply.go      putting a plan in force under load, without losing count of a byte
//	manager.go    the accounts: pools, ports, ingress queues, egress queues
//	threshold.go  policies: how much of the shared segment a queue may hold
//	admit.go      lossless arrival: private, shared, headroom, or wait
//	trace.go      what admission would decide now, and what a queue can still take
//	release.go    lossless departure, XOFF and XON
//	lossy.go      lossy arrival and departure, by egress queue
//	level.go      a byte count with its three watermarks
//	snapshot.go   everything there is to see
//
// A new policy is a type with the two methods of Threshold, set in Config.Threshold.
//
// Two pools are partitioned from each other. The lossless pool is accounted by ingress queue (SAI: priority group) and
// has three segments:
//
//	|  Σφ private, per queue  |  B_s shared by all queues  |  Ση headroom, per queue  |      B_s = size - Σφ - Ση
//
// A queue holds p bytes of its private, ω of the shared and h of its headroom segment. It may hold
// T = α·(B_s - Σω) of the shared segment (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory
// Packet Switches", 1998). An arrival that does not fit goes to the headroom, and the queue turns OFF: its peer is to
// be paused (XOFF), and the headroom takes what is still on its way. The queue turns ON again (XON) when its headroom
// is empty and it has fallen below its resume level.
//
// The lossy pool has only a shared segment, is accounted by egress queue, and drops at the threshold.
//
// A Manager has no lock and is not safe for concurrent use: its caller makes one call after the other.
package buffer
