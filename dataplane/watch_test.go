package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// read returns the state of a queue as a watchdog sees it.
func (r *rig) read(i int, queue uint8) (v WatchReading) {
	r.sw.ReadWatch(i, queue, r.now, &v)
	return v
}

// What a watchdog reads is exact at any moment: frames, and time by the pause timer.
func TestWatchReading(t *testing.T) {
	r := plainRig(t, 3)
	r.now = 1_000_000
	r.offer(0, several(0, 1, lossless, 5, small)...)
	r.send(1, 2)
	r.hear(1, lossless, 0xffff)
	r.now += 12_345
	want := WatchReading{Held: 3, Sent: 2, PausedNs: 12_345, PausedNow: true, Requested: true, Xoffs: 1}
	got := r.read(1, lossless)
	assert.True(t, got == want, "%+v, want %+v", got, want)
	assert.Equal(t, r.read(1, 4), WatchReading{}, "another priority")
	assert.Equal(t, r.read(7, lossless), WatchReading{}, "no port")
	r.sw.SetUp(1, false, r.now)
	got = r.read(1, lossless)
	assert.True(t, got.Session == 1 && got.Held == 0 && !got.PausedNow, "link down: %+v", got)
}

// A watchdog is told once that a queue holds frames and is paused, whichever came first, and not of others.
func TestSuspects(t *testing.T) {
	calls := 0
	cfg := testConfig(3)
	cfg.Suspect = func() { calls++ }
	r := newRig(t, cfg, testPorts(3)...)
	reported := func() bool {
		r.sw.Dequeue(1, r.now, nil)
		all := r.sw.Suspects()
		return all.Has(1)
	}
	r.sw.NotifyPaused(1, lossless, true)
	r.sw.NotifyPaused(9, lossless, true)
	r.hear(1, lossless, 0xffff)
	assert.True(t, !reported(), "told of a queue that is empty")
	r.offer(0, data(0, 1, lossless, 0, small))
	assert.True(t, reported() && !reported() && calls == 1,
		"frames after the pause: %d calls, want to be told once", calls)
	r.hear(1, lossless, 0)
	r.sw.NotifyPaused(1, lossless, true)
	assert.True(t, !reported(), "told of a queue that is free")
	r.hear(1, lossless, 0xffff)
	r.offer(0, data(0, 1, lossless, 1, small), data(0, 2, lossless, 1, small))
	assert.True(t, reported(), "not told of a pause after the frames")
	r.sw.NotifyPaused(1, lossless, true)
	r.sw.NotifyPaused(1, lossless, false)
	assert.True(t, !reported(), "told though nobody wants to know")
	r.sw.SetUp(1, false, r.now)
	assert.True(t, reported(), "not told of a link that went down")
}

// stuckRig is a switch whose port 1 is paused, with held small frames of port 0 in its queue: upstream is held too.
func stuckRig(t *testing.T, held int) *rig {
	r := plainRig(t, 3)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, held, small)...)
	r.tell(0)
	assert.MustBeTrue(t, r.sw.buffer.OffCount() == 1 && r.send(1, 64) == nil,
		"nobody is held, so nothing would be shown")
	return r
}

// Ignoring XOFF lets the queue go, in order and without loss, and with it upstream.
func TestOrderIgnore(t *testing.T) {
	r := stuckRig(t, alone+1)
	r.sw.TakePending(1)
	r.sw.BreakDeadlock(1, lossless, true, false, r.now)
	assert.True(t, r.sw.TakePending(1), "the port is not told that it has work")
	r.hear(1, lossless, 0xffff) // the peer goes on
	v := r.read(1, lossless)
	assert.True(t, !v.PausedNow && v.Requested, "%+v, want a pause that is asked for and does not run", v)
	got := r.drain(1, r.now+second)
	assert.True(t, len(got) == alone+1 && sequence(got[0]) == 0, "%d frames, want %d", len(got), alone+1)
	assert.True(t, r.sw.buffer.OffCount() == 0 && r.tell(0) != nil, "upstream is not released")
	r.sw.BreakDeadlock(1, lossless, false, false, r.now)
	r.hear(1, lossless, 0xffff)
	r.offer(0, data(0, 1, lossless, 0, small))
	assert.True(t, r.send(1, 64) == nil, "XOFF is not obeyed again")
}

