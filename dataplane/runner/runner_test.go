package runner

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// unshapedPorts are n ports without a speed.
func unshapedPorts(n int) (all []dataplane.PortConfig) {
	for i := range n {
		all = append(all, unshaped(i))
	}
	return all
}

// mix gives every station frames of two priorities for every other, numbered by receiver and priority.
func (l *testbed) mix(n int) {
	for _, s := range l.stations {
		var todo [][]byte
		for seq := range n {
			for to := range l.stations {
				if to != s.id {
					octets := []int{60, 200, small, mtu}[rand.IntN(4)]
					todo = append(todo, data(s.id, to, lossless, seq, octets), data(s.id, to, 0, seq, octets))
				}
			}
		}
		s.mu.Lock()
		s.todo = append(s.todo, todo...)
		s.mu.Unlock()
	}
}

// wantAll fails unless every station has all lossless frames in order, and the others in order.
func (l *testbed) wantAll(n int) {
	l.t.Helper()
	want := make([]int, n)
	for i := range want {
		want[i] = i
	}
	for _, s := range l.stations {
		for _, from := range l.stations {
			if from == s {
				continue
			}
			eventually(l.t, "lossless frames arrive", func() bool { return len(s.received(from.id, lossless)) >= n })
			got := s.received(from.id, lossless)
			assert.True(l.t, slices.Equal(got, want), "%d → %d: %d lossless frames, in order: %v; want %d", from.id,
				s.id, len(got), slices.IsSorted(got), n)
			assert.True(l.t, slices.IsSorted(s.received(from.id, 0)), "%d → %d: lossy frames out of order", from.id,
				s.id)
		}
	}
}

// Whatever goroutine serves a port: order is kept by sender and priority, no lossless frame is lost, and nobody waits
// for ever, though stations hold the switch at random and send in fits and starts.
func TestRunnerForwards(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		for _, shaped := range []bool{false, true} {
			ports := unshapedPorts(5)
			if shaped {
				ports[1], ports[3] = testPort(1), testPort(3)
			}
			l := newTestbed(t, e, roomy(5), ports...)
			const n = 150
			l.mix(n)
			for _, s := range l.stations {
				s.holdsAtRandom = true
			}
			l.live(func() bool { return true })
			l.wantAll(n)
			l.empties()
		}
	})
}

// The kernel that is full at random gets the same frame again: nothing is lost or overtaken.
func TestRunnerTriesAgain(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(3), unshapedPorts(3)...)
		for _, s := range l.stations {
			s.near.Load().Refuse(func() error {
				if rand.IntN(8) == 0 {
					return port.ErrAgain
				}
				return nil
			})
		}
		const n = 200
		l.mix(n)
		l.live(func() bool { return true })
		l.wantAll(n)
		l.empties()
	})
}

// A request and its answer cross two workers again and again while no deadline is pending: a single wake-up that got
// lost would end the game.
func TestNoWakeupIsLost(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
		a, b := l.stations[0], l.stations[1]
		for i := range 2 { // a hold where a worker got no CPU would set a deadline, and wake the worker up
			l.r.refresher.ports[i].guard.Store(nil)
		}
		rounds := 3_000
		// only there are the two ports served by workers of their own and both ways by one
		if e.name == "three workers" {
			rounds = 20_000
		}
		ping, pong := data(0, 1, lossless, 1, 60), data(1, 0, lossless, 2, 60)
		for round := range rounds {
			a.send(ping)
			b.await()
			b.send(pong)
			a.await()
			if round%1000 == 0 {
				l.wantNoDeadline()
			}
			if rand.IntN(50) == 0 {
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond) // long enough to stop spinning
			}
		}
		l.empties()
	})
}

// wantNoDeadline fails where a sleeping worker would wake up by itself.
func (l *testbed) wantNoDeadline() {
	l.t.Helper()
	l.must(l.r.Do(func(sw *dataplane.Switch) error {
		for i, task := range l.r.tasks {
			if task != nil && (task.deadline != noDeadline && task.deadline > Now() ||
				sw.LoopProbeDeadline(i) != noDeadline) {
				l.t.Errorf("port %d has a deadline in %d ns: the test proves nothing", i, task.deadline-Now())
			}
		}
		return nil
	}))
}

