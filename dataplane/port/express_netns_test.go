package port_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// expressed returns how many frames left by the port's AF_XDP socket while f ran.
func (w *wire) expressed(f func()) int {
	before := port.Expressed(w.port)
	f()
	return int(port.Expressed(w.port) - before)
}

// give sends a batch, which must leave whole.
func (w *wire) give(b *port.Batch) {
	w.t.Helper()
	if n, err := w.port.Send(b); n != b.Len() || err != nil {
		w.t.Fatalf("Send: %d of %d, %v", n, b.Len(), err)
	}
}

// A burst of plain frames of up to 2048 octets leaves by the AF_XDP socket, any other by the packet socket, and all of them in order.
func TestExpressTakesPlainFrames(t *testing.T) {
	w := newWire(t)
	seq := 0
	for range 3 {
		for _, row := range []struct {
			name    string
			octets  []int
			gso     uint16 // of the last frame
			express int
		}{
			{"short", []int{60, 61, 64}, 0, 3},
			{"full", []int{1514, 1518, 60}, 0, 3},
			{"longest", []int{2048}, 0, 1},
			{"one longer", []int{60, 2049, 60}, 0, 0},
			{"one with a checksum to do", []int{60, 1000}, 1, 0},
			{"a super-frame", []int{60, 20_000}, 1448, 0},
		} {
			b := port.NewBatch()
			var want [][]byte
			for i, n := range row.octets {
				f, v := craft(tci(3, 10), experimental, seq, n), frame.VnetHeader{}
				if row.gso > 0 && i == len(row.octets)-1 {
					f, v = unfinished(nil, seq, n, row.gso&^1)
				}
				add(b, v, f, 700)
				want = append(want, f)
				seq++
			}
			if n := w.expressed(func() { w.give(b) }); n != row.express {
				t.Errorf("%s: %d frames left by the AF_XDP socket, want %d", row.name, n, row.express)
			}
			for i, p := range w.hostGets(len(want)) {
				if !bytes.Equal(p.Data, want[i]) {
					t.Fatalf("%s: frame %d: %.60x of %d octets, want %.60x of %d", row.name, i, p.Data, len(p.Data), want[i], len(want[i]))
				}
			}
		}
	}
}

// numbered returns a batch of frames with the numbers from first on, those in long too long for the other end.
func numbered(first uint32, n int, long func(i int) bool) *port.Batch {
	b := port.NewBatch()
	for i := range n {
		length := 60
		if long(i) {
			length = 1514
		}
		add(b, frame.VnetHeader{}, craft(nil, experimental, int(first)+i, length), length)
	}
	return b
}

// heard returns the numbers of n frames that the host receives, and that no other follows.
func (w *wire) heard(n int) (all []uint32) {
	w.t.Helper()
	for _, p := range w.hostGets(n) {
		all = append(all, binary.BigEndian.Uint32(p.Data[14:]))
	}
	for {
		p, err := w.host.Receive(0)
		if err != nil {
			return all
		}
		if ours(p.Data) {
			w.t.Fatalf("the host got a frame too many, number %d, after %v", binary.BigEndian.Uint32(p.Data[14:]), all)
		}
	}
}

// Whatever the link drops: what Send says that it took has left, once and in order, and nothing else. The link drops frames that
// are longer than the other end takes, at any place of a batch, several times in a row, and batches of any length follow.
func TestExpressCountsWhatLeft(t *testing.T) {
	w := newWire(t)
	if err := w.handle.LinkSetMTU(link(t, w.handle, "host"), 1400); err != nil {
		t.Fatal(err)
	}
	var next uint32
	rapid.Check(t, func(rt *rapid.T) {
		var want []uint32
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			n := rapid.IntRange(1, port.BatchFrames).Draw(rt, "frames")
			at := rapid.IntRange(0, 2*n).Draw(rt, "the long one") // in half of the calls there is none
			took, err := w.port.Send(numbered(next, n, func(i int) bool { return i == at }))
			if good := min(at, n); took != good || (err == nil) != (good == n) || err != nil && !errors.Is(err, port.ErrDropped) {
				rt.Fatalf("Send of %d frames, number %d too long: %d, %v", n, at, took, err)
			}
			for range took {
				want = append(want, next)
				next++
			}
			next++ // the one that was dropped is not sent again
		}
		if n := w.expressed(func() { w.give(numbered(next, 1, func(int) bool { return false })) }); n != 1 {
			rt.Fatal("a frame after that left by the packet socket")
		}
		want = append(want, next)
		next++
		if got := w.heard(len(want)); !equal(got, want) {
			rt.Fatalf("the host got %v, want %v", got, want)
		}
	})
}

func equal(a, b []uint32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// heldRate is that at which the other end of TestExpressHeldBack takes frames, in octets a second.
const heldRate = 1_000_000

// Where the other end holds frames back, what does not fit the AF_XDP socket's buffer leaves by the packet socket, behind
// them, and what the kernel was told of and did not take is never sent twice.
func TestExpressHeldBack(t *testing.T) {
	w := newWire(t)
	veth(t, w.handle, "far", "onward", 9000)
	bridge(t, w.handle, "host", "onward")
	slow := &netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link(t, w.handle, "onward").Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate: heldRate, Limit: 10_000_000, Buffer: uint32(netlink.Xmittime(heldRate, 1600))}
	if err := w.handle.QdiscAdd(slow); err != nil {
		t.Fatal(err)
	}
	w.host = w.socket("far")
	port.ShrinkExpress(w.port, 16<<10)
	var want []uint32
	for call := range 40 {
		n := 1 + call*37%port.BatchFrames
		b := numbered(uint32(len(want)), n, func(int) bool { return false })
		w.give(b)
		for range n {
			want = append(want, uint32(len(want)))
		}
	}
	if got := w.heard(len(want)); !equal(got, want) {
		t.Errorf("the host got %v, want all in order", got)
	}
	if n, err := port.Voided(w.port); err != nil || n < 100 || n > len(want)-100 {
		t.Errorf("%d of %d frames did not leave by the AF_XDP socket (%v), want a part", n, len(want), err)
	}
}

