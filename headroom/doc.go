// Package headroom says how much buffer an ingress queue needs for what still arrives after it
// has told its peer to stop: by calculation, and by measuring the link (US 2025/0267110).
//
//	formula.go   the calculated values and their named terms: Eta, PFCDelay, PauseDelay, Calculate
//	link.go      what a link contributes: response limit, send-call limit, burst, bits in flight
//	measured.go  the measured value and its named terms: Measure
//	window.go    the newest samples, in order of size
//	estimator.go many samples → one finding
//	message.go   what the two ends of a link say to each other
//	probe.go     Probe, which measures one port: agreement, what comes in, what goes out
//	ask.go       its questions (initiator)
//	claims.go    what the peer says of itself
//	answer.go    its answers (responder)
//	result.go    what each end tells the other
//	target.go    raised at once, lowered slowly
//	stream.go    filling the link for the peer's check, where that is allowed
//	check.go     Check, the experiment that proves a headroom: XOFF into a full link, and what still comes
//	report.go    everything there is to see
//
// Values are in bits on the wire, where a frame counts with its FCS, preamble and gap; Octets and
// Cells turn them into buffer sizes. The package does no I/O and reads no clock.
package headroom
