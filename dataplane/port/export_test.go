package port

// HushWith replaces what Quiet does to a physical NIC, and returns what puts it back.
func HushWith(f func(name string) error) (restore func()) {
	before := hushNIC
	hushNIC = f
	return func() { hushNIC = before }
}

// SwitchARP is switchARP.
var SwitchARP = switchARP