// A held priority stops, others run; XON, or the end of the pause, lets it go on.
func TestRunnerObeysPFC(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshaped(0), slow(1))
		a, b := l.stations[0], l.stations[1]
		const n = 20
		for _, resume := range []bool{true, false} {
			clear(b.got)
			b.stop()
			from := time.Now()
			a.send(append(several(0, 1, lossless, n, 60), several(0, 1, 0, n, 60)...)...)
			eventually(t, "the other priority runs", func() bool { return len(b.received(0, 0)) == n })
			if got := len(b.received(0, lossless)); got != 0 &&
				time.Since(from) < time.Duration(macctl.QuantaDuration(0xffff, slow(1).Speed))/2 {
				t.Errorf("%d frames of the held priority came", got)
			}
			if resume {
				b.hold(0)
			}
			eventually(t, "the held priority resumes", func() bool { return len(b.received(0, lossless)) == n })
			pause := time.Duration(macctl.QuantaDuration(0xffff, slow(1).Speed))
			took := time.Since(from)
			assert.True(t, resume || took >= pause/2, "resumed after %v of %v", took, pause)
		}
		assert.Equal(t, l.empties().Ports[1].Reaction.Count, 0, "reactions of a port that had nothing to send")
	})
}

// A port whose buffer fills up holds its station, and frees it.
func TestRunnerSendsPFC(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, testConfig(2), unshaped(0), slow(1))
		a, b := l.stations[0], l.stations[1]
		b.stop()
		seq := 0
		eventually(t, "a threshold is crossed", func() (is bool) {
			if a.paused() == 0 { // the Refresher, or a ring that fills up, may hold the peer before
				a.send(data(0, 1, lossless, seq, small))
				seq++
			}
			b.hold(0xffff)
			l.r.View(func(*dataplane.Switch) { is = l.r.xoff.Count > 0 })
			if !is && l.snapshot().Buffer.Ports[0].Ingress[lossless].Off { // the peer was held already: once more
				b.hold(0)
				eventually(t, "the sender is freed", func() bool { return a.paused() == 0 })
			}
			return is
		})
		b.hold(0)
		eventually(t, "the sender is freed", func() bool { return a.paused() == 0 })
		v := l.empties()
		assert.True(t, v.Xoff.Count != 0 && v.Ports[0].ControlSent.XoffSent[lossless] != 0 &&
			v.Ports[0].RingSlots.Full == 8192, "XOFF measured %d, counted %d times; %d slots", v.Xoff.Count,
			v.Ports[0].ControlSent.XoffSent[lossless], v.Ports[0].RingSlots.Full)
	})
}

// Lossless frames without room wait in the ring until there is some, and the worker does not spin or sleep for ever.
func TestRunnerHoldsTheRing(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		ports := unshapedPorts(2)
		ports[0].Ingress[lossless].Headroom = cell
		ports[1] = slowest(1)
		l := newTestbed(t, e, testConfig(2), ports...)
		a, b := l.stations[0], l.stations[1]
		b.stop()
		const n = 500
		a.send(several(0, 1, lossless, n, small)...) // far beyond buffer and headroom: deaf to XOFF
		a.send(data(0, 1, 0, 7, 60))
		eventually(t, "the lossy ring goes on", func() bool { return len(b.received(0, 0)) == 1 })
		eventually(t, "a frame waits in the ring", func() bool {
			var hold bool
			l.r.View(func(sw *dataplane.Switch) { hold = inRing(sw, 0) })
			return hold
		})
		b.hold(0)
		eventually(t, "all arrive", func() bool { return len(b.received(0, lossless)) == n })
		got := b.received(0, lossless)
		assert.True(t, slices.IsSorted(got), "out of order")
		if v := l.empties(); v.Ports[0].Counters.RingHoldNs == 0 || v.Ports[0].Counters.RingFramesMax == 0 {
			t.Errorf("held %d ns, at most %d frames in the ring", v.Ports[0].Counters.RingHoldNs,
				v.Ports[0].Counters.RingFramesMax)
		}
	})
}

