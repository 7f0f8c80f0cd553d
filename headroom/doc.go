// Package headroom says how much buffer an ingress queue needs for the frames that still arrive after XOFF: by
// calculation, and by measuring the link (US 2025/0267110). A probe and its peer exchange macctl.Measurement frames.
//
//	formula.go   calculated values with their named terms (Eta, PFCDelay, PauseDelay, Calculate), and the measured value
//	estimator.go many samples → one finding
//	probe.go     Probe, which measures one port: agreement, what comes in, what goes out
//	request.go   the requests of this end (initiator), and its answers (responder)
//	peer.go      what the peer states of itself, and why a message is ignored
//	result.go    what each end tells the other
//	target.go    the headroom that should be in force: raised at once, lowered slowly
//	stream.go    filling the link for the peer's check, where that is allowed
//	check.go     Check, the experiment that proves a headroom: XOFF into a full link, and what still comes
//	report.go    everything there is to see
//
// Values are in bits on the wire, where a frame counts with its FCS, preamble and gap. Octets and Cells turn them into
// buffer sizes. The package does no I/O and reads no clock.
package headroom
