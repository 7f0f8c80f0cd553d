package dataplane

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
)

// unshaped is a port without a speed: it may send whatever it has.
func unshaped(i int) PortConfig {
	c := testPort(i)
	c.Speed, c.Burst = 0, 0
	return c
}

// No send call takes more than one frame, or 64 frames, or 50 µs at the port's speed.
func TestSendCallLimit(t *testing.T) {
	rows := []struct {
		speed        int64
		octets, want int
	}{
		{10_000_000, mtu, 1}, // 62 octets: one frame all the same
		{100_000_000, 60, 7},
		{gigabit, mtu, 4},
		{gigabit, 60, port.BatchFrames},
		{10 * gigabit, mtu, 40},
		{0, mtu, 40}, // as at 10 Gbit/s
		{0, 60, port.BatchFrames},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%d bit/s %d octets", row.speed, row.octets), func(t *testing.T) {
			out := testPort(1)
			out.Speed, out.Burst = row.speed, 1<<20
			r := newRig(t, testConfig(2), testPort(0), out)
			r.offer(0, several(0, 1, 0, 100, row.octets)...)
			assert.Equal(t, len(r.send(1, 64)), row.want, "frames in a call")
			if at := r.sw.TxDeadline(1, r.now); row.speed != 0 && r.sw.Dequeue(1, r.now, nil) == 0 {
				t.Errorf("no second call at once, deadline %d", at)
			}
		})
	}
}

// Strict priorities go before weighted ones, the highest first.
func TestStrictBeforeWeighted(t *testing.T) {
	out := unshaped(1)
	out.Egress[6], out.Egress[2] = sched.Queue{Strict: true}, sched.Queue{Strict: true}
	r := newRig(t, testConfig(2), testPort(0), out)
	for _, prio := range []uint8{0, 2, 5, 6} {
		r.offer(0, several(0, 1, prio, 2, small)...)
	}
	got := priorities(r.send(1, 64))
	assert.True(t, slices.Equal(got[:4], []uint8{6, 6, 2, 2}) && len(got) == 8,
		"sent %v, want 6 6 2 2 and then the weighted ones", got)
}

// load fills the egress queues of port 1 with frames of these lengths.
func load(r *rig, prios []uint8, lengths []int) {
	for i, octets := range lengths {
		r.offer(0, data(0, 1, prios[i%len(prios)], i, octets))
	}
}

// Whatever part of each call the kernel takes, frames leave as if it had taken all: rounds and tokens move only for
// what went.
func TestPartialSendsChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		out := unshaped(1)
		prios := []uint8{0, 1, lossless, 6}
		for i, prio := range prios {
			out.Egress[prio] = sched.Queue{Weight: rapid.IntRange(1, 20).Draw(rt, "weight"), Strict: i == 3 &&
				rapid.Bool().Draw(rt, "strict")}
		}
		n := rapid.IntRange(1, 120).Draw(rt, "frames")
		seed := rapid.SliceOfN(rapid.IntRange(60, mtu), n, n).Draw(rt, "lengths")
		run := func(most func(int) int) (sent []int) {
			cfg := testConfig(2)
			cfg.Buffer.Lossless.Size += 1 << 20
			r := newRig(rt, cfg, testPort(0), out)
			load(r, prios, seed)
			for calls := 0; len(sent) < n && calls < 100*n; calls++ {
				for _, b := range r.send(1, most(calls)) {
					sent = append(sent, sequence(b))
				}
				r.balanced()
			}
			r.empty()
			return sent
		}
		whole := run(func(int) int { return port.BatchFrames })
		// at least one above 0, or nothing ever leaves
		takes := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(rt, "taken")
		takes = append(takes, 1)
		parts := run(func(call int) int { return takes[call%len(takes)] })
		assert.MustBeTrue(rt, slices.Equal(whole, parts), "whole calls sent %v\npartial calls   %v", whole, parts)
	})
}

