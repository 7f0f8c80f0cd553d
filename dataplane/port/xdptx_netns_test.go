package port_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// sentByXDP returns how many frames left by the port's AF_XDP socket while f ran.
func (w *wire) sentByXDP(f func()) int {
	before := port.SentByXDP(w.port)
	f()
	return int(port.SentByXDP(w.port) - before)
}

// sendBatch sends a batch, all frames of which must leave.
func (w *wire) sendBatch(b *port.Batch) {
	w.t.Helper()
	if n, err := w.port.Send(b); n != b.Len() || err != nil {
		w.t.Fatalf("Send: %d of %d, %v", n, b.Len(), err)
	}
}

func (w *wire) refreshTxPath() { w.port.RefreshTxPath(new(port.PacketSockets)) }

// A burst of plain frames of up to 2048 octets leaves by the AF_XDP socket, any other burst by the packet socket, and
// all frames stay in order.
func TestXDPTakesPlainFrames(t *testing.T) {
	w := newXDPTx(t)
	seq := 0
	for range 3 {
		for _, row := range []struct {
			name   string
			octets []int
			gso    uint16 // of the last frame
			xdp    int
		}{
			{"short", []int{60, 61, 64}, 0, 3},
			{"full", []int{1514, 1518, 60}, 0, 3},
			{"longest", []int{2048}, 0, 1},
			{"one longer", []int{60, 2049, 60}, 0, 0},
			{"one with a checksum to do", []int{60, 1000}, 1, 0},
			{"a GSO frame", []int{60, 20_000}, 1448, 0},
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
			assert.Equal(t, w.sentByXDP(func() { w.sendBatch(b) }), row.xdp, "%s: frames left by the AF_XDP socket",
				row.name)
			for i, p := range w.hostGets(len(want)) {
				assert.MustBeTrue(t, bytes.Equal(p.Data, want[i]), "%s: frame %d: %.60x of %d octets, want %.60x of %d",
					row.name, i, p.Data, len(p.Data), want[i], len(want[i]))
			}
		}
	}
}

// numbered returns a batch of short frames with the numbers from first on.
func numbered(first uint32, n int) *port.Batch {
	return numberedLong(first, n, func(int) bool { return false })
}

// numberedLong is numbered where the frames of which long(i) holds are too long for the peer.
func numberedLong(first uint32, n int, long func(i int) bool) *port.Batch {
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

// hostNumbers returns the numbers of n frames that the host receives, and makes sure that no other follows.
func (w *wire) hostNumbers(n int) (all []uint32) {
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

// Whatever the link drops, exactly those frames have left that Send reports, once and in order. The link drops frames
// that are too long for the peer, at any place of a batch, several times in a row, followed by batches of any length.
func TestXDPCountsWhatLeft(t *testing.T) {
	w := newXDPTx(t)
	assert.Must(t, w.handle.LinkSetMTU(link(t, w.handle, "host"), 1400))
	var next uint32
	rapid.Check(t, func(rt *rapid.T) {
		var want []uint32
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			n := rapid.IntRange(1, port.BatchFrames).Draw(rt, "frames")
			at := rapid.IntRange(0, 2*n).Draw(rt, "the long one") // in half of the calls there is none
			took, err := w.port.Send(numberedLong(next, n, func(i int) bool { return i == at }))
			good := min(at, n)
			assert.MustBeTrue(rt, took == good && (err == nil) == (good == n) && (err == nil ||
				errors.Is(err, port.ErrDropped)), "Send of %d frames, number %d too long: %d, %v", n, at, took, err)
			for range took {
				want = append(want, next)
				next++
			}
			next++ // the one that was dropped is not sent again
		}
		for tries := 0; ; tries++ { // it comes back to the AF_XDP socket
			n := w.sentByXDP(func() { w.sendBatch(numbered(next, 1)) })
			want = append(want, next)
			next++
			if n == 1 {
				break
			}
			assert.MustBeTrue(rt, tries != port.BatchFrames, "the port does not come back to the AF_XDP socket")
		}
		assert.MustBeSame(rt, w.hostNumbers(len(want)), want, "the host")
	})
}

// sendNumbered sends n short frames with the numbers that follow those in sent, and appends the numbers.
func (w *wire) sendNumbered(sent []uint32, n int) []uint32 {
	w.t.Helper()
	w.sendBatch(numbered(uint32(len(sent)), n))
	for range n {
		sent = append(sent, uint32(len(sent)))
	}
	return sent
}

// slow gives an interface a queueing discipline that is slower than any machine sends.
func (w *wire) slow(name string, burst int) *netlink.Tbf {
	w.t.Helper()
	const rate = 500_000 // octets a second
	q := &netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link(w.t, w.handle, name).Attrs().Index,
		Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate: rate, Limit: 10_000_000, Buffer: uint32(netlink.Xmittime(rate, uint32(burst)))}
	assert.Must(w.t, w.handle.QdiscAdd(q))
	return q
}

