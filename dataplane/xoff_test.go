package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// pfcFrame is what port i sends with these times for its enabled priorities.
func (r *rig) pfcFrame(i int, enabled uint8, times map[uint8]uint16) []byte {
	var t [NumPriorities]uint16
	for prio, quanta := range times {
		t[prio] = quanta
	}
	return macctl.AppendPFC(nil, r.sw.ports[i].cfg.MAC, enabled, t)
}

// wantXoff fails unless port i has exactly one frame to send, which sets priority lossless to quanta.
func (r *rig) wantXoffSent(i int, quanta uint16) {
	r.tb.Helper()
	assert.MustBeSame(r.tb, r.tell(i), r.pfcFrame(i, 1<<lossless, map[uint8]uint16{lossless: quanta}),
		"port %d told its peer", i)
	r.wantSilent(i)
}

func (r *rig) wantSilent(i int) {
	r.tb.Helper()
	b := r.tell(i)
	assert.MustBeTrue(r.tb, b == nil, "port %d told its peer %x, want nothing", i, b)
}

// full is a rig whose port 0 has just crossed its threshold with frames for port 1, which is paused.
func full(tb reporter, n int) *rig {
	tb.Helper()
	r := plainRig(tb, n)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	return r
}

// A burst that crosses the threshold is not admitted before XOFF.
func TestXoffBeforeTheBurst(t *testing.T) {
	r := plainRig(t, 2)
	r.hear(1, lossless, 0xffff)
	r.burst = r.receive(0, several(0, 1, lossless, alone+10, small))
	taken, stop := r.sw.Ingress(0, r.burst, 0, r.now, 0)
	assert.MustBeTrue(t, taken == 0 && stop == ThresholdCrossed,
		"Ingress took %d (%v), want to stop before the burst (%v)", taken, stop, ThresholdCrossed)
	assert.True(t, r.sw.TakePending(0) && !r.sw.TakePending(0), "port 0 is not urgent, or twice")
	r.wantXoffSent(0, 0xffff)
	taken, stop = r.sw.Ingress(0, r.burst, taken, r.now, 0)
	assert.MustBeTrue(t, taken == alone+10 && stop == Done, "the burst: %d (%v)", taken, stop)
	r.wantSilent(0)
	assert.Equal(t, r.snapshot().Buffer.Ports[0].Ingress[lossless].Used.Headroom.Now, 10*cell, "headroom")
	r.settle()
	r.balanced()
}

// The nearer a threshold is, the sooner a driver has to look again: what comes meanwhile does not cross it, unless the
// time is the least. A queue that is OFF needs no look.
func TestLookWithin(t *testing.T) {
	const most, least = 8_000_000, 250_000
	r := plainRig(t, 2)
	r.hear(1, lossless, 0xffff)
	last, shorter := int64(most), 0
	for n := range alone + 1 {
		got := r.sw.LookWithin(0, most, least)
		if off := r.sw.buffer.Off(0) != 0; off && got != most {
			t.Fatalf("after %d frames: %d ns, though XOFF is sent", n, got)
		} else if off {
			continue
		}
		crosses := r.sw.buffer.WouldExceedThreshold(0, lossless, r.sw.shortFrames(r.sw.ports[0], got))
		assert.MustBeTrue(t, got <= last && got >= least && (!crosses || got == least),
			"after %d frames: %d ns, crosses %v, before %d ns", n, got, crosses, last)
		if got < last {
			shorter++
		}
		last = got
		r.offer(0, data(0, 1, lossless, n, small))
	}
	assert.True(t, shorter != 0 && last == least, "the time became shorter %d times, the last is %d ns", shorter, last)
}

// Departures give back headroom first; XON comes with the one that leaves T - xon_offset behind, and once.
func TestXon(t *testing.T) {
	r := full(t, 2)
	r.wantXoffSent(0, 0xffff)
	r.hear(1, lossless, 0)
	for left := alone; left > resumesAt; left-- {
		r.send(1, 1)
		r.now += 3000
		r.wantSilent(0)
	}
	r.send(1, 1)
	r.wantXoffSent(0, 0)
	r.drain(1, r.now+second)
	r.wantSilent(0)
	xoffSent := r.snapshot().Ports[0].ControlSent
	assert.True(t, xoffSent.XoffSent[lossless] == 1 && xoffSent.XonSent[lossless] == 1 &&
		xoffSent.PFCFrames[lossless] == 2, "sent %+v, want one XOFF and one XON", xoffSent)
	r.empty()
}