// Loop probes leave by themselves, and one that comes back shuts the port.
func TestRunnerSendsProbes(t *testing.T) {
	ports := unshapedPorts(2)
	ports[0].Bridge.Loop = true
	l := newTestbed(t, executors[0], roomy(2), ports...)
	far := l.stations[0].far.Load()
	var frames [1]port.Frame
	eventually(t, "a probe comes", func() bool { return far.Receive(port.Other, frames[:], 1<<20) == 1 })
	h, _ := frame.Parse(frames[0].Data)
	own := testPort(0).MAC
	assert.True(t, h.EtherType == 0x88B6 && h.Src == frame.Address(own[:]), "the first frame is %x", frames[0].Data)
	l.stations[0].send(frames[0].Data)
	eventually(t, "the loop is seen", func() bool { return l.balanced().Ports[0].Loop == bridge.LoopShut })
}

// An overflowing port has no room for any frame of a class, in a queue by which all come, or in one of long frames.
type overflowing struct {
	*porttest.End
	queue bool
}

func (p overflowing) Receive(c port.Class, dst []port.Frame, most int) int {
	n := p.End.Receive(c, dst, most)
	for i := range n {
		dst[i] = port.Frame{Truncated: true, Overflow: p.queue}
	}
	return n
}

// The event of a queue that was full says that a ring has overflowed where all frames come by it, and else that there
// was no memory for a long frame.
func TestWhatAFullQueueMeans(t *testing.T) {
	for queue, want := range map[bool]string{true: "the lossless receive ring overflowed: this switch did not read it",
		false: "it had no memory for a long frame"} {
		l := newTestbed(t, executors[0], roomy(1))
		l.must(l.r.Configure(roomy(1), asMap(unshapedPorts(1)...), nil))
		l.stations, l.ports[0] = append(l.stations, &station{l: l}), unshaped(0)
		l.attach(0, func(p *porttest.End) port.Port { return overflowing{p, queue} })
		l.stations[0].send(several(0, 1, lossless, 3, small)...)
		lost := func() uint64 { return l.snapshotOf(0).Counters.LosslessDrops[dataplane.Unknown] }
		eventually(t, "the frames are lost", func() bool { return lost() == 3 })
		var said []string
		for _, e := range l.r.sw.Events(nil, 0) {
			if e.Kind == dataplane.EventLosslessDrop {
				said = append(said, e.Text)
			}
		}
		assert.True(t, len(said) > 0 && !slices.ContainsFunc(said, func(text string) bool {
			return !strings.Contains(text, want)
		}), "events %q, want %q", said, want)
	}
}

// A busyPort keeps a worker for a while at each look for frames, as one with a load does. It counts these looks.
type busyPort struct {
	*porttest.End
	busy  *atomic.Bool
	looks *atomic.Int64
}

func (p busyPort) Receive(c port.Class, dst []port.Frame, most int) int {
	if p.busy.Load() {
		p.looks.Add(1)
		time.Sleep(time.Millisecond)
	}
	return p.End.Receive(c, dst, most)
}

// A loaded switch ends with the round that its workers are in, and not one round later for each port.
func TestCloseWaitsForOneRound(t *testing.T) {
	const n = 16
	var busy atomic.Bool
	var looks atomic.Int64
	t.Cleanup(func() { // after Close
		if got := looks.Load(); got > 2*n*int64(port.NumClasses) {
			t.Errorf("the worker has looked at %d rings, want at most two rounds of %d", got, n*port.NumClasses)
		}
	})
	l := newTestbed(t, executors[0], roomy(n))
	l.must(l.r.Configure(roomy(n), asMap(unshapedPorts(n)...), nil))
	for i := range n {
		l.stations = append(l.stations, &station{l: l, id: i})
		l.ports[i] = unshaped(i)
		l.attach(i, func(p *porttest.End) port.Port { return busyPort{p, &busy, &looks} })
	}
	busy.Store(true)
}