// bridge joins interfaces by a bridge.
func bridge(t *testing.T, h *netlink.Handle, names ...string) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "between"
	if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := h.LinkSetMaster(link(t, h, name), link(t, h, "between")); err != nil {
			t.Fatal(err)
		}
	}
	setUp(t, h, "between", true)
	awaitUp(t, h, "between", true)
}

// While another program captures on the interface, frames leave where it sees them; afterwards as before.
func TestExpressMakesWayForCaptures(t *testing.T) {
	w := newWire(t)
	b := numbered(1, 5, func(int) bool { return false })
	for round := range 3 {
		if n := w.expressed(func() { w.give(b) }); n != 5 {
			t.Fatalf("round %d: %d frames left by the AF_XDP socket, want 5", round, n)
		}
		w.heard(5)
		capture := captureOn(t, w, round == 1)
		w.port.Tend()
		if way := w.port.Way(); way.Express || way.Why != "another program captures on the interface" {
			t.Fatalf("while another program captures: %+v", way)
		}
		if n := w.expressed(func() { w.give(b) }); n != 0 {
			t.Errorf("round %d: %d frames left unseen", round, n)
		}
		w.heard(5)
		if got := sees(t, capture); got != 5 {
			t.Errorf("round %d: the capture saw %d frames, want 5", round, got)
		}
		if err := unix.Close(capture); err != nil {
			t.Fatal(err)
		}
		w.port.Tend()
		if way := w.port.Way(); !way.Express || way.Why != "" {
			t.Fatalf("after the capture: %+v", way)
		}
	}
}

// captureOn opens a capture of everything on the port's interface, or on all interfaces.
func captureOn(t *testing.T, w *wire, all bool) int {
	t.Helper()
	index := link(t, w.handle, "sw").Attrs().Index
	if all {
		index = 0
	}
	fd := -1
	err := port.InNetns(w.ns, func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8, Ifindex: index})
	})
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// sees counts the frames of the test that left the port's interface in a capture.
func sees(t *testing.T, capture int) (n int) {
	t.Helper()
	b := make([]byte, 4096)
	for {
		k, from, err := unix.Recvfrom(capture, b, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if l := from.(*unix.SockaddrLinklayer); l.Pkttype == unix.PACKET_OUTGOING && ours(b[:k]) {
			n++
		}
	}
}

// A second port on the interface, as a replacement is for a while, sends by its packet socket until the first is closed.
func TestExpressOfAReplacement(t *testing.T) {
	w := newWire(t)
	old := w.port
	w.port = w.open()
	if way := w.port.Way(); way.Express || way.Why == "" {
		t.Fatalf("beside another port: %+v", way)
	}
	b := numbered(1, 3, func(int) bool { return false })
	w.give(b)
	w.heard(3)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the port has the queue", func() bool { w.port.Tend(); return w.port.Way().Express })
	if n := w.expressed(func() { w.give(b) }); n != 3 {
		t.Errorf("%d frames left by the AF_XDP socket, want 3", n)
	}
	w.heard(3)
}

// Where frames could pass each other, or something is to see them all, they leave by the packet socket, and the port says why.
func TestExpressNotEverywhere(t *testing.T) {
	for _, row := range []struct {
		name    string
		prepare func(t *testing.T, w *wire)
	}{
		{"two queues", func(t *testing.T, w *wire) {
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = "sw", 2, 2
			v := netlink.NewVeth(attrs)
			v.PeerName, v.PeerNumTxQueues, v.PeerNumRxQueues = "host", 2, 2
			if err := w.handle.LinkAdd(v); err != nil {
				t.Fatal(err)
			}
		}},
		{"a queueing discipline", func(t *testing.T, w *wire) {
			veth(t, w.handle, "host", "sw", 1500)
			q := &netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link(t, w.handle, "sw").Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
				Rate: 1 << 30, Limit: 1 << 20, Buffer: 1 << 20}
			if err := w.handle.QdiscAdd(q); err != nil {
				t.Fatal(err)
			}
		}},
		{"no veth", func(t *testing.T, w *wire) {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "sw"
			if err := w.handle.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := &wire{t: t}
			w.ns, w.handle = newNamespace(t)
			row.prepare(t, w)
			setUp(t, w.handle, "sw", true)
			if way := w.open().Way(); way.Express || way.Why != "the interface is not a veth with one queue and no queueing discipline" {
				t.Errorf("%+v", way)
			}
		})
	}
	w := newWireBy(t, port.Way{})
	if way := w.port.Way(); way.Why != "the configuration says so" {
		t.Errorf("without: %+v", way)
	}
}

// No way of sending allocates.
func TestSendAllocatesNothing(t *testing.T) {
	bothWays(t, func(t *testing.T, w *wire) {
		b := numbered(1, port.BatchFrames, func(i int) bool { return i%3 == 0 })
		if n := testing.AllocsPerRun(100, func() { w.give(b) }); n != 0 {
			t.Errorf("%v allocations a batch", n)
		}
	})
}
