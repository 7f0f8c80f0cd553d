package port

import (
	"errors"

	"github.com/cilium/ebpf"
)

// HushWith replaces what Quiet does to a physical NIC, and returns what puts it back.
func HushWith(f func(name string) error) (restore func()) {
	before := hushNIC
	hushNIC = f
	return func() { hushNIC = before }
}

// SwitchARP is switchARP.
var SwitchARP = switchARP

// WithoutBPF makes the kernel refuse programs, and returns what ends that.
func WithoutBPF() (restore func()) {
	before := newProgram
	newProgram = func(*ebpf.ProgramSpec) (*ebpf.Program, error) { return nil, errors.New("operation not permitted") }
	return func() { newProgram = before }
}
