// Package dcbx is the Data Center Bridging Exchange of one port: which priorities are lossless at both ends of a link
// (PFC), how bandwidth is shared (ETS) and which priority an application belongs to. DCBX rides in LLDP as
// organizationally specific TLVs, in three versions: that of IEEE 802.1Q (clause 38, annex D), and two older ones, CEE
// (Intel version 1.01) and CIN (1.0).
//
// What an LLDP agent receives goes through the files in this order:
//
//	exchange.go   Exchange: an Agent and a Machine of one port
//	version.go    which version is spoken
//	ieee.go       TLVs of the IEEE version, and its willing rules
//	legacy.go     TLVs of the older versions        group.go      their priority groups
//	feature.go    feature state machine: which end decides, what is compatible; control state machine: acknowledgement
//	share.go      shares of bandwidth               pfc.go        why which priorities are lossless
//	machine.go    Machine: all of it                outcome.go    Outcome: what follows, and how fast it may change
//
// The package has no socket, goroutine or clock. Times are int64 nanoseconds of one monotonic clock.
package dcbx
