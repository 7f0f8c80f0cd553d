package port_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// addrGenMode returns the addr_gen_mode of the port's end.
func (w *wire) addrGenMode() string {
	w.t.Helper()
	var mode []byte
	err := port.InNetns(w.ns, func() (err error) {
		mode, err = os.ReadFile("/proc/sys/net/ipv6/conf/sw/addr_gen_mode")
		return err
	})
	if os.IsNotExist(err) {
		w.t.Skip("this kernel has no IPv6, so there are no addresses to take away")
	}
	assert.Must(w.t, err)
	return strings.TrimSpace(string(mode))
}

// If SilenceLink fails, the interface is as before.
func TestSilenceLinkUndoesItself(t *testing.T) {
	w := newWire(t)
	_ = w.handle.LinkSetIP6AddrGenMode(link(t, w.handle, "sw"), 3) // random
	before := w.addrGenMode()
	l, err := port.Inspect(w.ns, "sw")
	assert.Must(t, err)
	l.Kind = "" // as if it were a NIC
	refused := errors.New("the driver refuses")
	t.Cleanup(port.ReplaceNICFlowControl(func(string) error { return refused }))
	_, err = port.SilenceLink(w.ns, l)
	assert.True(t, errors.Is(err, refused), "error %v, want %v", err, refused)
	assert.Equal(t, w.addrGenMode(), before, "addr_gen_mode, want that from before")
}

// A NIC that has neither PAUSE nor PFC is as good as one that has switched them off.
func TestSilenceLinkWithoutFlowControl(t *testing.T) {
	w := newWire(t)
	l := assert.Got(port.Inspect(w.ns, "sw")).Must(t)
	l.Kind = "" // as if it were a NIC
	restore := assert.Got(port.SilenceLink(w.ns, l)).Must(t)
	assert.Must(t, restore())
}

// The error about a process that does not exist does not suggest to make a namespace.
func TestNetnsOfNoProcess(t *testing.T) {
	_, err := port.IdentifyNetns("pid:999999999")
	assert.True(t, errors.Is(err, port.ErrNoNetns) && !strings.Contains(err.Error(), "ip netns add") &&
		strings.Contains(err.Error(), "999999999"), "error %v, want one that names the process", err)
}

// A namespace has the same identity by whatever name.
func TestNetnsIdentity(t *testing.T) {
	own := assert.Got(port.IdentifyNetns("")).Must(t)
	again, err := port.IdentifyNetns("/proc/self/ns/net")
	assert.True(t, err == nil && own == again, "own namespace %v, by its path %v (%v)", own, again, err)
	w := newWire(t)
	other, err := port.IdentifyNetns(w.ns)
	assert.True(t, err == nil && other != own, "another namespace %v is the own one (%v)", other, err)
}

// A prepared port receives nothing before Start.
func TestPreparedPortIsSilent(t *testing.T) {
	w := newWire(t)
	p := assert.Got(port.Prepare(w.config())).Must(t)
	defer func() { _ = p.Close() }()
	waiting := func() int { return p.Backlog(port.Other).Frames + p.Backlog(port.Lossless).Frames }
	w.plain(1, 100)
	assert.Equal(t, waiting(), 0, "frames wait before Start")
	assert.Must(t, p.Start())
	w.plain(1, 100)
	assert.Equal(t, waiting(), 1, "frames wait after Start")
}