// What was not sent is forgotten: the next frame says what is wanted by then.
func TestXoffThatWasNotSent(t *testing.T) {
	r := full(t, 2)
	_, ok := r.sw.ControlOut(0, nil, r.now)
	assert.MustBeTrue(t, ok, "no XOFF")
	r.now += 1000 // the kernel was full: no ControlSent
	r.wantXoffSent(0, 0xffff)

	r.hear(1, lossless, 0)
	r.drain(1, r.now+second/1000)
	_, ok = r.sw.ControlOut(0, nil, r.now)
	assert.MustBeTrue(t, ok, "no XON")
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...) // OFF again before XON could leave
	b := r.tell(0)
	assert.True(t, b == nil, "told %x, want nothing: the peer is still held", b)
}

// A queue is freed as soon as others have drained, though nothing of its own has left.
func TestXonWhenOnlyOthersDrained(t *testing.T) {
	r := plainRig(t, 4)
	r.hear(1, lossless, 0xffff)
	r.hear(3, lossless, 0xffff)
	r.offer(2, several(2, 3, lossless, alone, small)...) // half of the segment, below its threshold
	r.wantSilent(2)
	r.offer(0, several(0, 1, lossless, alone/2+1, small)...) // T is 32 cells now, and falls by what port 0 takes
	r.wantXoffSent(0, 0xffff)
	r.hear(1, lossless, 0)
	r.send(1, 1) // empties the headroom
	r.hear(1, lossless, 0xffff)
	r.wantSilent(0)

	r.hear(3, lossless, 0)
	for range alone/2 - 1 {
		r.send(3, 1)
		r.now += 3000
		r.wantSilent(0)
	}
	r.send(3, 1) // T = 32 cells, T - xon_offset = 16: what port 0 holds
	assert.MustEqual(t, r.count(1).QueueBytes[lossless], alone/2*small, "port 0's frames have left: octets wait")
	r.wantXoffSent(0, 0)
	r.wantSilent(2)
	r.drain(3, r.now+second)
	r.hear(1, lossless, 0)
	r.drain(1, r.now+second)
	r.empty()
}

// An XOFF is stated again after half of its time, for as long as the queue is OFF.
func TestRefresh(t *testing.T) {
	r := full(t, 2)
	r.wantXoffSent(0, 0xffff)
	half := macctl.QuantaDuration(0xffff, gigabit) / 2
	for round := int64(1); round <= 3; round++ {
		due := 1 + round*half
		for r.now < due-1 {
			at := r.sw.TxDeadline(0, r.now)
			assert.MustBeTrue(t, at > r.now && at <= r.now+resumePeriod,
				"deadline %d at %d: a held port has to be looked at every %d ns", at, r.now, resumePeriod)
			r.now = min(at, due-1)
			r.sw.Tick(r.now)
			r.wantSilent(0)
		}
		assert.MustEqual(t, r.sw.TxDeadline(0, r.now), due, "deadline, want the refresh")
		r.now = due
		r.wantXoffSent(0, 0xffff)
	}
	v := r.snapshot().Ports[0]
	assert.True(t, v.ControlSent.XoffSent[lossless] == 1 && v.ControlSent.PFCFrames[lossless] == 4,
		"counted %+v, want one XOFF in four frames", v.ControlSent)
	assert.Equal(t, v.HeldNs[lossless], r.now-1, "ns held")
}

// Buffer and ring hold the peer each for itself.
func TestHoldCauses(t *testing.T) {
	r := plainRig(t, 2)
	r.sw.HoldPeerForRing(0, true, r.now)
	r.wantXoffSent(0, 0xffff)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.wantSilent(0)
	r.sw.HoldPeerForRing(0, false, r.now)
	r.wantSilent(0)
	r.sw.HoldPeerForRing(0, true, r.now)
	r.hear(1, lossless, 0)
	r.drain(1, r.now+3*resumePeriod)
	r.wantSilent(0)
	r.sw.HoldPeerForRing(0, false, r.now)
	r.wantXoffSent(0, 0)
	r.empty()
}

