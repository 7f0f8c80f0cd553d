package runner

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/sched"
)

// A gate is an end whose sends go through a hook.
type gate struct {
	*porttest.End
	send func(b *port.Batch) (int, error)
}

func (g *gate) Send(b *port.Batch) (int, error) { return g.send(b) }

// withGate replaces the link of port i by one whose sends go through the hook.
func (l *testbed) withGate(i int, send func(near *porttest.End, b *port.Batch) (int, error)) {
	l.t.Helper()
	l.must(l.r.Detach(i))
	l.attach(i, func(near *porttest.End) port.Port {
		return &gate{near, func(b *port.Batch) (int, error) { return send(near, b) }}
	})
}

// pass sends one frame.
func pass(near *porttest.End, f []byte) {
	one := port.NewBatch()
	one.Begin(&frame.VnetHeader{})
	one.Part(f)
	one.End()
	_, _ = near.Send(one)
}

// slowest is a port on which a pause may last 3.4 s and a send call takes one frame. Its shaper never stops a frame.
func slowest(i int) dataplane.PortConfig {
	c := testPort(i)
	c.Speed, c.Burst = 10_000_000, 1<<24
	return c
}

// slow is a port on which a pause may last 0.3 s and a send call takes 625 octets on the wire.
func slow(i int) dataplane.PortConfig {
	c := slowest(i)
	c.Speed = 100_000_000
	return c
}

// XOFF that arrives while a send call is under way, or stands still, lets that call end and no more follow.
func TestStalledSendCall(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshaped(0), slowest(1))
		entered, leave := make(chan int), make(chan struct{})
		var stalled atomic.Bool
		l.withGate(1, func(near *porttest.End, b *port.Batch) (int, error) {
			if stalled.Load() {
				entered <- b.Len()
				<-leave
			}
			return near.Send(b)
		})
		stalled.Store(true)
		a, b := l.stations[0], l.stations[1]
		const n, octets = 100, 60
		a.send(several(0, 1, lossless, n, octets)...)
		first := <-entered
		assert.Equal(t, first, 1, "frames of a call")
		b.hold(0xffff)
		time.Sleep(time.Millisecond)
		stalled.Store(false)
		leave <- struct{}{}
		eventually(t, "PFC is read", func() bool { return l.balanced().Ports[1].Paused == 1<<lossless })
		time.Sleep(2 * time.Millisecond)
		assert.Equal(t, len(b.received(0, lossless)), first,
			"frames that came after XOFF, want those of the one call that was under way")
		b.hold(0)
		eventually(t, "the rest arrives", func() bool { return len(b.received(0, lossless)) == n })
		v := l.empties()
		assert.True(t, v.Ports[1].Reaction.Count != 0, "no reaction was measured")
	})
}

// Workers that stood still read XOFF before they send again, however much waits and may be sent.
func TestStalledWorker(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshaped(0), slowest(1))
		a, b := l.stations[0], l.stations[1]
		const n = 300
		b.stop()
		a.send(several(0, 1, lossless, n/2, 60)...)
		eventually(t, "frames wait", func() bool { return l.balanced().Ports[1].Held[lossless] == n/2 })
		l.must(l.r.Do(func(sw *dataplane.Switch) error {
			a.send(several(0, 1, lossless, n, 60)[n/2:]...)
			free(sw, 1)                       // work for the transmit task
			time.Sleep(20 * time.Millisecond) // for as long as this takes
			b.hold(0xffff)                    // but for what came meanwhile
			return nil
		}))
		time.Sleep(5 * time.Millisecond)
		assert.Equal(t, len(b.received(0, lossless)), 0, "frames came after XOFF, want none")
		b.hold(0)
		eventually(t, "all arrive", func() bool { return len(b.received(0, lossless)) == n })
		l.empties()
	})
}

