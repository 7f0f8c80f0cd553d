package config

// HeadroomDefaults are the switch-wide settings of headroom.
type HeadroomDefaults struct {
	K int64 // bits; of ports that say nothing else
}

// bitsOfK reads what the measured and calculated headroom cannot see.
var bitsOfK = number[int64]("number of bits", 0, 1<<40)

// read accepts k, on which the calculated headroom depends. The other keys belong to the
// measurement.
func (h *HeadroomDefaults) read(v value) {
	fields := []field{{"k", set(&h.K, bitsOfK)}}
	for _, name := range []string{
		"precision", "answer", "mode", "stamps", "variant", "opcode", "identifier", "ethertype",
		"percentile", "interval", "min", "max", "send_request",
	} {
		fields = append(fields, field{name, notImplemented})
	}
	v.read(fields...)
}

// notImplemented refuses a key that is fixed and does nothing yet, so that nobody relies on it.
func notImplemented(v value) { v.fail("is not implemented in this version: remove the key") }
