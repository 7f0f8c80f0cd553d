package runner

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// linkMTU compares the MTU of a port with that of its interface, which any program may change at any time.
type linkMTU struct {
	sync.Mutex // guards what follows: the values come under different locks
	port       int
	link       int  // of the interface as SetLinkMTU told last; 0: unknown
	fitted     bool // link was as large as port, since port has its value
}

// errLinkMTU is returned for a frame that the port carries and its interface does not any more.
var errLinkMTU = errors.New("the MTU of the interface was lowered below that of the port")

// judge replaces the kernel's error that frame n of a batch is too long for the interface. Where the port carries the
// frame, and the MTU was lowered since SetLinkMTU, the frame waits as one that the link drops: the MTU may be raised
// again at once. If that was refused, its loss is a fault. Where the interface never had the port's MTU, the error
// stays: the frame is too long for the link that the configuration names, and no program has taken anything away.
func (m *linkMTU) judge(err error, b *port.Batch, n int) error {
	if err == nil || m == nil || !errors.Is(err, unix.EMSGSIZE) {
		return err
	}
	m.Lock()
	defer m.Unlock()
	switch {
	case b.Length(n) > m.port+frame.HeaderOctets+frame.TagOctets:
		return err
	case m.link == 0 || m.link >= m.port:
		return port.ErrDropped
	case m.fitted:
		return errLinkMTU
	}
	return err
}

// setPort takes over the MTU of the port.
func (m *linkMTU) setPort(mtu int) {
	m.Lock()
	defer m.Unlock()
	if m.port != mtu {
		m.port, m.fitted = mtu, m.link >= mtu
	}
}

// setLink takes over the MTU of the interface.
func (m *linkMTU) setLink(mtu int) {
	m.Lock()
	defer m.Unlock()
	m.link, m.fitted = mtu, m.fitted || mtu >= m.port
}

// SetLinkMTU tells the MTU of the interface of port number i.
func (r *Runner) SetLinkMTU(i, mtu int) {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	if t := r.tasks[i]; t != nil {
		t.mtu.setLink(mtu)
	}
}
