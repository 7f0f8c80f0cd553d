package runner

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// linkMTU compares the MTU of a port with that of its interface, which any program may change at any time.
type linkMTU struct {
	port   atomic.Int32 // of the port; 0: unknown
	link   atomic.Int32 // of the interface as SetLinkMTU told last; 0: unknown
	fitted atomic.Bool  // link was as large as port, since port has its value
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
	mtu := m.port.Load()
	switch {
	case b.Length(n) > int(mtu)+frame.HeaderOctets+frame.TagOctets:
		return err
	case m.link.Load() == 0 || m.link.Load() >= mtu:
		return port.ErrDropped
	case m.fitted.Load():
		return errLinkMTU
	}
	return err
}

// setPort takes over the MTU of the port.
func (m *linkMTU) setPort(mtu int32) {
	if m.port.Swap(mtu) != mtu {
		m.fitted.Store(m.link.Load() >= mtu)
	}
}

// setLink takes over the MTU of the interface.
func (m *linkMTU) setLink(mtu int32) {
	m.link.Store(mtu)
	m.fitted.Store(m.fitted.Load() || mtu >= m.port.Load())
}

// SetLinkMTU tells the MTU of the interface of port number i.
func (r *Runner) SetLinkMTU(i, mtu int) {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	if t := r.tasks[i]; t != nil {
		t.mtu.setLink(int32(mtu))
	}
}
