package dataplane

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// other is a second lossless priority.
const other = 5

// twoPriorities is a rig whose port 0 has two lossless priorities and a waiting room of so many cells. Of lossless a
// queue takes few frames. Port 1 receives lossless, port 2 other.
func twoPriorities(tb reporter, mode macctl.Mode, room int) *rig {
	tb.Helper()
	cfg := testConfig(6)
	cfg.Lossless |= 1 << other
	ports := testPorts(3)
	for i := range ports {
		ports[i].Mode, ports[i].Lossless = mode, cfg.Lossless
		if mode == macctl.ModePause {
			ports[i].Lossless = math.MaxUint8
		}
		ports[i].Ingress[lossless] = buffer.QueueConfig{Headroom: cell, Alpha: 1. / 32}
		ports[i].Ingress[0] = ports[i].Ingress[lossless] // that of PAUSE
	}
	r := newRig(tb, cfg, ports...)
	assert.MustNoError(tb, r.sw.SetRoom(0, room*cell), "SetRoom")
	return r
}

// ordinals are those of frames of a priority, in their order.
func ordinals(frames [][]byte, prio uint8) (all []int) {
	for _, b := range frames {
		if b[14]>>5 == prio {
			all = append(all, sequence(b))
		}
	}
	return all
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// While a priority is paused for good, the other one of the port passes, until the waiting room is full: then the ring
// stops. Under PAUSE both are one queue. Nothing is lost.
func TestWaitingPriority(t *testing.T) {
	for _, tt := range []struct {
		name        string
		mode        macctl.Mode
		room        int
		passes, all bool
	}{
		{"there is room", macctl.ModePFC, 40, true, true},
		{"the room is full", macctl.ModePFC, 20, false, false},
		{"PAUSE", macctl.ModePause, 1000, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := twoPriorities(t, tt.mode, tt.room)
			r.hear(1, lossless, math.MaxUint16)
			r.pause(1, math.MaxUint16)
			const n = 45
			var ring [][]byte
			for seq := range n {
				ring = append(ring, data(0, 1, lossless, seq, small), data(0, 2, other, seq, small))
			}
			taken, stop := r.arrive(0, ring...)
			r.settle()
			r.balanced()
			held := r.snapshot().Ports[0].Waiting
			passed := r.drain(2, r.now+1_000_000)
			got := ordinals(passed, other)
			assert.True(t, tt.passes == slices.Equal(got, upTo(n)) && tt.all == (taken == len(ring)) &&
				tt.all != (stop == FrameWaits) && held != 0,
				"%d of %d taken, stop %d, %d wait, of the other priority pass %v", taken, len(ring), stop, held, got)
			r.hear(1, lossless, 0)
			r.pause(1, 0)
			sent := map[uint8][]int{other: ordinals(passed, other)}
			for range n {
				for i, prio := range []uint8{1: lossless, 2: other} {
					sent[prio] = append(sent[prio], ordinals(r.drain(i, r.now+1_000_000), prio)...)
				}
				r.leaveRoom(0)
				again, _ := r.arrive(0, ring[taken:]...)
				r.settle()
				taken += again
				r.balanced()
			}
			for _, prio := range []uint8{lossless, other} {
				assert.Same(t, sent[prio], upTo(n), "of priority %d leave", prio)
			}
			r.empty()
		})
	}
}

// The frames of each priority leave in the order in which they came, each once, whatever waits, and also where a
// configuration changes what an ingress queue is. The room never holds more than its limit, and a frame of each queue.
func TestWaitingRoomKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.SampledFrom([]int{0, 5, 100}).Draw(t, "room")
		r := twoPriorities(t, macctl.ModePFC, room)
		ports := [2][]PortConfig{{r.sw.ports[0].cfg, r.sw.ports[1].cfg, r.sw.ports[2].cfg}}
		for _, c := range ports[0] {
			c.Mode, c.Lossless = macctl.ModePause, math.MaxUint8
			ports[1] = append(ports[1], c)
		}
		var ring [][]byte
		came, left := map[uint8]int{}, map[uint8][]int{}
		take := func() {
			taken, _ := r.arrive(0, ring...)
			r.settle()
			ring = ring[taken:]
		}
		send := func(most int) {
			for i := range 2 {
				for _, b := range r.send(i+1, most) {
					prio := b[14] >> 5
					left[prio] = append(left[prio], sequence(b))
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(t, "frames") {
					prio := rapid.SampledFrom([]uint8{lossless, lossless, other}).Draw(t, "priority")
					to := map[uint8]int{lossless: 1, other: 2}[prio]
					octets := rapid.SampledFrom([]int{60, small, mtu}).Draw(t, "octets")
					ring = append(ring, data(0, to, prio, came[prio], octets))
					came[prio]++
				}
				take()
			},
			"leave": func(t *rapid.T) {
				r.sw.LeaveRoom(0, rapid.IntRange(1, 10).Draw(t, "most"), r.now)
				take()
			},
			"send":  func(t *rapid.T) { send(rapid.IntRange(0, 20).Draw(t, "taken")) },
			"pause": func(t *rapid.T) { r.hear(1, lossless, rapid.SampledFrom([]uint16{0, 1000}).Draw(t, "quanta")) },
			"time":  func(t *rapid.T) { r.now += rapid.Int64Range(1, 1_000_000).Draw(t, "ns") },
			"mode": func(t *rapid.T) {
				next := asMap(ports[rapid.IntRange(0, 1).Draw(t, "PAUSE")]...)
				_ = r.sw.Reconfigure(r.sw.cfg, next, r.sw.statics, r.now)
			},
			"": func(t *rapid.T) {
				r.balanced()
				if p := &r.sw.ports[0].room; p.cells > room+2*r.sw.memory.cells(mtu) {
					t.Fatalf("%d cells in a room of %d", p.cells, room)
				}
			},
		})
		for range 10_000 {
			r.now += 1_000_000
			r.leaveRoom(0)
			take()
			send(math.MaxInt)
		}
		for prio, n := range came {
			assert.MustBeSame(t, left[prio], upTo(n), "of %d frames of priority %d leave", n, prio)
		}
		r.empty()
	})
}