// The frame that the kernel refuses for ever is dropped, not the one that is first by then.
func TestRefusedFrameIsTheOneDropped(t *testing.T) {
	ports := []dataplane.PortConfig{unshaped(0), slowest(1)}
	ports[1].Egress[lossless] = sched.Queue{Strict: true}
	l := newTestbed(t, executors[0], roomy(2), ports...)
	var refused atomic.Int64
	l.withGate(1, func(near *porttest.End, b *port.Batch) (int, error) {
		if h, _ := frame.Parse(b.Frame(0, nil)); h.TCI.PCP() == 0 {
			refused.Add(1)
			l.r.View(func(sw *dataplane.Switch) { free(sw, 1) }) // the pause of the other priority ends meanwhile
			return 0, unix.EMSGSIZE
		}
		return near.Send(b)
	})
	a, b := l.stations[0], l.stations[1]
	b.stop()
	a.send(data(0, 1, lossless, 1, 60))
	eventually(t, "a frame waits", func() bool { return l.balanced().Ports[1].Held[lossless] == 1 })
	a.send(data(0, 1, 0, 2, 60))
	eventually(t, "the lossless frame arrives", func() bool { return len(b.received(0, lossless)) == 1 })
	eventually(t, "the other is refused", func() bool { return refused.Load() == 1 })
	v := l.empties()
	assert.Equal(t, v.Ports[0].Counters.Drops[0][dataplane.DropOversize], 1, "frames of priority 0 dropped as oversize")
}

// A frame that the link drops each time, as one does that is longer than the far end's MTU, is sent again for a
// second and then given up, and those like it at once: the others do not wait behind them for ever, also where a
// strict queue has something to send all the time.
func TestFramesThatTheLinkDrops(t *testing.T) {
	for _, delay := range []int64{0, 100_000} {
		ports := unshapedPorts(2)
		ports[1].Delay = delay
		ports[1].Egress[6] = sched.Queue{Strict: true}
		l := newTestbed(t, executors[0], roomy(2), ports...)
		l.withGate(1, func(near *porttest.End, b *port.Batch) (int, error) {
			for i := range b.Len() {
				f := b.Frame(i, nil)
				if len(f) > 1000 {
					return i, port.ErrDropped
				}
				pass(near, f)
			}
			return b.Len(), nil
		})
		a, b := l.stations[0], l.stations[1]
		from := time.Now()
		for seq := range 20 {
			a.send(data(0, 1, lossless, seq, mtu), data(0, 1, lossless, seq, 60))
		}
		eventually(t, "the short frames arrive", func() bool {
			a.send(data(0, 1, 6, 0, 60))
			return len(b.received(0, lossless)) == 20
		})
		took := time.Since(from)
		assert.True(t, took >= stuckLimit, "delay %d: given up after %v", delay, took)
		l.losesFrames = true // lossless frames are lost, and that is counted
		eventually(t, "the long ones are given up", func() bool {
			return l.snapshotOf(0).Counters.LosslessDrops[lossless] == 20
		})
		events := 0
		l.r.View(func(sw *dataplane.Switch) {
			for _, e := range sw.Events(nil, 0) {
				if e.Kind == dataplane.EventLinkDrops && e.Port == "p1" {
					events++
				}
			}
		})
		assert.Equal(t, events, 1, "delay %d: events say that the link drops frames", delay)
	}
}

// Frames that no send call can carry are dropped by the kernel's word for it, and order is kept around them.
func TestRefusalReasons(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
		l.withGate(1, func(near *porttest.End, b *port.Batch) (int, error) {
			for i := range b.Len() {
				f := b.Frame(i, nil)
				switch sequence(f) % 10 {
				case 3:
					return i, unix.EMSGSIZE
				case 7:
					return i, unix.EINVAL
				}
				pass(near, f)
			}
			return b.Len(), nil
		})
		a, b := l.stations[0], l.stations[1]
		const n = 200
		a.send(several(0, 1, 0, n, 60)...)
		eventually(t, "the others arrive", func() bool { return len(b.received(0, 0)) == n*8/10 })
		got := b.received(0, 0)
		assert.True(t, slices.IsSorted(got), "out of order")
		c := l.empties().Ports[0].Counters
		assert.True(t, c.Drops[0][dataplane.DropOversize] == n/10 && c.Drops[0][dataplane.DropSend] == n/10,
			"oversize %d, send %d, want %d each", c.Drops[0][dataplane.DropOversize], c.Drops[0][dataplane.DropSend],
			n/10)
	})
}
