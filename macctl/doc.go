// Package macctl is the MAC Control sublayer of one port (IEEE 802.3 clause 31): PAUSE (Annex 31B) and priority-based
// flow control, PFC (Annex 31D; behaviour in IEEE 802.1Q clause 36). The package has two halves:
//
//	0x8808 frame in → Parse → Receiver → Paused: what this port must not send now
//	Hold, Release → Initiator → AppendFrame → 0x8808 frame out: what the peer must not send now
//
// Beside them stand the frames that measure a link's headroom (MeasurementFormat), and the frames that try how frames
// pass a link (Echo).
//
// The package has no socket, goroutine or clock. Times are int64 nanoseconds of one monotonic clock, from 0 on. Speeds
// are in bit/s, and 0 is no speed. Priorities are 0-7: of a larger number the low three bits count. In a vector, bit n
// stands for priority n. A Receiver or Initiator is not safe for concurrent use. No method allocates.
package macctl
