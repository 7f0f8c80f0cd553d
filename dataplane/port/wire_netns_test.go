package port_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// A wire is a veth pair in a network namespace of its own: the test's socket at the end "host", the port under test at
// the end "sw". The namespace has no name and goes with the test.
type wire struct {
	t      testing.TB
	ns     string // path of the namespace
	handle *netlink.Handle
	host   *porttest.Socket
	port   *port.AFPacket
	packet bool // the port sends by its packet socket alone
	seq    int
}

func newNamespace(t testing.TB) (path string, handle *netlink.Handle) {
	t.Helper()
	path, handle, _ = porttest.NewNamespace(t)
	return path, handle
}

// veth makes a pair whose ends are silent, and sets both up.
func veth(t testing.TB, h *netlink.Handle, name, peer string, mtu int) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = name, mtu
	v := netlink.NewVeth(attrs)
	v.PeerName, v.PeerMTU = peer, uint32(mtu)
	if err := h.LinkAdd(v); err != nil {
		porttest.Unavailable(t, err)
	}
	for _, name := range []string{name, peer} {
		_ = h.LinkSetIP6AddrGenMode(link(t, h, name), 1) // where there is no IPv6, all is well
		setUp(t, h, name, true)
	}
	awaitUp(t, h, name, true)
	awaitUp(t, h, peer, true)
}

func link(t testing.TB, h *netlink.Handle, name string) netlink.Link {
	t.Helper()
	return assert.Got(h.LinkByName(name)).Must(t)
}

func setUp(t testing.TB, h *netlink.Handle, name string, up bool) {
	t.Helper()
	set := h.LinkSetUp
	if !up {
		set = h.LinkSetDown
	}
	assert.Must(t, set(link(t, h, name)))
}

// awaitUp waits until the kernel has seen that a link came up or went down.
func awaitUp(t testing.TB, h *netlink.Handle, name string, up bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s up: %v", name, up), func() bool {
		return link(t, h, name).Attrs().OperState == netlink.OperUp == up
	})
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		assert.MustBeTrue(t, !time.Now().After(deadline), "%s: not after 20 s", what)
	}
}

// Results of a program: the ring of MAC Control frames, and for frames of the class Other the rings for long and for
// small ones.
const (
	controlRing = 2
	longRing    = 3
	smallRing   = 5
)

// byPCP steers frames of priority 3 to the lossless ring, and MAC Control and LLDP frames to the control ring. In the
// fanout hook the tag is in metadata.
func byPCP(t testing.TB) []bpf.RawInstruction {
	t.Helper()
	program := assert.Got(bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeLLDP), SkipTrue: 1},
		bpf.RetConstant{Val: controlRing},
		bpf.LoadExtension{Num: bpf.ExtVLANTag},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 13},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 3, SkipFalse: 1},
		bpf.RetConstant{Val: uint32(port.Lossless)},
		bpf.RetConstant{Val: uint32(port.Other)},
	})).Must(t)
	return program
}

// newWire makes a wire whose port has small rings with slots for frames of 1514 octets.
func newWire(t *testing.T) *wire {
	t.Helper()
	return wireOf(t, false)
}

// wireOf makes a wire whose port sends only by its packet socket, or by the path that the kernel allows.
func wireOf(t *testing.T, packet bool) *wire {
	t.Helper()
	w := &wire{t: t, packet: packet}
	w.ns, w.handle = newNamespace(t)
	veth(t, w.handle, "host", "sw", 9000)
	w.host = w.socket("host")
	w.port = w.open()
	return w
}

// newXDPTx makes a wire whose port sends by an AF_XDP socket.
func newXDPTx(t *testing.T) *wire {
	t.Helper()
	w := newWire(t)
	porttest.RequireXDP(t, w.port.TxPath())
	return w
}

// bothPaths runs a test with a port that sends by an AF_XDP socket, and with one that sends by a packet socket.
func bothPaths(t *testing.T, test func(t *testing.T, w *wire)) {
	t.Run("AF_XDP", func(t *testing.T) { test(t, newXDPTx(t)) })
	t.Run("packet", func(t *testing.T) { test(t, wireOf(t, true)) })
}

