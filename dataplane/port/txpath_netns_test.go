package port_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	bpflink "github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// While another program captures on the interface, frames leave by the packet socket, and afterwards as before.
func TestNoXDPBesideCaptures(t *testing.T) {
	w := newXDPTx(t)
	b := numbered(1, 5)
	for round := range 3 {
		assert.MustEqual(t, w.sentByXDP(func() { w.sendBatch(b) }), 5, "round %d: frames left by the AF_XDP socket",
			round)
		w.hostNumbers(5)
		index := link(t, w.handle, "sw").Attrs().Index
		if round == 1 {
			index = 0 // all interfaces
		}
		capture := rawSocket(t, w.ns, unix.ETH_P_ALL, index)
		w.refreshTxPath()
		if path := w.port.TxPath(); path.XDP || path.Why != "another program captures on the interface" {
			t.Fatalf("while another program captures: %+v", path)
		}
		assert.Equal(t, w.sentByXDP(func() { w.sendBatch(b) }), 0, "round %d: frames left unseen", round)
		w.hostNumbers(5)
		assert.Equal(t, sees(t, capture), 5, "round %d: frames that the capture saw", round)
		assert.Must(t, unix.Close(capture))
		w.refreshTxPath()
		path := w.port.TxPath()
		assert.MustBeTrue(t, path.XDP && path.Why == "", "after the capture: %+v", path)
	}
}

// While the interface has a queueing discipline, all frames leave by the packet socket. Otherwise frames of one path
// would wait in the discipline and those of the other would not.
func TestNoXDPBesideQdiscs(t *testing.T) {
	w := newXDPTx(t)
	slow := w.slow("sw", 10_000)
	w.refreshTxPath()
	path := w.port.TxPath()
	assert.MustBeTrue(t, !path.XDP && path.Why != "", "with a queueing discipline: %+v", path)
	var want []uint32
	for range 100 { // frames of both kinds, a part of which has to wait
		b := port.NewBatch()
		for _, n := range []int{60, 3000, 60} {
			add(b, frame.VnetHeader{}, craft(nil, experimental, len(want), n), n)
			want = append(want, uint32(len(want)))
		}
		w.sendBatch(b)
		want = w.sendNumbered(want, 1)
	}
	assert.Same(t, w.hostNumbers(len(want)), want, "the host")
	assert.Must(t, w.handle.QdiscDel(slow))
	w.refreshTxPath()
	path = w.port.TxPath()
	assert.True(t, path.XDP, "without it: %+v", path)
}

// In an idle switch a capture is seen, and what the last whole look has found of the interface stays.
func TestTxPathOfAnIdleSwitch(t *testing.T) {
	w := newXDPTx(t)
	refreshIdle := func(what, why string) {
		t.Helper()
		w.port.RefreshTxPath(&port.PacketSockets{Idle: true})
		path := w.port.TxPath()
		assert.True(t, path.XDP == (why == "") && path.Why == why, "%s: %+v, want %q", what, path, why)
	}
	refreshIdle("nothing has changed", "")
	capture := rawSocket(t, w.ns, unix.ETH_P_ALL, link(t, w.handle, "sw").Attrs().Index)
	refreshIdle("a capture", "another program captures on the interface")
	assert.Must(t, unix.Close(capture))
	slow := w.slow("sw", 10_000)
	refreshIdle("a discipline is new", "")
	w.refreshTxPath()
	const unfit = "the interface is not a veth with one queue and no queueing discipline"
	refreshIdle("a discipline is known", unfit)
	assert.Must(t, w.handle.QdiscDel(slow))
	refreshIdle("it is gone", unfit)
	w.refreshTxPath()
	assert.True(t, w.port.TxPath().XDP, "after a whole look: %+v", w.port.TxPath())
}

