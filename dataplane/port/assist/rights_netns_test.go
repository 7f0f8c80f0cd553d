package assist

import (
	"errors"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// CAP_BPF and CAP_NET_ADMIN are enough: the verifier of a kernel that may not show pointers takes the programs too.
func TestProgramsTakeFewRights(t *testing.T) {
	m, err := Open()
	if errors.Is(err, ErrNotAllowed) && os.Getuid() != 0 {
		t.Skip(err)
	}
	assert.Must(t, err)
	t.Cleanup(func() { assert.Must(t, m.Close()) })
	o := newOutlet(t)
	assert.Must(t, port.InNetns(o.path, func() error { // on a thread of its own, which ends
		few := uint64(1<<unix.CAP_BPF | 1<<unix.CAP_NET_ADMIN)
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		sets := [2]unix.CapUserData{}
		for i := range sets {
			word := uint32(few >> (32 * i))
			sets[i] = unix.CapUserData{Effective: word, Permitted: word}
		}
		if err := unix.Capset(&head, &sets[0]); err != nil {
			return err
		}
		p, err := m.Attach(0, o.index, "", "p1", 0)
		if err != nil {
			return err
		}
		return p.Close()
	}))
}

// The verifier follows few ways through the programs: each port of a switch waits for it at the start, and a fabric on
// one machine has hundreds.
func TestProgramsAreVerifiedFast(t *testing.T) {
	m, err := Open()
	if errors.Is(err, ErrNotAllowed) && os.Getuid() != 0 {
		t.Skip(err)
	}
	assert.Must(t, err)
	t.Cleanup(func() { assert.Must(t, m.Close()) })
	p := assert.Got(newOutlet(t).attach(m, 0, "", "p1")).Must(t)
	t.Cleanup(func() { assert.Must(t, p.Close()) })
	for _, program := range []*ebpf.Program{p.steer, p.ingress} {
		info := assert.Got(program.Info()).Must(t)
		n, ok := info.VerifiedInstructions()
		assert.True(t, ok && n != 0 && n <= 2_000, "%v: %d instructions verified, want 1 to 2000", info.Name, n)
	}
}