// If the peer is slow, frames that do not fit the AF_XDP socket's buffer leave by the packet socket, behind the others.
// Frames that the kernel was told of and did not take are never sent twice. The host's socket sees the frames in front
// of the slow qdisc. Behind the qdisc the order is not the port's: two CPUs may dequeue in turn, each to a backlog of
// its own.
func TestXDPHeldBack(t *testing.T) {
	w := newXDPTx(t)
	veth(t, w.handle, "far", "onward", 9000)
	bridge(t, w.handle, "host", "onward")
	w.slow("onward", 1600)
	port.ShrinkXDPBuffer(w.port, 16<<10)
	var want []uint32
	for call := range 300 {
		want = w.sendNumbered(want, 1+call*37%port.BatchFrames)
	}
	for i, got := range w.hostNumbers(len(want)) {
		assert.MustBeTrue(t, got == want[i], "frame %d of %d at the host has number %d", i, len(want), got)
	}
	if n, err := port.CancelledXDP(w.port); err != nil || n < 50 || n > len(want)-50 {
		t.Errorf("%d of %d frames did not leave by the AF_XDP socket (%v), want a part", n, len(want), err)
	}
}

// bridge joins interfaces by a bridge.
func bridge(t *testing.T, h *netlink.Handle, names ...string) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "between"
	assert.Must(t, h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}))
	for _, name := range names {
		assert.Must(t, h.LinkSetMaster(link(t, h, name), link(t, h, "between")))
	}
	setUp(t, h, "between", true)
	awaitUp(t, h, "between", true)
}

// A frame too long for the interface is refused, whatever the peer takes. The longest allowed frame leaves, tagged or
// not.
func TestXDPKeepsToTheMTU(t *testing.T) {
	w := newXDPTx(t)
	assert.Must(t, w.handle.LinkSetMTU(link(t, w.handle, "sw"), 1500))
	w.refreshTxPath()
	for _, row := range []struct {
		tag  *frame.TCI
		n    int
		xdp  int
		want error
	}{{nil, 1514, 1, nil}, {tci(3, 10), 1518, 1, nil}, {nil, 1515, 0, unix.EMSGSIZE}, {tci(3, 10), 1519, 0,
		unix.EMSGSIZE}, {nil, 2000, 0, unix.EMSGSIZE}} {
		b := port.NewBatch()
		add(b, frame.VnetHeader{}, craft(row.tag, experimental, 1, row.n), row.n)
		var err error
		if n := w.sentByXDP(func() { _, err = w.port.Send(b) }); n != row.xdp || !errors.Is(err, row.want) {
			t.Errorf("%d octets, tag %v: %d left by the AF_XDP socket, %v; want %d, %v", row.n, row.tag, n, err,
				row.xdp, row.want)
		}
	}
}

// Neither path allocates.
func TestSendAllocatesNothing(t *testing.T) {
	bothPaths(t, func(t *testing.T, w *wire) {
		b := numberedLong(1, port.BatchFrames, func(i int) bool { return i%3 == 0 })
		assert.Equal(t, testing.AllocsPerRun(100, func() { w.sendBatch(b) }), 0, "allocations a batch")
	})
}
