package port_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// control is a MAC Control frame, n octets long.
func control(seq, n int) []byte {
	b := craft(nil, frame.TypeMACControl, seq, n)
	frame.PutAddress(b, 0x0180C2000001)
	return b
}

func (w *wire) waitControl() (b []byte, stamp int64) {
	w.t.Helper()
	eventually(w.t, "a MAC Control frame comes", func() bool {
		b, stamp = w.port.Control()
		return b != nil
	})
	return b, stamp
}

// MAC Control frames arrive only in their own ring, in order, padded or not, with their stamps.
func TestControlRing(t *testing.T) {
	w := newWire(t)
	for seq, n := range []int{60, 18, 34, 64} {
		from := now()
		sent := control(seq, n)
		w.send(frame.VnetHeader{}, sent)
		got, stamp := w.waitControl()
		if again, same := w.port.Control(); !bytes.Equal(got, sent) || !bytes.Equal(again, got) || same != stamp {
			t.Errorf("got %x, again %x, want %x", got, again, sent)
		}
		assert.True(t, stamp >= from && stamp <= now(), "stamp %d is not from %d to %d", stamp, from, now())
		w.port.ControlDone()
	}
	b, _ := w.port.Control()
	assert.True(t, b == nil, "one more: %x", b)
	w.silent()
}

// The control ring wraps around.
func TestControlRingWrapsAround(t *testing.T) {
	w := newWire(t)
	seq := 0
	for range 30 {
		for k := range 100 {
			w.send(frame.VnetHeader{}, control(seq+k, 60))
		}
		for range 100 {
			got, _ := w.waitControl()
			assert.MustBeTrue(t, bytes.Equal(got, control(seq, 60)), "frame %d is %x", seq, got)
			w.port.ControlDone()
			seq++
		}
	}
}

// A frame with 0x8808 behind a tag is handed over with its tag, so that nobody mistakes it for MAC Control. No data
// ring gets it, nor LLDP frames.
func TestTaggedControlIsNotControl(t *testing.T) {
	w := newWire(t)
	tagged := craft(tci(3, 10), frame.TypeMACControl, 1, 64)
	w.send(frame.VnetHeader{}, tagged)
	w.send(frame.VnetHeader{}, craft(nil, frame.TypeLLDP, 2, 60))
	w.send(frame.VnetHeader{}, craft(tci(1, 1), frame.TypeLLDP, 3, 64))
	got, _ := w.waitControl()
	h, ok := frame.Parse(got)
	assert.True(t, ok && h.Tagged && bytes.Equal(got, tagged), "got %x, want it with its tag: %x", got, tagged)
	w.port.ControlDone()
	w.silent()
	b, _ := w.port.Control()
	assert.True(t, b == nil, "LLDP came as MAC Control: %x", b)
}

// A frame far too long for MAC Control arrives truncated.
func TestLongControlFrame(t *testing.T) {
	w := newWire(t)
	sent := control(1, 1500)
	w.send(frame.VnetHeader{}, sent)
	got, _ := w.waitControl()
	assert.True(t, len(got) >= 60 && len(got) <= 200 && bytes.Equal(got, sent[:len(got)]),
		"%d octets: %x", len(got), got)
	w.port.ControlDone()
}

// The port does not receive what it sends.
func TestOwnFramesAreNotReceived(t *testing.T) {
	w := newWire(t)
	assert.Must(t, w.port.SendControl(control(5, 60)))
	w.sendBatch(numbered(1, 1))
	got := w.hostGets(2)
	assert.True(t, bytes.Equal(got[0].Data, control(5, 60)), "the host got %x", got[0].Data)
	w.silent()
	b, _ := w.port.Control()
	assert.True(t, b == nil, "the port got %x", b)
}

// Each kind of work has its own descriptors.
func TestDescriptors(t *testing.T) {
	w := newWire(t)
	poller := newPoller(t)
	frames := map[port.Work][]byte{
		port.WorkOther:    craft(tci(1, 0), experimental, 1, 64),
		port.WorkLossless: craft(tci(3, 0), experimental, 2, 64),
		port.WorkControl:  control(3, 60),
	}
	for kind, b := range frames {
		for other := range frames {
			fds := w.port.Descriptors(nil, other)
			assert.MustBeTrue(t,
				len(fds) == map[port.Work]int{port.WorkOther: 2, port.WorkLossless: 2, port.WorkControl: 1}[other],
				"%d descriptors for kind %d", len(fds), other)
			poller.Watch(fds)
			if other == kind {
				w.send(frame.VnetHeader{}, b)
				assert.Equal(t, poller.Wait(20*time.Second), port.Ready, "kind %d: woken by, want the frame", kind)
				w.clear()
			} else if why := poller.Wait(time.Millisecond); why != port.Expired {
				t.Errorf("kind %d: woken by %v, want the end of the time", other, why)
			}
		}
	}
	fds := w.port.Descriptors([]int32{7}, port.WorkOther|port.WorkLossless|port.WorkControl)
	assert.True(t, len(fds) == 6 && fds[0] == 7, "descriptors of all kinds behind 7: %v", fds)
	assert.Equal(t, len(w.port.Descriptors(nil, 0)), 0, "descriptors of no kind")
}

// clear receives everything that has come.
func (w *wire) clear() {
	var frames [16]port.Frame
	for c := range port.NumClasses {
		w.port.Release(c, w.port.Receive(c, frames[:], 1<<20))
	}
	for b, _ := w.port.Control(); b != nil; b, _ = w.port.Control() {
		w.port.ControlDone()
	}
}

// The error names the option that packet sockets lack, and the remedy.
func TestPacketSocketsWithoutVnetHeader(t *testing.T) {
	ns, handle := newNamespace(t)
	veth(t, handle, "host", "sw", 1500)
	defer port.WithoutPacketOption(unix.PACKET_VNET_HDR, unix.ENOPROTOOPT)()
	p, err := port.Open(port.Config{Interface: "sw", Netns: ns, LosslessSlots: 1, OtherSlots: 1, FrameSize: 1514,
		Fanout: byPCP(t)})
	if err == nil {
		_ = p.Close()
		t.Fatal("a port without the virtio_net header was opened")
	}
	for _, want := range []string{"port sw: ", "PACKET_VNET_HDR", "virtio_net header",
		"run the switch on a Linux kernel"} {
		assert.True(t, strings.Contains(err.Error(), want), "got %q, want %q in it", err, want)
	}
}
