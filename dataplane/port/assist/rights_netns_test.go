package assist

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/port"
)

// CAP_BPF and CAP_NET_ADMIN are enough: the verifier of a kernel that may not show pointers takes the programs too.
func TestProgramsTakeFewRights(t *testing.T) {
	m, err := Open()
	if errors.Is(err, ErrNotAllowed) && os.Getuid() != 0 {
		t.Skip(err)
	}
	mustPin(t, err)
	t.Cleanup(func() { mustPin(t, m.Close()) })
	o := newOutlet(t)
	mustPin(t, port.InNetns(o.path, func() error { // on a thread of its own, which ends
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
