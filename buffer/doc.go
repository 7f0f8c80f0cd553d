// Package buffer keeps the accounts of a switching chip's shared packet memory. It holds no frames, reads no clock and
// does no I/O: the caller says what arrives and what departs, and learns what to do with it.
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
// The headroom segment may be smaller than all headrooms together: a shared headroom pool, or, where headroom is taken
// from the shared segment, an insurance for each port (Config.Headroom).
//
// Thresholds may depend on how many queues are congested and how fast they drain (Config.Active).
//
// The lossy pool has only a shared segment, is accounted by egress queue, and drops at the threshold.
//
// A Manager has no lock and is not safe for concurrent use: its caller makes one call after the other.
package buffer
