package port_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// An interface whose host stack is disabled gives its frames only to the port and to LLDP sockets, until undo.
func TestDisableHostStack(t *testing.T) {
	w := newWire(t)
	link := assert.Got(port.Inspect(w.ns, "sw")).Must(t)
	// sockets for one EtherType get frames where the host's stack does
	stack, lldp := rawSocket(t, w.ns, experimental, link.Index), rawSocket(t, w.ns, frame.TypeLLDP, link.Index)
	defer func() { _, _ = unix.Close(stack), unix.Close(lldp) }()
	undo := assert.Got(port.DisableHostStack(w.ns, link)).Must(t)
	assert.Must(t, w.host.Send(frame.VnetHeader{}, craft(nil, experimental, 1, 60)))
	assert.Must(t, w.host.Send(frame.VnetHeader{}, craft(nil, frame.TypeLLDP, 2, 60)))
	assert.Equal(t, len(w.collect(port.Other, 1)), 1, "frames that the port got")
	got := readable(lldp)
	assert.True(t, got, "LLDP does not reach who listens to it")
	got = readable(stack)
	assert.True(t, !got, "a frame reaches the host's stack")
	assert.Must(t, undo())
	assert.Must(t, w.host.Send(frame.VnetHeader{}, craft(nil, experimental, 3, 60)))
	got = readable(stack)
	assert.True(t, got, "no frame reaches the host's stack, although it is enabled again")
}

// If no program can be attached, at least ARP is off.
func TestSwitchARP(t *testing.T) {
	w := newWire(t)
	link := assert.Got(port.Inspect(w.ns, "sw")).Must(t)
	for _, step := range []struct{ on, changed bool }{{true, false}, {false, true}, {false, false}, {true, true}} {
		assert.Must(t, port.InNetns(w.ns, func() error {
			changed, err := port.SwitchARP(link.Index, step.on)
			assert.Equal(t, changed, step.changed, "ARP on: %v, changed", step.on)
			return err
		}))
	}
}

// readable tells whether a frame comes soon.
func readable(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(100*time.Millisecond/time.Millisecond))
	return err == nil && n == 1
}
