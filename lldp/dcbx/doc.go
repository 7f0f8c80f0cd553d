// Package dcbx is the Data Center Bridging Exchange of one port: which priorities are lossless at both ends of a link
// (PFC), how bandwidth is shared (ETS) and which priority an application belongs to. It rides in LLDP as organizationally
// specific TLVs, in three versions: that of IEEE 802.1Q (clause 38, annex D), and two older ones, CEE (Intel version
// 1.01) and CIN (1.0).
//
// What an LLDP agent has heard goes through it in this order:
//
//	exchange.go   Exchange: an Agent and a Machine of one port
//	version.go    which version is spoken
//	ieee.go       TLVs of the IEEE version          willing.go   who rules in it
//	legacy.go     TLVs of the older versions        control.go   control state machine: sequence and acknowledgement
//	group.go      priority groups of those          feature.go   feature state machine: who rules, what is compatible
//	share.go      shares of bandwidth               pfc.go       which priorities follow
//	machine.go    Machine: all of it                hold.go      no faster changes than a settable time
//	outcome.go    Outcome: what follows
//
// There are no sockets, goroutines or clocks here. Times are int64 nanoseconds of one monotonic clock.
package dcbx
