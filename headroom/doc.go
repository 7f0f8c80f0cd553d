// Package headroom says how much buffer an ingress queue needs for what still arrives after it
// has told its peer to stop.
//
//	formula.go   the calculated values and their named terms: Eta, PFCDelay, PauseDelay, Calculate
//	link.go      what a link contributes: response limit, send-call limit, burst, bits in flight
//
// Values are in bits on the wire, where a frame counts with its FCS, preamble and gap; Octets and
// Cells turn them into buffer sizes. The package does no I/O and reads no clock.
package headroom
