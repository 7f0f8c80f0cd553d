package port

import (
	"errors"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// A program that is in force is not handed to the kernel again, which would take its time to replace it.
func TestSteerOnlyWithAnother(t *testing.T) {
	inForce := []bpf.RawInstruction{{Op: 6, K: 1}}
	p := &AFPacket{rings: []*ring{{fd: -1}}, program: inForce} // the kernel refuses every call
	assert.NoError(t, p.Steer([]bpf.RawInstruction{{Op: 6, K: 1}}), "the program in force")
	err := p.Steer([]bpf.RawInstruction{{Op: 6, K: 2}})
	assert.True(t, errors.Is(err, unix.EBADF), "another program: %v, want %v", err, unix.EBADF)
}
