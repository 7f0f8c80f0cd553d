package porttest

import (
	"cmp"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// wire is a pair under the test's own clock.
func wire(t *testing.T, o Options) (a, b *End, now *int64) {
	t.Helper()
	now = new(int64)
	o.Now = func() int64 { return *now }
	o.Slots = cmp.Or(o.Slots, 100)
	a, b, err := Pair(o)
	assert.Must(t, err)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b, now
}

func batch(frames ...string) *port.Batch {
	b := port.NewBatch()
	for _, f := range frames {
		b.Begin(&frame.VnetHeader{GSOSize: uint16(len(f))})
		b.Part([]byte(f[:1]))
		b.Part([]byte(f[1:]))
		b.End()
	}
	return b
}

// receive receives and releases what has arrived.
func receive(e *End, c port.Class, maxBytes int) (all []string, stamps []int64) {
	var frames [8]port.Frame
	n := e.Receive(c, frames[:], maxBytes)
	for _, f := range frames[:n] {
		if int(f.Vnet.GSOSize) != len(f.Data) {
			return []string{"wrong header"}, nil
		}
		all, stamps = append(all, string(f.Data)), append(stamps, f.Stamp)
	}
	e.Release(c, n)
	return all, stamps
}

// readable tells which kinds of work the descriptors of an end announce.
func readable(t *testing.T, e *End) (what port.Work) {
	t.Helper()
	for _, kind := range []port.Work{port.WorkOther, port.WorkLossless, port.WorkControl} {
		fds := e.Descriptors(nil, kind)
		assert.MustEqual(t, len(fds), 1, "descriptors for one kind of work")
		poll := []unix.PollFd{{Fd: fds[0], Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 0); err != nil {
			t.Fatal(err)
		} else if n == 1 {
			what |= kind
		}
	}
	return what
}

func TestFramesArriveInOrder(t *testing.T) {
	a, b, now := wire(t, Options{Classify: func(b []byte) port.Class { return port.Class(b[0] - '0') }})
	*now = 7
	n, err := a.Send(batch("0 first frame", "1 lossless", "0 second"))
	assert.MustBeTrue(t, n == 3 && err == nil, "Send: %d, %v", n, err)
	if got := readable(t, b); got != port.WorkOther|port.WorkLossless {
		t.Errorf("readable: %03b", got)
	}
	if b.Backlog(port.Other).Frames != 2 || !b.BacklogExceeds(port.Other, 1) || b.BacklogExceeds(port.Other, 2) ||
		b.Slots(port.Other).Full != 100 {
		t.Errorf("backlog %d", b.Backlog(port.Other).Frames)
	}
	got, stamps := receive(b, port.Other, 1<<20)
	assert.True(t, len(got) == 2 && got[0] == "0 first frame" && got[1] == "0 second" && stamps[0] == 7,
		"other ring: %q at %v", got, stamps)
	assert.True(t, readable(t, b) == port.WorkLossless, "readable: %03b after the other ring was emptied",
		readable(t, b))
	got, _ = receive(b, port.Lossless, 1<<20)
	assert.True(t, len(got) == 1 && got[0] == "1 lossless", "lossless ring: %q", got)
	got, _ = receive(a, port.Other, 1<<20)
	assert.True(t, len(got) == 0, "the sender received %q", got)
}

func TestReceiveAgain(t *testing.T) {
	a, b, _ := wire(t, Options{})
	_, _ = a.Send(batch("one", "two", "three", "four"))
	var frames [8]port.Frame
	assert.Equal(t, b.Receive(port.Other, frames[:], 5), 2, "frames for 5 octets, want the two that reach them")
	n := b.Receive(port.Other, frames[:1], 1<<20)
	assert.True(t, n == 1 && string(frames[0].Data) == "three", "the next: %d, %q", n, frames[0].Data)
	b.Release(port.Other, 1)
	b.Rewind(port.Other)
	got, _ := receive(b, port.Other, 1<<20)
	assert.True(t, len(got) == 3 && got[0] == "two", "after Rewind: %q, want all but the released one", got)
}

func TestSpeedAndDelay(t *testing.T) {
	a, b, now := wire(t, Options{Speed: 1_000_000_000, Delay: 1000})
	_, _ = a.Send(batch(string(make([]byte, 101)), string(make([]byte, 101)))) // 125 octets on the wire: 1 µs each
	*now = 1999
	assert.Equal(t, b.Backlog(port.Other).Frames, 0, "a frame came early")
	*now = 2000
	assert.Equal(t, b.Backlog(port.Other).Frames, 1, "backlog at the end of the first frame")
	*now = 3000
	_, stamps := receive(b, port.Other, 1<<20)
	assert.True(t, len(stamps) == 2 && stamps[1] == 3000, "stamps %v", stamps)
}

func TestOverflow(t *testing.T) {
	a, b, _ := wire(t, Options{Slots: 2})
	n, err := a.Send(batch("one", "two", "three"))
	assert.True(t, n == 3 && err == nil, "Send: %d, %v: who sends does not see a full ring", n, err)
	assert.True(t, b.Losses(port.Other) == 1 && b.Losses(port.Lossless) == 0, "lost %d and %d, want 1 and 0",
		b.Losses(port.Other), b.Losses(port.Lossless))
}

func TestControlOfAPair(t *testing.T) {
	a, b, now := wire(t, Options{Delay: 10})
	pfc := make([]byte, 60)
	pfc[12], pfc[13] = 0x88, 0x08
	assert.Must(t, a.SendControl(pfc))
	pfc[20] = 9 // the sender may use its memory again
	if got, _ := b.Control(); got != nil {
		t.Error("a control frame came early")
	}
	*now = 10
	got, stamp := b.Control()
	assert.True(t, len(got) == 60 && got[20] == 0 && stamp == 10 && readable(t, b) == port.WorkControl,
		"control %x at %d", got, stamp)
	b.ControlDone()
	got, _ = b.Control()
	assert.True(t, got == nil && readable(t, b) == 0, "the control frame is still there")
}

func TestRefuse(t *testing.T) {
	a, b, _ := wire(t, Options{})
	left := 1
	a.Refuse(func() error {
		if left--; left < 0 {
			return port.ErrAgain
		}
		return nil
	})
	n, err := a.Send(batch("one", "two", "three"))
	assert.True(t, n == 1 && errors.Is(err, port.ErrAgain), "Send: %d, %v, want one and ErrAgain", n, err)
	err = a.SendControl([]byte("control"))
	assert.True(t, errors.Is(err, port.ErrAgain), "SendControl: %v", err)
	a.Refuse(nil)
	n, err = a.Send(batch("two"))
	assert.True(t, n == 1 && err == nil, "Send: %d, %v", n, err)
	got, _ := receive(b, port.Other, 1<<20)
	assert.True(t, len(got) == 2, "received %q", got)
}

// Sending to a closed end touches no descriptor, since another file may have its number by now.
func TestSendToAClosedEnd(t *testing.T) {
	a, b, _ := wire(t, Options{})
	fd := b.Descriptors(nil, port.WorkOther)[0]
	assert.Must(t, b.Close())
	other := assert.Got(unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)).Must(t)
	defer func() { _ = unix.Close(other) }()
	n, err := a.Send(batch("one"))
	assert.True(t, n == 1 && err == nil, "Send: %d, %v", n, err)
	n, _ = unix.Poll([]unix.PollFd{{Fd: int32(other), Events: unix.POLLIN}}, 0)
	assert.True(t, int32(other) > fd+2 || n == 0, "a closed end wrote to a descriptor that is not its own")
}

// A verdict is a test that only records how it ends.
type verdict struct {
	testing.TB
	skipped, failed bool
}

func (v *verdict) Helper()               {}
func (v *verdict) Skipf(string, ...any)  { v.skipped = true }
func (v *verdict) Fatalf(string, ...any) { v.failed = true }

// Only an old kernel excuses a skip where namespaces are required.
func TestRequireXDP(t *testing.T) {
	const old = "setsockopt XDP_MAX_TX_SKB_BUDGET: protocol not available (needs " + port.XDPNeeds + ")"
	for _, tt := range []struct {
		require         string
		path            port.TxPath
		skipped, failed bool
	}{
		{"1", port.TxPath{XDP: true}, false, false},
		{"1", port.TxPath{Why: old}, true, false},
		{"1", port.TxPath{Why: "the configuration says so"}, false, true},
		{"", port.TxPath{XDP: true}, false, false},
		{"", port.TxPath{Why: old}, true, false},
		{"", port.TxPath{Why: "the configuration says so"}, true, false},
	} {
		t.Setenv("REQUIRE_NETNS", tt.require)
		v := &verdict{}
		if RequireXDP(v, tt.path); v.skipped != tt.skipped || v.failed != tt.failed {
			t.Errorf("%+v: skipped %v, failed %v", tt, v.skipped, v.failed)
		}
	}
}
