// Package dcbx is the Data Center Bridging Exchange of one port: which priorities are lossless at both ends of a link
// (PFC), how bandwidth is shared (ETS) and which priority an application belongs to. DCBX rides in LLDP as
// organizationally specific TLVs, in three versions: that of IEEE 802.1Q (clause 38, annex D), and two older ones, CEE
// (Intel version 1.01) and CIN (1.0).
//
// The package has no socket, goroutine or clock. Times are int64 nanoseconds of one monotonic clock.
package dcbx