func TestRingHoldByMode(t *testing.T) {
	r := newRig(t, testConfig(2), pausePort(0), testPort(1))
	r.sw.HoldPeerForRing(0, true, r.now)
	f, _ := macctl.Parse(r.tell(0), [6]byte{})
	assert.True(t, f.Opcode == macctl.OpcodePause && f.Pause == 0xffff, "told %+v, want PAUSE", f)
	off := testPort(0)
	off.Mode, off.Lossless = macctl.ModeOff, 0
	r = newRig(t, testConfig(2), off, testPort(1))
	r.sw.HoldPeerForRing(0, true, r.now)
	r.wantSilent(0)
	r.sw.HoldPeerForRing(7, true, r.now) // a port that is not there
}

func TestWouldCross(t *testing.T) {
	r := plainRig(t, 2)
	assert.True(t, !r.sw.WouldExceedThreshold(0, 0, alone*small), "what just fits would cross")
	assert.True(t, r.sw.WouldExceedThreshold(0, 0, alone*small+cell), "one cell more would not cross")
	assert.True(t, !r.sw.WouldExceedThreshold(9, 1, 1<<40), "a port that is not there would cross")
}

// XOFF names the free buffer where the port is told so.
func TestRemaining(t *testing.T) {
	const roomy = 1000 // cells of headroom: more than the shortest pause that can be refreshed in time
	port := testPort(0)
	port.Remain, port.Ingress[lossless].Headroom = true, roomy*cell
	cfg := testConfig(2)
	cfg.Buffer.Lossless.Size += (roomy - headroomCells) * cell
	r := newRig(t, cfg, port, testPort(1))
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	f, reason := macctl.Parse(r.tell(0), [6]byte{})
	want := uint16((roomy - 1) * cell * 8 / macctl.QuantumBits)
	assert.True(t, reason == macctl.ReasonNone && f.Time[lossless] == want,
		"told %+v (%v), want %d quanta", f, reason, want)
}

// The histogram of how fast XOFF leaves counts from the crossing, not from one that was over before it was told.
func TestCrossedIsMeasuredOnce(t *testing.T) {
	r := plainRig(t, 2)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.sw.ThresholdCrossedAt(0, 1000)
	r.hear(1, lossless, 0)
	r.drain(1, r.now+second) // free again before XOFF left
	r.wantSilent(0)
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.sw.ThresholdCrossedAt(0, 5000)
	r.sw.ThresholdCrossedAt(0, 6000) // nothing has crossed since
	_, ok := r.sw.ControlOut(0, nil, r.now)
	assert.MustBeTrue(t, ok, "no XOFF")
	if crossed, arrived := r.sw.ControlSent(0, r.now); crossed != 5000 || arrived != r.now {
		t.Errorf("crossed at %d by a frame of %d, want 5000 and %d", crossed, arrived, r.now)
	}
	r.now += second / 20
	_, ok = r.sw.ControlOut(0, nil, r.now)
	assert.MustBeTrue(t, ok, "no refresh")
	if crossed, arrived := r.sw.ControlSent(0, r.now); crossed != 0 || arrived != 0 {
		t.Errorf("a refresh reports a crossing at %d, by a frame of %d", crossed, arrived)
	}
}

// A frame that was made before the crossing does not report it.
func TestCrossedDuringASendCall(t *testing.T) {
	r := plainRig(t, 2)
	r.hear(1, lossless, 0xffff)
	r.sw.HoldPeerForRing(0, true, r.now)
	_, ok := r.sw.ControlOut(0, nil, r.now)
	assert.MustBeTrue(t, ok, "no XOFF")
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.sw.ThresholdCrossedAt(0, r.now+10)
	if crossed, arrived := r.sw.ControlSent(0, r.now); crossed != 0 || arrived != 0 {
		t.Errorf("a frame made before reports a crossing at %d, by a frame of %d", crossed, arrived)
	}
}
