package port_test

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// hostGets returns the next n frames of the test that the host receives.
func (w *wire) hostGets(n int) (got []porttest.Packet) {
	w.t.Helper()
	for len(got) < n {
		p, err := w.host.Receive(20 * time.Second)
		assert.MustNoError(w.t, err, "the host got %d of %d frames", len(got), n)
		if ours(p.Data) {
			got = append(got, p)
		}
	}
	return got
}

// add puts a frame into a batch in parts of the given length.
func add(b *port.Batch, v frame.VnetHeader, data []byte, part int) {
	b.Begin(&v)
	for len(data) > 0 {
		n := min(part, len(data))
		b.Part(data[:n])
		data = data[n:]
	}
	b.End()
}

// A batch leaves in order, whatever the number of parts.
func TestSend(t *testing.T) { bothPaths(t, send) }

func send(t *testing.T, w *wire) {
	b := port.NewBatch()
	var want [][]byte
	for seq := range port.BatchFrames {
		f := craft(nil, experimental, seq, 60+seq*20)
		add(b, frame.VnetHeader{}, f, 1+seq)
		want = append(want, f)
	}
	for range 3 {
		w.sendBatch(b)
		for i, p := range w.hostGets(len(want)) {
			assert.MustBeSame(t, p.Data, want[i], "frame %d", i)
		}
	}
}

// A batch keeps frames of lengths around copyLimit, in parts of all lengths.
func TestBatchKeepsFrames(t *testing.T) {
	v := frame.VnetHeader{Flags: frame.VnetNeedsCsum, CsumStart: 34, CsumOffset: 6}
	b := port.NewBatch()
	for n := 250; n < 262; n++ {
		for _, part := range []int{1, 7, 128, 255, 256, n} {
			b.Reset()
			for seq := range 3 {
				add(b, v, craft(nil, experimental, seq, n), part)
			}
			for seq := range 3 {
				want := craft(nil, experimental, seq, n)
				if got := b.Frame(seq, nil); !bytes.Equal(got, want) || b.Vnet(seq) != v {
					t.Fatalf("%d octets in parts of %d: frame %d is %x with %+v", n, part, seq, got, b.Vnet(seq))
				}
			}
		}
	}
}

// A tag that the batch adds is on the wire.
func TestSendTagged(t *testing.T) { bothPaths(t, sendTagged) }

func sendTagged(t *testing.T, w *wire) {
	plain, want := craft(nil, experimental, 1, 60), craft(tci(5, 100), experimental, 1, 64)
	b := port.NewBatch()
	b.Begin(&frame.VnetHeader{})
	b.Part(want[:12])
	b.Tag(uint16(*tci(5, 100)))
	b.Part(want[16:])
	b.End()
	add(b, frame.VnetHeader{}, plain, 60)
	w.sendBatch(b)
	got := w.hostGets(2)
	assert.True(t, bytes.Equal(got[0].Data, want) && bytes.Equal(got[1].Data, plain),
		"the host got %x and %x", got[0].Data, got[1].Data)
}

// Unfinished checksums and segmentation travel with the frame. GSO frames stay whole.
func TestSendGSOFrame(t *testing.T) { bothPaths(t, sendGSOFrame) }

func sendGSOFrame(t *testing.T, w *wire) {
	for _, row := range []struct {
		name string
		tag  *frame.TCI
		n    int
		gso  uint16
	}{{"checksum to do", nil, 1000, 0}, {"GSO frame", nil, 65_000, 1448}, {"tagged GSO frame", tci(3, 10), 65_000,
		1448}, {"tagged, checksum to do", tci(3, 0), 1400, 0}} {
		data, v := unfinished(row.tag, 1, row.n, row.gso)
		b := port.NewBatch()
		add(b, v, data, 256)
		w.sendBatch(b)
		got := w.hostGets(1)[0]
		assert.True(t, bytes.Equal(got.Data, data) && got.Vnet.GSOSize == row.gso &&
			got.Vnet.CsumStart == v.CsumStart && got.Vnet.NeedsCsum(), "%s: %d octets with %+v, want %d with %+v",
			row.name, len(got.Data), got.Vnet, len(data), v)
	}
}