// Weighted queues share the link by their weights, in octets on the wire, however the kernel takes them.
func TestWeightedShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		out := unshaped(1)
		prios := []uint8{0, 1, 2}
		weights := map[uint8]int{}
		total := 0
		for _, prio := range prios {
			weights[prio] = rapid.IntRange(1, 10).Draw(rt, "weight")
			total += weights[prio]
			out.Egress[prio] = sched.Queue{Weight: weights[prio]}
		}
		cfg := testConfig(2)
		cfg.Buffer.Lossy.Size, cfg.Buffer.Lossy.Alpha = 16<<20, 8
		r := newRig(rt, cfg, testPort(0), out)
		load(r, prios, rapid.SliceOfN(rapid.IntRange(60, mtu), 900, 900).Draw(rt, "lengths"))
		got, sum := map[uint8]int{}, 0
		for r.sw.ports[1].occupied == 0b111 { // all are backlogged
			for _, b := range r.send(1, rapid.IntRange(0, 4).Draw(rt, "taken")) {
				if r.sw.ports[1].occupied == 0b111 {
					got[tagOf(b).PCP()] += frame.WireOctets(len(b))
					sum += frame.WireOctets(len(b))
				}
			}
		}
		heaviest := 0
		for _, w := range weights {
			heaviest = max(heaviest, w)
		}
		for _, prio := range prios {
			want := sum * weights[prio] / total
			// A round gives the heaviest queue one longest frame; a call ends in the middle of a round.
			slack := 4 * mtu * len(prios)
			assert.True(rt, got[prio] >= want-slack && got[prio] <= want+slack,
				"weight %d of %d: %d of %d octets, want %d ± %d", weights[prio], total, got[prio], sum, want, slack)
		}
	})
}

// What was planned and not sent costs nothing.
func TestUnsentPlanCostsNothing(t *testing.T) {
	out := testPort(1)
	out.Burst = int64(3 * frame.WireOctets(mtu))
	r := newRig(t, testConfig(2), testPort(0), out)
	r.offer(0, several(0, 1, 0, 5, mtu)...)
	for range 10 {
		assert.MustEqual(t, r.sw.Dequeue(1, r.now, nil), 3, "the bucket pays for frames")
		prios, longest := r.sw.Sent(1, 0, r.now)
		assert.MustBeTrue(t, prios == 0 && longest == 0, "nothing was sent, of priorities %08b", prios)
	}
	r.balanced()
	got := r.send(1, 2)
	assert.MustBeTrue(t, len(got) == 2 && sequence(got[0]) == 0 && sequence(got[1]) == 1, "sent %d frames", len(got))
	assert.Equal(t, r.sw.Dequeue(1, r.now, nil), 1, "frames may go, want the one that is paid for")
	got = r.drain(1, r.now+second)
	assert.True(t, len(got) == 3 && sequence(got[0]) == 2, "the rest: %d frames", len(got))
	r.empty()
}

// A frame that the kernel will never take is dropped, counted where it came in, and those behind it go on in order.
func TestRefuse(t *testing.T) {
	r := newRig(t, testConfig(2), testPort(0), unshaped(1))
	r.offer(0, several(0, 1, lossless, 3, small)...)
	r.sw.Dequeue(1, r.now, nil)
	r.refuse(1, DropSend, r.now)
	r.sw.Dequeue(1, r.now, nil)
	r.refuse(1, DropOversize, r.now)
	c := r.count(0)
	assert.True(t, c.Drops[lossless][DropSend] == 1 && c.Drops[lossless][DropOversize] == 1 &&
		c.LosslessDrops[lossless] == 1, "drops %v, lossless %v: want one send, a fault, and one oversize, none",
		c.Drops[lossless], c.LosslessDrops)
	got := r.send(1, 64)
	assert.True(t, len(got) == 1 && sequence(got[0]) == 2, "sent %x, want frame 2", got)
	r.empty()
}

// A refused frame in the middle of a burst that lies in the ring still.
func TestRefuseBeforeSettle(t *testing.T) {
	r := newRig(t, testConfig(2), testPort(0), unshaped(1))
	r.arrive(0, several(0, 1, 0, 3, small)...)
	r.sw.Dequeue(1, r.now, nil)
	r.refuse(1, DropSend, r.now)
	got := r.send(1, 1)
	assert.True(t, len(got) == 1 && sequence(got[0]) == 1, "sent %x, want frame 1", got)
	r.settle()
	got = r.send(1, 64)
	assert.True(t, len(got) == 1 && sequence(got[0]) == 2, "sent %x, want frame 2", got)
	if c := r.count(0); c.Drops[0][DropSend] != 1 || c.LosslessDrops != [NumPriorities + 1]uint64{} {
		t.Errorf("drops %v, lossless %v", c.Drops[0], c.LosslessDrops)
	}
	r.empty()
}

