// Package headroom says how much buffer an ingress queue needs for the frames that still arrive after XOFF: by
// calculation, and by measuring the link (US 2025/0267110). A probe and its peer exchange macctl.Measurement frames.
//
// Values are in bits on the wire, where a frame counts with its FCS, preamble and gap. Octets and Cells turn them into
// buffer sizes. The package does no I/O and reads no clock.
package headroom