// A frame that can never be sent is refused by its index, and the frames before it have left.
func TestSendRefused(t *testing.T) { bothPaths(t, sendRefused) }

func sendRefused(t *testing.T, w *wire) {
	for _, row := range []struct {
		name string
		v    frame.VnetHeader
		n    int
		want error
	}{
		{"longer than the interface takes", frame.VnetHeader{}, 9100, unix.EMSGSIZE},
		{"unknown segmentation", frame.VnetHeader{GSOType: 99, GSOSize: 100, HdrLen: 54}, 1000, unix.EINVAL},
	} {
		first, last := craft(nil, experimental, 1, 60), craft(nil, experimental, 3, 60)
		b := port.NewBatch()
		add(b, frame.VnetHeader{}, first, 60)
		add(b, row.v, craft(nil, experimental, 2, row.n), row.n)
		add(b, frame.VnetHeader{}, last, 60)
		n, err := w.port.Send(b)
		assert.True(t, n == 1 && errors.Is(err, row.want) && !errors.Is(err, port.ErrAgain) &&
			!errors.Is(err, port.ErrDown), "%s: %d, %v, want 1, %v", row.name, n, err, row.want)
		got := w.hostGets(1)
		assert.True(t, bytes.Equal(got[0].Data, first), "%s: the host got %x", row.name, got[0].Data)
	}
	err := w.port.SendControl(make([]byte, 10_000))
	assert.True(t, errors.Is(err, unix.EMSGSIZE), "a control frame of 10,000 octets: %v", err)
}

// The link drops a frame that the peer does not accept, and Send reports that.
func TestSendBeyondThePeersMTU(t *testing.T) { bothPaths(t, sendBeyondThePeersMTU) }

func sendBeyondThePeersMTU(t *testing.T, w *wire) {
	host := link(t, w.handle, "host")
	assert.Must(t, w.handle.LinkSetMTU(host, 1400))
	b := port.NewBatch()
	add(b, frame.VnetHeader{}, craft(nil, experimental, 1, 1514), 1514)
	n, err := w.port.Send(b)
	assert.True(t, n == 0 && errors.Is(err, port.ErrDropped), "Send: %d, %v, want 0, %v", n, err, port.ErrDropped)
}

// Send reports an interface that is down. When the interface is up again, its sockets work as before.
func TestSendWhileDown(t *testing.T) { bothPaths(t, sendWhileDown) }

func sendWhileDown(t *testing.T, w *wire) {
	f := craft(nil, experimental, 1, 60)
	b := port.NewBatch()
	add(b, frame.VnetHeader{}, f, 60)
	poller := newPoller(t)
	poller.Watch(w.port.Descriptors(nil, port.WorkOther|port.WorkLossless|port.WorkControl))
	assert.MustEqual(t, poller.Wait(0), port.Expired, "woken by, while all is well")

	setUp(t, w.handle, "sw", false)
	n, err := w.port.Send(b)
	assert.True(t, n == 0 && errors.Is(err, port.ErrDown), "Send: %d, %v, want 0, %v", n, err, port.ErrDown)
	err = w.port.SendControl(f)
	assert.True(t, errors.Is(err, port.ErrDown), "SendControl: %v, want %v", err, port.ErrDown)
	assert.Equal(t, poller.Wait(20*time.Second), port.Failed, "woken by, want the error of the sockets")
	w.port.ClearError()
	assert.Equal(t, poller.Wait(time.Millisecond), port.Expired, "woken by, after ClearError")

	setUp(t, w.handle, "sw", true)
	awaitUp(t, w.handle, "sw", true)
	awaitUp(t, w.handle, "host", true)
	w.sendBatch(b)
	w.hostGets(1)
	assert.True(t, w.port.Bound(), "the port is not bound any more")
	sent := w.plain(1, 100)
	wantData(t, w.collect(port.Other, 1), sent)
}

