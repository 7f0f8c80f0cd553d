package port_test

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// byLength steers frames above an MTU of 1500 to the ring for long frames, all others to Other.
func byLength(t *testing.T) []bpf.RawInstruction {
	t.Helper()
	program := assert.Got(bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 1500, SkipTrue: 1},
		bpf.RetConstant{Val: uint32(port.Other)},
		bpf.RetConstant{Val: longRing},
	})).Must(t)
	return program
}

// A machine is a virtual machine with a network card: the other end of a TAP that is a port.
type machine struct {
	*wire
	fd int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{wire: &wire{t: t}}
	m.ns, m.handle = newNamespace(t)
	assert.Must(t, port.InNetns(m.ns, func() (err error) {
		if m.fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		r, err := unix.NewIfreq("sw")
		if err != nil {
			return err
		}
		r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		return unix.IoctlIfreq(m.fd, unix.TUNSETIFF, r)
	}))
	t.Cleanup(func() { _ = unix.Close(m.fd) })
	_ = m.handle.LinkSetIP6AddrGenMode(link(t, m.handle, "sw"), 1) // where there is no IPv6, all is well
	setUp(t, m.handle, "sw", true)
	c := m.config()
	c.Fanout = byLength(t)
	m.port = openPort(t, c)
	return m
}

// write lets the machine send a frame.
func (m *machine) write(v frame.VnetHeader, b []byte) {
	m.t.Helper()
	head := make([]byte, frame.VnetHeaderOctets)
	v.Encode(head)
	_, err := unix.Writev(m.fd, [][]byte{head, b})
	assert.MustNoError(m.t, err, "the machine sends %d octets with %+v", len(b), v)
}

// datagram returns a UDP/IPv4 frame of n octets and the header with which a network card cuts it.
func datagram(n int, gsoType uint8) ([]byte, frame.VnetHeader) {
	b, v := unfinished(nil, 0, n, 1400)
	ip := b[frame.HeaderOctets:]
	ip[9] = unix.IPPROTO_UDP
	ip[10], ip[11] = 0, 0
	sum := ^frame.Sum(ip[:20], 0)
	ip[10], ip[11] = byte(sum>>8), byte(sum)
	udp := ip[20:]
	copy(udp, []byte{0, 1, 0, 2, byte(len(udp) >> 8), byte(len(udp)), 0, 0})
	v.GSOType, v.CsumOffset, v.HdrLen = gsoType, 6, 42
	return b, v
}

// A GSO frame that no virtio_net_hdr expresses comes without octets, in its place. All frames around it arrive whole.
func TestFramesThatNoHeaderExpresses(t *testing.T) {
	m := newMachine(t)
	for _, kind := range []uint8{frame.GSOUDP, frame.GSOUDP | frame.GSOECN, frame.GSOUDPL4} {
		t.Run(fmt.Sprintf("GSO type %#x", kind), func(t *testing.T) {
			before, long := craft(nil, experimental, 1, 1000), craft(nil, experimental, 2, 1514)
			b, v := datagram(4042, kind)
			m.write(frame.VnetHeader{}, before)
			m.write(v, b)
			want := [][]byte{before, b}
			for range 10 {
				m.write(frame.VnetHeader{}, long)
				want = append(want, long)
			}
			if kind != frame.GSOUDPL4 {
				want[1] = nil
			}
			m.awaitBacklog(port.Other, len(want))
			var frames [16]port.Frame
			for range 2 {
				n := m.port.Receive(port.Other, frames[:], 1<<20)
				wantData(t, frames[:n], want)
				m.port.Rewind(port.Other)
			}
			assert.True(t, !frames[1].Truncated && (frames[1].Vnet == frame.VnetHeader{}) == (kind != frame.GSOUDPL4),
				"cut %v with %+v", frames[1].Truncated, frames[1].Vnet)
			m.port.Release(port.Other, m.port.Receive(port.Other, frames[:], 1<<20))
			assert.Equal(t, m.port.Losses(port.Other), 0, "frames lost")
		})
	}
}

// A frame longer than MaxFrame costs its neighbours nothing. It comes in its place, as far as there is room, and with
// its length: once, whichever ring it has come by.
func TestFrameAboveTheLongest(t *testing.T) {
	w := newWire(t)
	const limit = 200_000
	for _, name := range []string{"host", "sw"} {
		assert.Must(t, w.handle.LinkSetGSOMaxSize(link(t, w.handle, name), limit))
		assert.Must(t, w.handle.LinkSetGSOIPv4MaxSize(link(t, w.handle, name), limit))
	}
	for _, program := range [][]bpf.RawInstruction{byLength(t), byPCP(t)} {
		assert.Must(t, w.port.Steer(program))
		var want [][]byte
		for i := range 24 {
			n := 20_000 + i
			if i == 11 {
				n = port.MaxFrame + 40_000
			}
			b, v := gsoFrame(tci(2, 1), i, n)
			w.send(v, b)
			want = append(want, b)
		}
		got := w.collect(port.Other, len(want))
		assert.True(t, got[11].Octets == len(want[11]) && bytes.HasPrefix(want[11], got[11].Data) &&
			!got[11].Truncated && got[11].Vnet == (frame.VnetHeader{}) && len(got[11].Data) >= port.MaxFrame,
			"the start of %d octets, cut %v, with %+v of a frame of %d; want one of %d", len(got[11].Data),
			got[11].Truncated, got[11].Vnet, got[11].Octets, len(want[11]))
		want[11] = got[11].Data
		wantData(t, got, want)
	}
}

// A full queue behind the ring for long frames costs frames of that ring only, and each is told of.
func TestLongQueueFull(t *testing.T) {
	w := newWire(t)
	assert.Must(t, w.port.Steer(byLength(t)))
	const sent = 400 // of 65,000 octets: far more than the queue holds
	want := w.gsoFrames(nil, sent, 65_000)
	short := w.plain(3, 1000)
	w.awaitBacklog(port.Other, sent+len(short))
	got := w.collect(port.Other, sent+len(short))
	cut := 0
	for i, f := range got[:sent] {
		if f.Truncated {
			cut++
		} else if !bytes.Equal(f.Data, want[i]) {
			t.Fatalf("frame %d has %d octets that are not its own", i, len(f.Data))
		}
	}
	assert.True(t, cut != 0 && cut <= sent-10, "%d of %d frames are cut: want some", cut, sent)
	wantData(t, got[sent:], short)
}