// The path may change at any moment, and the order stays.
func TestRefreshTxPathBesideSend(t *testing.T) {
	w := newXDPTx(t)
	stop := make(chan struct{})
	var changer sync.WaitGroup
	changer.Go(func() {
		for allowed := true; ; allowed = !allowed {
			select {
			case <-stop:
				return
			default:
				w.port.AllowXDP(new(port.PacketSockets), allowed)
				_ = w.port.TxPath()
			}
		}
	})
	var want []uint32
	n := w.sentByXDP(func() {
		for range 2000 {
			want = w.sendNumbered(want, 3)
		}
	})
	close(stop)
	changer.Wait()
	assert.True(t, n != 0 && n != len(want), "%d of %d frames left by the AF_XDP socket, want a part", n, len(want))
	assert.Same(t, w.hostNumbers(len(want)), want, "the host did not get all in order")
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
		assert.Must(t, err)
		if l := from.(*unix.SockaddrLinklayer); l.Pkttype == unix.PACKET_OUTGOING && ours(b[:k]) {
			n++
		}
	}
}

// A second port on the interface, as during a replacement, sends by its packet socket until the first is closed.
func TestXDPOfAReplacement(t *testing.T) {
	w := newXDPTx(t)
	old := w.port
	w.port = w.open()
	path := w.port.TxPath()
	assert.MustBeTrue(t, !path.XDP && path.Why != "", "beside another port: %+v", path)
	b := numbered(1, 3)
	w.sendBatch(b)
	w.hostNumbers(3)
	assert.Must(t, old.Close())
	eventually(t, "the port has the queue", func() bool { w.refreshTxPath(); return w.port.TxPath().XDP })
	assert.Equal(t, w.sentByXDP(func() { w.sendBatch(b) }), 3, "frames left by the AF_XDP socket")
	w.hostNumbers(3)
}

// If frames could overtake each other, or another program is to see them all, they leave by the packet socket, and the
// port says why.
func TestXDPNotEverywhere(t *testing.T) {
	const unfit = "the interface is not a veth with one queue and no queueing discipline"
	for _, row := range []struct {
		name    string
		prepare func(t *testing.T, w *wire)
		why     string
	}{
		{"two queues", func(t *testing.T, w *wire) {
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues = "sw", 2, 2
			v := netlink.NewVeth(attrs)
			v.PeerName, v.PeerNumTxQueues, v.PeerNumRxQueues = "host", 2, 2
			assert.Must(t, w.handle.LinkAdd(v))
		}, unfit},
		{"a queueing discipline", func(t *testing.T, w *wire) {
			veth(t, w.handle, "host", "sw", 1500)
			w.slow("sw", 10_000)
		}, unfit},
		{"a TCX program", func(t *testing.T, w *wire) {
			veth(t, w.handle, "host", "sw", 1500)
			watchEgress(t, w)
		}, "a TCX program looks at what the interface sends"},
		{"no veth", func(t *testing.T, w *wire) {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "sw"
			assert.Must(t, w.handle.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}))
		}, unfit},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := &wire{t: t}
			w.ns, w.handle = newNamespace(t)
			row.prepare(t, w)
			setUp(t, w.handle, "sw", true)
			path := w.open().TxPath()
			assert.True(t, !path.XDP && path.Why == row.why, "%+v", path)
		})
	}
	w := newXDPTx(t)
	w.port.AllowXDP(new(port.PacketSockets), false)
	for range 2 { // whoever looks after the port later asks nothing
		assert.Equal(t, w.port.TxPath(), port.TxPath{Why: "the configuration says so"}, "not allowed")
		w.refreshTxPath()
	}
	w.port.AllowXDP(new(port.PacketSockets), true)
	assert.True(t, w.port.TxPath().XDP, "allowed: %+v", w.port.TxPath())
	assert.Must(t, w.handle.LinkDel(link(t, w.handle, "sw")))
	w.refreshTxPath()
	assert.Equal(t, w.port.TxPath(), port.TxPath{Why: "the interface is gone"}, "without its interface")
}

// watchEgress attaches a program that passes everything to the egress of the port's interface.
func watchEgress(t *testing.T, w *wire) {
	t.Helper()
	err := port.InNetns(w.ns, func() error {
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}})
		if err != nil {
			return err
		}
		l, err := bpflink.AttachTCX(bpflink.TCXOptions{Interface: link(t, w.handle, "sw").Attrs().Index, Program: p,
			Attach: ebpf.AttachTCXEgress})
		t.Cleanup(func() { _ = p.Close() })
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	})
	assert.Must(t, err)
}