// Discarding drops what the queue holds and gets, counts it, gives the buffer back and releases upstream. Other
// queues and ports keep theirs.
func TestOrderDiscard(t *testing.T) {
	r := stuckRig(t, alone+1)
	r.offer(0, several(0, 1, 0, 3, small)...)
	r.offer(2, data(2, 0, lossless, 0, small))
	r.sw.BreakDeadlock(1, lossless, true, true, r.now)
	got := counts(r.drain(1, r.now+second))
	assert.True(t, got[lossless] == 0 && got[0] == 3, "sent by priority %v, want 3 of priority 0 only", got)
	assert.True(t, r.sw.buffer.OffCount() == 0 && r.tell(0) != nil, "upstream is not released")
	r.offer(0, data(0, 1, lossless, 0, small)) // comes later
	if got := r.send(1, 64); got != nil {
		t.Errorf("%d frames left though the queue is emptied", len(got))
	}
	const all = alone + 2
	v := r.read(1, lossless)
	if n := r.count(0).Drops[lossless][DropWatchdog]; n != all || v.Dropped != all || v.Held != 0 || v.Sent != 0 {
		t.Errorf("%d drops counted where they came in, %+v, want %d", n, v, all)
	}
	assert.Equal(t, r.count(0).LosslessDrops[lossless], 0, "a decision counts as a fault")
	assert.Equal(t, len(r.send(0, 64)), 1, "frames left by the port beside it")
	r.empty()
	r.sw.BreakDeadlock(1, lossless, false, false, r.now)
	r.hear(1, lossless, 0)
	r.offer(0, data(0, 1, lossless, 0, small))
	assert.Equal(t, len(r.send(1, 64)), 1, "frames after the end of the order")
}

// What is discarded gives its buffer back at once to whoever waits for a share of it, too: nothing is sent that would.
func TestDiscardReleasesOthers(t *testing.T) {
	r := stuckRig(t, alone+1)
	r.hear(0, lossless, 0xffff)
	for n := 0; r.sw.buffer.OffCount() < 2; n++ {
		r.offer(2, data(2, 0, lossless, n, small))
	}
	r.hear(0, lossless, 0)
	r.send(0, 1) // it was in the headroom
	assert.MustEqual(t, r.sw.buffer.OffCount(), 2, "queues are held, want those of ports 0 and 2")
	r.sw.BreakDeadlock(1, lossless, true, true, r.now)
	if n := r.sw.Dequeue(1, r.now, nil); n != 0 || r.sw.buffer.OffCount() != 0 {
		t.Errorf("%d frames to send, %d queues held", n, r.sw.buffer.OffCount())
	}
}

// What a trunk holds for a queue that is locked up is free as soon as the order is in force: for a pause that is
// ignored when it is, for frames above the mark when they are dropped.
func TestOrderFreesTheTrunk(t *testing.T) {
	const octets = small + 4
	r := trunkRig(t, marked(threeToOne(), 4*octets, 2*octets), nil)
	r.hear(uplinkPort, lossless, 0xffff)
	r.wantHolds("the uplink is paused", 1<<lossless, 0)
	r.sw.BreakDeadlock(uplinkPort, lossless, true, false, r.now)
	r.wantHolds("its pause is ignored", 0, 0)
	for i := range members {
		r.offer(i, several(i, 5, lossless, 3, small)...)
	}
	r.wantHolds("above the mark", 1<<lossless, 0)
	r.sw.BreakDeadlock(uplinkPort, lossless, true, true, r.now)
	r.sw.Dequeue(uplinkPort, r.now, nil)
	r.wantHolds("what waited is dropped", 0, 0)
}

// A frame that is on its way into the kernel is not taken away under it, and a long queue is emptied in parts.
func TestDiscardAndSending(t *testing.T) {
	r := plainRig(t, 2)
	r.offer(0, several(0, 1, lossless, 4, small)...)
	n := r.sw.Dequeue(1, r.now, nil)
	r.batch.Reset()
	r.sw.Fill(1, r.batch, r.burst)
	r.sw.BreakDeadlock(1, lossless, true, true, r.now)
	assert.MustEqual(t, r.read(1, lossless).Held, 4, "frames are left while some are being sent")
	r.sw.Sent(1, n, r.now)
	r.sw.Dequeue(1, r.now, nil)
	v := r.read(1, lossless)
	assert.True(t, v.Sent == uint64(n) && v.Dropped == uint64(4-n), "%+v, want %d sent", v, n)
	r.empty()

	cfg := testConfig(2)
	cfg.Buffer.Lossless.Size += 2000 * cell
	r = newRig(t, cfg, testPorts(2)...)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, discardFrames+1, small)...)
	r.sw.BreakDeadlock(1, lossless, true, true, r.now)
	r.sw.TakePending(1)
	if n := r.sw.Dequeue(1, r.now, nil); n != 0 || r.read(1, lossless).Held != 1 || !r.sw.TakePending(1) {
		t.Errorf("sends %d, holds %d, want to be called again for the last one", n, r.read(1, lossless).Held)
	}
	r.sw.Dequeue(1, r.now, nil)
	assert.Equal(t, r.read(1, lossless).Held, 0, "not emptied")
	r.empty()
}