// A port that goes down gives back what it holds, settled or not.
func TestPortDownPurges(t *testing.T) {
	r := plainRig(t, 3)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.wantXoffSent(0, 0xffff)
	r.offer(2, several(2, 1, 5, 7, small)...)
	r.arrive(2, several(2, 1, 6, 4, small)...)
	r.sw.Dequeue(1, r.now, nil)
	r.sw.SetUp(1, false, r.now)
	r.settle()
	if r.count(0).Drops[lossless][DropPortDown] != alone+1 || r.count(2).Drops[5][DropPortDown] != 7 ||
		r.count(2).Drops[6][DropPortDown] != 4 {
		t.Errorf("drops %v and %v", r.count(0).Drops, r.count(2).Drops)
	}
	assert.Equal(t, faults(r.snapshot()), 0, "a link that went down counts as a lossless loss")
	r.wantXoffSent(0, 0)
	r.empty()
	r.sw.SetUp(1, true, r.now)
	assert.Equal(t, r.sw.Dequeue(1, r.now, nil), 0, "frames wait at a port that has just come up")
}

func TestRemovePort(t *testing.T) {
	r := full(t, 3)
	r.offer(2, several(2, 0, 0, 3, small)...)
	r.sw.RemovePort(0, r.now) // held its peer, and holds frames of port 2
	r.sw.RemovePort(0, r.now)
	r.hear(1, lossless, 0)
	assert.Equal(t, len(r.drain(1, r.now+second)), alone+1, "frames of the removed port left")
	assert.True(t, r.sw.memory.freeCells.left == len(r.sw.memory.next) && r.snapshot().Buffer.Unbalanced == 0,
		"cells are missing, or the accounts")
	r.reconfigure(testConfig(3), testPorts(3)...)
}

// A frame that waits for a paused peer when the port's bucket becomes smaller than it leaves with a full bucket, and
// those behind it after what it took.
func TestLongFrameBeforeASmallBucket(t *testing.T) {
	ports := testPorts(2)
	ports[0].MaxFrame, ports[1].MaxFrame = 9014, 9014
	ports[1].Speed, ports[1].Burst = 100_000_000, 20_000
	cfg := testConfig(2)
	cfg.Buffer.Lossless.Size += 1 << 20
	r := newRig(t, cfg, ports...)
	r.hear(1, lossless, 0xffff)
	r.offer(0, data(0, 1, lossless, 1, 9000), data(0, 1, lossless, 2, 60))
	ports[1].MaxFrame, ports[1].Burst = testPort(1).MaxFrame, 6250
	r.reconfigure(cfg, ports...)
	r.hear(1, lossless, 0)
	if got := r.drain(1, r.now+second); len(got) != 2 || sequence(got[0]) != 1 || sequence(got[1]) != 2 {
		t.Errorf("%d frames left, want both in order", len(got))
	}
	r.empty()
}

// A frame that is longer than its egress port carries is dropped where it came in: it would wait for tokens that its
// port's bucket cannot hold, and everything else behind it.
func TestLongerThanTheEgressPort(t *testing.T) {
	ports := testPorts(3)
	ports[0].MaxFrame = 9014
	ports[1].Speed, ports[1].Burst = 100_000_000, 6250
	ports[2].MaxFrame = 9014
	cfg := testConfig(3)
	cfg.Buffer.Lossless.Size += 1 << 20
	r := newRig(t, cfg, ports...)
	r.offer(0, data(0, 1, lossless, 1, 9000), data(0, 1, 0, 2, 9000), data(0, 1, lossless, 3, mtu+frame.TagOctets+1))
	r.offer(0, data(0, 1, lossless, 4, mtu+frame.TagOctets))
	c := r.count(0)
	assert.True(t, c.Drops[lossless][DropOversize] == 2 && c.Drops[0][DropOversize] == 1 &&
		c.LosslessDrops[lossless] == 0, "drops %v, lossless faults %v", c.Drops, c.LosslessDrops)
	if got := r.drain(1, r.now+second); len(got) != 1 || sequence(got[0]) != 4 {
		t.Errorf("%d frames left, want the one that fits with its tag", len(got))
	}
	r.offer(0, ether(0xFF_FF_FF_FF_FF_FF, host(0), tci(0, 0), experimental, 5, 9000))
	if one, two := r.drain(1, r.now+second), r.drain(2, r.now+second); len(one) != 0 || len(two) != 1 {
		t.Errorf("flooded: %d and %d frames left, want none and one", len(one), len(two))
	}
	r.empty()
}

// LimitSendCalls bounds a plan, whatever the speed allows.
func TestLimitSendCalls(t *testing.T) {
	r := plainRig(t, 2)
	r.offer(0, several(0, 1, lossless, 4, small)...)
	for _, most := range []int{1, 3} {
		r.sw.LimitSendCalls(most)
		assert.Equal(t, r.sw.Dequeue(1, r.now, nil), most, "frames of a plan")
	}
}