func (w *wire) socket(name string) *porttest.Socket {
	w.t.Helper()
	s := assert.Got(porttest.OpenSocket(w.ns, name)).Must(w.t)
	w.t.Cleanup(func() { _ = s.Close() })
	return s
}

// rawSocket opens a packet socket for frames of an EtherType, on one interface of a namespace or, with index 0, on all.
func rawSocket(t testing.TB, ns string, etherType uint16, index int) (fd int) {
	t.Helper()
	assert.Must(t, port.InNetns(ns, func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: etherType<<8 | etherType>>8, Ifindex: index})
	}))
	return fd
}

func (w *wire) config() port.Config {
	return port.Config{Interface: "sw", Netns: w.ns, LosslessSlots: 160, OtherSlots: 160, FrameSize: 1514,
		XDP: !w.packet, Fanout: byPCP(w.t)}
}

func (w *wire) open() *port.AFPacket { return openPort(w.t, w.config()) }

// openPort opens a port that is closed when the test ends.
func openPort(t testing.TB, c port.Config) *port.AFPacket {
	t.Helper()
	p := assert.Got(port.Open(c)).Must(t)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

const (
	testDst = 0x02_00_00_00_00_0B
	testSrc = 0x02_00_00_00_00_0A
)

// craft returns a frame of n octets; tag nil is untagged. Its payload depends on seq.
func craft(tag *frame.TCI, etherType uint16, seq, n int) []byte {
	return porttest.Ether(testDst, testSrc, tag, etherType, seq, n)
}

const experimental = porttest.Experimental

var tci = porttest.TCI

func (w *wire) send(v frame.VnetHeader, b []byte) {
	w.t.Helper()
	assert.MustNoError(w.t, w.host.Send(v, b), "host sends %d octets", len(b))
}

// plain lets the host send n numbered frames of the given length.
func (w *wire) plain(n, octets int) (sent [][]byte) {
	w.t.Helper()
	for range n {
		b := craft(nil, experimental, w.seq, octets)
		w.seq++
		w.send(frame.VnetHeader{}, b)
		sent = append(sent, b)
	}
	return sent
}

// collect receives and releases until n frames of the test came in ring c.
func (w *wire) collect(c port.Class, n int) (got []port.Frame) {
	w.t.Helper()
	var frames [16]port.Frame
	eventually(w.t, fmt.Sprintf("%d frames come by the %v ring", n, c), func() bool {
		k := w.port.Receive(c, frames[:], 1<<20)
		for _, f := range frames[:k] {
			if ours(f.Data) || f.Truncated {
				f.Data = bytes.Clone(f.Data)
				got = append(got, f)
			}
		}
		w.port.Release(c, k)
		return len(got) >= n
	})
	return got
}

// awaitBacklog waits until n frames wait in the rings of a class.
func (w *wire) awaitBacklog(c port.Class, n int) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%d frames wait in the %v rings", n, c), func() bool {
		return w.port.Backlog(c).Frames == n
	})
}

// ours tells a frame of the test from frames that the kernel sends by itself.
func ours(b []byte) bool { return len(b) >= 12 && frame.Address(b[6:]) == testSrc }

// wantData compares received frames with sent ones.
func wantData(t *testing.T, got []port.Frame, want [][]byte) {
	t.Helper()
	assert.MustEqual(t, len(got), len(want), "frames")
	for i := range got {
		assert.MustBeTrue(t, bytes.Equal(got[i].Data, want[i]),
			"frame %d of %d octets:\n%.200x\nwant %d octets\n%.200x", i, len(got[i].Data), got[i].Data, len(want[i]),
			want[i])
	}
}

// silent fails if a frame of the test arrives in a data ring.
func (w *wire) silent() {
	w.t.Helper()
	time.Sleep(20 * time.Millisecond)
	var frames [16]port.Frame
	for c := range port.NumClasses {
		k := w.port.Receive(c, frames[:], 1<<20)
		for _, f := range frames[:k] {
			assert.True(w.t, !ours(f.Data), "the %v ring got %x", c, f.Data)
		}
		w.port.Release(c, k)
	}
}

// now is the clock of the receive stamps.
func now() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &ts)
	return ts.Nano()
}