// A PAUSE port is one queue: all priorities are ignored and emptied together.
func TestWatchWhole(t *testing.T) {
	r := newRig(t, testConfig(2), pausePort(0), pausePort(1))
	r.sw.NotifyPaused(1, WholePort, true)
	r.pause(1, 0xffff)
	r.offer(0, data(0, 1, 0, 0, small), data(0, 1, 5, 0, small))
	r.sw.Dequeue(1, r.now, nil)
	all := r.sw.Suspects()
	assert.True(t, all.Has(1), "not told")
	v := r.read(1, WholePort)
	assert.True(t, v.Held == 2 && v.PausedNow && v.Xoffs == 1, "%+v", v)
	r.sw.BreakDeadlock(1, WholePort, true, false, r.now)
	r.pause(1, 0xffff)
	got := r.send(1, 64)
	assert.True(t, len(got) == 2 && r.read(1, WholePort).Sent == 2, "%d frames left, want 2", len(got))
	r.offer(0, data(0, 1, 7, 0, small))
	r.sw.BreakDeadlock(1, WholePort, true, true, r.now)
	if got := r.send(1, 64); got != nil || r.read(1, WholePort).Dropped != 1 {
		t.Errorf("%d frames left, %d dropped", len(got), r.read(1, WholePort).Dropped)
	}
	r.empty()
}

// A link that goes down ends every order.
func TestLinkDownEndsOrders(t *testing.T) {
	r := plainRig(t, 2)
	r.sw.BreakDeadlock(1, lossless, true, true, r.now)
	for _, begins := range []bool{false, true} { // an order, while the link is down
		r.sw.SetUp(1, false, r.now)
		if begins {
			r.sw.BreakDeadlock(1, lossless, false, true, r.now)
		}
		r.sw.SetUp(1, true, r.now)
		r.hear(1, lossless, 0xffff)
		r.offer(0, data(0, 1, lossless, 0, small))
		assert.True(t, r.send(1, 64) == nil && r.read(1, lossless).Held == 1,
			"%+v: XOFF is not obeyed, or the queue is emptied", r.read(1, lossless))
	}
}

// Ordinary life costs no allocation with a watchdog.
func TestDiscardDoesNotAllocate(t *testing.T) {
	r := plainRig(t, 2)
	r.sw.BreakDeadlock(1, lossless, true, true, r.now)
	burst := r.receive(0, several(0, 1, lossless, 8, small))
	moves := make([]Move, 0, 8)
	n := testing.AllocsPerRun(200, func() {
		for i := range burst {
			burst[i].copies = none
		}
		r.sw.Ingress(0, burst, 0, r.now, 0)
		r.sw.Dequeue(1, r.now, nil)
		moves = r.sw.Settle(burst, moves[:0])
	})
	assert.True(t, n == 0, "%v allocations for 8 frames", n)
}

// A system clock that jumps moves the stamps of what is received, not the time that a watchdog reads: a peer that
// throttles to 90 % by short pauses is never read as one that pauses all the time.
func TestWatchReadingAndClockJumps(t *testing.T) {
	r := plainRig(t, 2)
	r.offer(0, data(0, 1, lossless, 0, small))
	const quanta = 195 // 99.84 µs
	pause := macctl.QuantaDuration(quanta, gigabit)
	const hour = 3600 * second
	var paused int64
	for cycle, jump := range []int64{0, hour, -hour, 10 * hour, -second / 2, 1} {
		before := r.read(1, lossless)
		stamp := r.now + jump
		r.sw.Control(1, pfc(lossless, quanta), stamp, r.now)
		r.now += second / 1000
		if v := r.read(1, lossless); v.PausedNs-before.PausedNs != pause || v.PausedNow {
			t.Errorf("cycle %d, stamp off by %d s: paused for %d ns, want %d", cycle, jump/second,
				v.PausedNs-before.PausedNs, pause)
		}
		paused += pause
	}
	assert.Equal(t, r.read(1, lossless).PausedNs, paused, "ns paused in all")
}