// Send reports an interface that is gone, and nothing leaks.
func TestInterfaceGone(t *testing.T) { bothPaths(t, interfaceGone) }

func interfaceGone(t *testing.T, w *wire) {
	assert.Must(t, w.handle.LinkDel(link(t, w.handle, "sw")))
	b := port.NewBatch()
	add(b, frame.VnetHeader{}, craft(nil, experimental, 1, 60), 60)
	n, err := w.port.Send(b)
	assert.True(t, n == 0 && errors.Is(err, port.ErrDown), "Send: %d, %v, want 0, %v", n, err, port.ErrDown)
	err = w.port.SendControl(craft(nil, experimental, 1, 60))
	assert.True(t, errors.Is(err, port.ErrDown), "SendControl: %v, want %v", err, port.ErrDown)
	assert.True(t, !w.port.Bound(), "the port is bound to an interface that is gone")
	w.port.ClearError()
	assert.NoError(t, w.port.Close(), "Close")
}

// descriptors counts the open ones of the process.
func descriptors(t *testing.T) int {
	t.Helper()
	all := assert.Got(os.ReadDir("/proc/self/fd")).Must(t)
	return len(all)
}

// Opening and closing, and failing to open, leave no descriptor behind.
func TestOpenLeaksNothing(t *testing.T) {
	w := newWire(t)
	before := descriptors(t)
	for range 3 {
		p := assert.Got(port.Open(w.config())).Must(t)
		err := p.Close()
		assert.True(t, err == nil, "%v", err)
		for name, bad := range map[string]func(*port.Config){
			"no interface": func(c *port.Config) { c.Interface = "nosuch" },
			"no namespace": func(c *port.Config) { c.Netns = "/proc/self/nosuch" },
			"no memory":    func(c *port.Config) { c.OtherSlots = 1 << 30 },
			"no steering":  func(c *port.Config) { c.Fanout = nil },
		} {
			c := w.config()
			bad(&c)
			if p, err := port.Open(c); err == nil {
				_ = p.Close()
				t.Errorf("%s: opened", name)
			}
		}
	}
	assert.Equal(t, descriptors(t), before, "descriptors after it, want those before")
}

// Opening, which takes a thread for each ring, leaves none behind, and rings of few slots take little memory: two rings
// of a class, each of 32 KiB.
func TestOpenTakesLittle(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.LosslessSlots, c.OtherSlots = 1, 1
	before := threads(t)
	var open [8]*port.AFPacket
	var all sync.WaitGroup
	for i := range open {
		all.Go(func() { open[i] = openPort(t, c) })
	}
	all.Wait()
	eventually(t, "the threads of 8 ports are gone", func() bool { return threads(t) <= before+len(open) })
	for class := range port.NumClasses {
		octets := open[0].Octets(class)
		assert.True(t, octets == 2<<15, "class %d: rings of %d octets", class, octets)
	}
}

func threads(t *testing.T) int {
	all := assert.Got(os.ReadDir("/proc/self/task")).Must(t)
	return len(all)
}

// The stamp of a frame lies between the call of SendStamped and its return. The frame arrives like any other.
func TestSendStamped(t *testing.T) {
	w := newWire(t)
	for seq := range 20 {
		// has no stamp to be mistaken for the next one's
		assert.Must(t, w.port.SendControl(control(100+seq, 60)))
		from := now()
		stamp, err := w.port.SendStamped(control(seq, 60))
		assert.MustBeTrue(t, err == nil && stamp >= from && stamp <= now(),
			"frame %d: stamp %d, %v; want one from %d on", seq, stamp, err, from)
	}
	assert.Equal(t, testing.AllocsPerRun(100, func() { _, _ = w.port.SendStamped(stampedFrame) }), 0, "allocations")
}

var stampedFrame = craft(nil, frame.TypeMACControl, 1, 60)
