// Package macctl is the MAC Control sublayer of one port (IEEE 802.3 clause 31): PAUSE (Annex 31B) and
// priority-based flow control, PFC (Annex 31D; behaviour in IEEE 802.1Q clause 36). It has two halves:
//
//	0x8808 frame in → Parse → Receiver → Paused: what this port must not send now
//	Hold, Release → Initiator → AppendFrame → 0x8808 frame out: what the peer must not send now
//
// and, beside them, the form of the frames that measure a link's headroom: MeasurementFormat.
//
// The files, in the order in which a frame meets them:
//
//	frame.go      wire format, Parse          reason.go     why a frame was ignored
//	mode.go       PFC, PAUSE or neither       quanta.go     quanta and response limits of a speed
//	timer.go      one pause timer             receiver.go   timers of a port, obeying the peer
//	initiator.go  hold bits, told and wanted  refresh.go    when a hold is stated again
//	ignore.go     what is not obeyed, to break a deadlock
//	append.go     frames to send              measurement.go  frames that measure the headroom
//	echo.go       frames that ask how frames pass a link; echoer.go: what answers them
//
// There are no sockets, goroutines or clocks here. Times are int64 nanoseconds of one monotonic clock, from 0 on.
// Speeds are in bit/s. Priorities are 0-7 (of a larger number the low three bits count); in a vector, bit n stands
// for priority n. A Receiver or Initiator is not safe for concurrent use. No method allocates.
package macctl
