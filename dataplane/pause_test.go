package dataplane

import (
	"math"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// priorities returns the priorities of priority-tagged frames.
func priorities(frames [][]byte) (all []uint8) {
	for _, b := range frames {
		all = append(all, tagOf(b).PCP())
	}
	return all
}

func counts(frames [][]byte) (n [NumPriorities]int) {
	for _, prio := range priorities(frames) {
		n[prio]++
	}
	return n
}

// A priority stops for exactly its quanta, while others run.
func TestPausedPriorityStopsForItsQuanta(t *testing.T) {
	for _, quanta := range []uint16{1, 100, 0xffff} {
		r := plainRig(t, 2)
		r.now = 10_000
		r.hear(1, lossless, quanta)
		expiry := r.now + macctl.QuantaDuration(quanta, gigabit)
		r.offer(0, several(0, 1, lossless, 5, small)...)
		r.offer(0, several(0, 1, 0, 5, small)...)
		if got := counts(r.send(1, 64)); got[0] != 5 || got[lossless] != 0 {
			t.Errorf("%d quanta: sent by priority %v, want 5 of priority 0 only", quanta, got)
		}
		if at := r.sw.TxDeadline(1, r.now); r.sw.Dequeue(1, r.now, nil) != 0 || r.sw.TxDeadline(1, r.now) != expiry {
			t.Errorf("%d quanta: deadline %d, want the end of the pause, %d", quanta, at, expiry)
		}
		r.now = expiry - 1
		got := r.send(1, 64)
		assert.True(t, got == nil, "%d quanta: sent %d frames 1 ns early", quanta, len(got))
		r.now = expiry
		assert.Equal(t, counts(r.send(1, 64))[lossless], 5, "%d quanta: frames sent at the end of the pause", quanta)
		assert.Equal(t, r.snapshot().Ports[1].PausedNs[lossless], expiry-10_000, "%d quanta: ns paused", quanta)
		r.empty()
	}
}

// The pause counts from the frame's receive stamp, however late it is looked at.
func TestPauseCountsFromTheStamp(t *testing.T) {
	r := plainRig(t, 2)
	r.offer(0, data(0, 1, lossless, 0, small))
	r.now = 1_000_000
	stamp := r.now - 300_000
	assert.Equal(t, r.sw.Control(1, pfc(lossless, 1000), stamp, r.now), 1<<lossless, "paused anew, want priority %d",
		lossless)
	assert.True(t, r.sw.Dequeue(1, r.now, nil) == 0 && r.sw.TxDeadline(1, r.now) == stamp+512_000,
		"deadline %d, want %d", r.sw.TxDeadline(1, r.now), stamp+512_000)
	assert.Equal(t, r.sw.Control(1, pfc(lossless, 1000), r.now, r.now), 0,
		"paused anew, want none: it was paused before")
}

// A new frame replaces the running timer, longer or shorter; time 0 resumes; a clear vector bit leaves alone.
func TestPauseIsReplaced(t *testing.T) {
	var none [NumPriorities]uint16
	rows := []struct {
		name   string
		second []byte
		want   int64 // ns after the second frame; it comes 100 quanta after the first, which has 1000
	}{
		{"longer", pfc(lossless, 5000), 5000 * 512},
		{"shorter", pfc(lossless, 10), 10 * 512},
		{"resume", pfc(lossless, 0), 0},
		{"another priority", pfc(5, 1), 900 * 512},
		{"vector empty", macctl.AppendPFC(nil, [6]byte{2}, 0, none), 900 * 512},
		{"PAUSE where PFC is on", macctl.AppendPause(nil, [6]byte{2}, 0), 900 * 512},
		{"truncated", pfc(lossless, 0)[:33], 900 * 512},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := plainRig(t, 2)
			r.offer(0, data(0, 1, lossless, 0, small))
			r.hear(1, lossless, 1000)
			r.now += 100 * 512
			r.sw.Control(1, row.second, r.now, r.now)
			assert.True(t, r.sw.TakePending(1), "the transmit task was not told")
			from := r.now
			assert.MustEqual(t, len(r.drain(1, r.now+second)), 1, "frames left")
			if paused := r.snapshot().Ports[1].PausedNs[lossless]; paused != 100*512+row.want {
				t.Errorf("paused for %d ns, want %d after the second frame", paused-(from-1), row.want)
			}
		})
	}
}

// An asymmetric port obeys PFC of a lossy priority, and sends PFC for the lossless one only. Without the key, PFC of a
// lossy priority is ignored, also where it was obeyed before.
func TestAsymmetricPFC(t *testing.T) {
	const lossy = 5
	ports := testPorts(2)
	ports[1].Asymmetric = true
	r := newRig(t, testConfig(2), ports...)
	r.hear(1, lossy, 1000)
	expiry := r.now + macctl.QuantaDuration(1000, gigabit)
	r.offer(0, several(0, 1, lossy, 5, small)...)
	r.offer(0, several(0, 1, 0, 5, small)...)
	got := counts(r.send(1, 64))
	assert.True(t, got[lossy] == 0 && got[0] == 5, "sent by priority %v, want 5 of priority 0 only", got)
	if n, got := r.sw.Dequeue(1, r.now, nil), r.sw.TxDeadline(1, r.now); n != 0 || got != expiry {
		t.Errorf("%d frames may leave, and the port looks again at %d, want the end of the pause, %d", n, got, expiry)
	}
	if b, _ := r.sw.AppendHold(1, nil); b[17] != 1<<lossless {
		t.Errorf("the XOFF for all that is lossless has the vector %08b, want priority %d", b[17], lossless)
	}
	ports[1].Asymmetric = false
	r.reconfigure(testConfig(2), ports...)
	assert.Equal(t, counts(r.send(1, 64))[lossy], 5,
		"sent by priority once the port obeys only PFC of lossless priorities, want 5 of %d", lossy)
	r.hear(1, lossy, 1000)
	assert.Equal(t, r.snapshot().Ports[1].Paused, 0, "paused, want nothing")
	r.empty()
}