// Two priorities that wait leave in turn.
func TestWaitingPrioritiesTakeTurns(t *testing.T) {
	r := twoPriorities(t, macctl.ModePFC, 1000)
	c := r.sw.ports[0].cfg
	c.Ingress[other] = c.Ingress[lossless]
	r.reconfigure(r.sw.cfg, c, r.sw.ports[1].cfg, r.sw.ports[2].cfg)
	for i := range 3 {
		r.station(host(i), 1, i)
	}
	r.hear(1, lossless, math.MaxUint16)
	r.hear(2, other, math.MaxUint16)
	const n = 40
	for _, prio := range []uint8{lossless, other} {
		r.offer(0, several(0, map[uint8]int{lossless: 1, other: 2}[prio], prio, n, small)...)
	}
	r.hear(1, lossless, 0)
	r.hear(2, other, 0)
	r.drain(1, r.now+1_000_000)
	r.drain(2, r.now+1_000_000)
	r.sw.LeaveRoom(0, 4, r.now)
	a, b := len(r.drain(1, r.now+1_000_000)), len(r.drain(2, r.now+1_000_000))
	assert.True(t, a == 2 && b == 2, "%d and %d frames leave, want 2 of each", a, b)
	for range n {
		r.leaveRoom(0)
		r.drain(1, r.now+1_000_000)
		r.drain(2, r.now+1_000_000)
	}
	r.empty()
}

// The room of a port that goes is emptied, and what was in it is counted as dropped.
func TestWaitingRoomOfAPortThatGoes(t *testing.T) {
	r := twoPriorities(t, macctl.ModePFC, 1000)
	r.hear(1, lossless, math.MaxUint16)
	r.offer(0, several(0, 1, lossless, 40, small)...)
	waiting := r.snapshot().Ports[0].Waiting
	r.sw.RemovePort(0, r.now)
	old := r.sw.removedPorts.byName["p0"]
	got := old.Counters.Drops[lossless][DropPortDown]
	assert.True(t, waiting != 0 && got == uint64(waiting) && old.losses().lost == 0,
		"%d dropped of %d that waited, %d a fault", got, waiting, old.losses().lost)
	r.hear(1, lossless, 0)
	r.drain(1, r.now+second)
	r.sw.RemovePort(1, r.now)
	r.sw.RemovePort(2, r.now)
	cells, descriptors := r.sw.InUse()
	assert.True(t, cells+descriptors == 0, "%d cells and %d descriptors are in use", cells, descriptors)
}

// Waiting allocates nothing.
func TestWaitingAllocatesNothing(t *testing.T) {
	r := twoPriorities(t, macctl.ModePFC, 1000)
	xoff, xon := pfc(lossless, math.MaxUint16), pfc(lossless, 0)
	r.hear(1, lossless, math.MaxUint16)
	burst := r.receive(0, several(0, 1, lossless, 64, small))
	moves := make([]Move, 0, len(burst))
	n := testing.AllocsPerRun(100, func() {
		c := &r.sw.ports[0].cfg
		for i := range burst {
			burst[i].Prepare(&c.Classify, c.MaxFrame)
		}
		for taken := 0; taken < len(burst); {
			taken, _ = r.sw.Ingress(0, burst, taken, r.now, 0)
			r.sw.Store(r.sw.Staged(moves[:0]))
		}
		r.sw.Store(r.sw.Settle(burst, moves[:0]))
		r.sw.Control(1, xon, r.now, r.now)
		for r.sw.RoomWaits(0) || r.sw.Occupied(1, r.now) != 0 {
			r.sw.LeaveRoom(0, 64, r.now)
			r.batch.Reset()
			if n := r.sw.Dequeue(1, r.now, nil); n > 0 {
				r.sw.Fill(1, r.batch, nil)
				r.sw.Sent(1, n, r.now)
			}
			r.now += 1_000_000
		}
		r.sw.Control(1, xoff, r.now, r.now)
	})
	assert.True(t, n == 0, "%v allocations", n)
}