// PAUSE stops every priority, but not MAC Control frames.
func TestPauseStopsAllButControl(t *testing.T) {
	r := newRig(t, testConfig(3), pausePorts(3)...)
	r.pause(1, 2000)
	for prio := range uint8(NumPriorities) {
		r.offer(0, data(0, 1, prio, 0, small))
	}
	got := r.send(1, 64)
	assert.True(t, got == nil, "sent %v while paused", priorities(got))
	r.pause(2, 0xffff)
	r.offer(1, several(1, 2, 0, alone+1, small)...)
	if f, _ := macctl.Parse(r.tell(1), [6]byte{}); f.Opcode != macctl.OpcodePause || f.Pause != 0xffff {
		t.Errorf("a paused port told its peer %+v, want PAUSE", f)
	}
	r.now += macctl.QuantaDuration(2000, gigabit)
	assert.Equal(t, counts(r.send(1, 64)), [NumPriorities]int{1, 1, 1, 1, 1, 1, 1, 1},
		"sent after the pause, want one of each")
	v := r.snapshot().Ports[1]
	assert.Equal(t, v.PausedAllNs, 2000*512, "ns paused")
}

// A port that is down says nothing. What it hears is obeyed: the peer may know earlier that the link is up. A link that
// goes down forgets it.
func TestControlWhileDown(t *testing.T) {
	r := full(t, 2)
	r.sw.SetUp(0, false, r.now)
	r.hear(0, lossless, 1000)
	r.wantSilent(0)
	assert.Equal(t, r.sw.TxDeadline(0, r.now), math.MaxInt64, "deadline, want none")
	r.sw.SetUp(0, true, r.now)
	if v := r.snapshot().Ports[0]; v.Paused != 1<<lossless || v.Received.PFCFrames[lossless] != 1 {
		t.Errorf("paused %08b, counted %v", v.Paused, v.Received.PFCFrames)
	}
	r.wantXoffSent(0, 0xffff) // its peer has missed the XOFF
	r.sw.SetUp(0, false, r.now)
	assert.Equal(t, r.snapshot().Ports[0].Paused, 0, "paused when the link is down")
}

// wireTime is how long n frames of the given length take of a link of 1 Gbit/s.
func wireTime(n, octets int) int64 { return int64(n * frame.WireOctets(octets) * 8) }

// Time spent paused earns nothing: after a long pause the port does not burst beyond what it had before.
func TestPausedTimeEarnsNothing(t *testing.T) {
	const n, quantum = 12, 3
	setup := func() *rig {
		ports := testPorts(2)
		ports[1].Burst = int64(4 * frame.WireOctets(mtu))
		return newRig(t, testConfig(2), ports...)
	}
	spend := func(r *rig) { // empties the bucket at this moment
		r.offer(0, several(0, 1, 0, 4, mtu)...)
		assert.MustEqual(t, len(r.send(1, 64)), 4, "the bucket paid for frames")
	}
	r := setup()
	spend(r)
	r.hear(1, lossless, 20_000)
	r.offer(0, several(0, 1, lossless, n, mtu)...)
	assert.MustEqual(t, r.sw.Dequeue(1, r.now, nil), 0, "a paused frame may go")
	expiry := r.sw.TxDeadline(1, r.now)
	r.now = expiry + 1000 // looked at late: what passed since the expiry counts
	assert.MustEqual(t, r.sw.Dequeue(1, r.now, nil), 0, "a frame may go at once: the pause has earned tokens")
	// A port without tokens sleeps until they are worth three quarters of a burst.
	at, want := r.sw.TxDeadline(1, r.now), expiry+wireTime(quantum, mtu)
	assert.True(t, at == want, "the first frames may go at %d, want %d", at-expiry, want-expiry)
	r.now = expiry + wireTime(1, mtu) - 1
	assert.Equal(t, r.sw.Dequeue(1, r.now, nil), 0, "a frame may go 1 ns before it is paid for")
	r.drain(1, expiry+wireTime(n, mtu)-1)
	assert.Equal(t, r.count(1).QueueBytes[lossless], quantum*mtu,
		"octets wait 1 ns before the last frames may go, want three quarters of a burst")
	assert.Equal(t, len(r.drain(1, expiry+wireTime(n, mtu))), quantum,
		"frames at the last moment, want three quarters of a burst")

	// Idle time earns, up to the bucket.
	r = setup()
	spend(r)
	r.now += second
	r.offer(0, several(0, 1, lossless, n, mtu)...)
	assert.Equal(t, len(r.send(1, 64)), 4, "frames that go at once after a second of rest, want the 4 of the bucket")
	r.drain(1, r.now+second)
	r.empty()
}

// While one priority is paused and another may send, the port is not paused: its tokens are those of its speed.
func TestOtherPrioritiesKeepTheSpeed(t *testing.T) {
	ports := testPorts(2)
	ports[1].Burst = int64(4 * frame.WireOctets(mtu))
	ports[1].Egress[lossless] = sched.Queue{Strict: true}
	r := newRig(t, testConfig(2), ports...)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, 2, mtu)...)
	r.offer(0, several(0, 1, 0, 100, mtu)...)
	from := r.now
	got := r.drain(1, from+wireTime(96, mtu))
	if n := counts(got); n[0] != 100 || n[lossless] != 0 {
		t.Errorf("sent %v, want 100 of priority 0 in the time of 96 behind a bucket of 4", n)
	}
}
