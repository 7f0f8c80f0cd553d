package dataplane

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// streams makes port 0 of a measuring rig fill its link with a priority until a time.
func (r *rig) streams(p *prober, prio uint8, until int64) {
	p.streamed, p.until = prio, until
	r.sw.Measurement(0, request([6]byte{}, false), false, r.now, r.now, 0)
}

// A stream fills the link at its speed with the longest frames of its priority, and ends by itself.
func TestStreamFillsTheLink(t *testing.T) {
	r, p := measuringRig(t)
	const length = 10_000_000 // ns
	r.streams(p, lossless, r.now+length)
	begun := r.now
	got := r.drain(0, r.now+second)
	var octets int
	for _, b := range got {
		octets += frame.WireOctets(len(b))
	}
	most := (length*gigabit/8)/second + int(testPort(0).Burst) + frame.WireOctets(mtu+4)
	assert.True(t, octets >= length*gigabit/8/second && octets <= most,
		"%d octets in %d frames, want 10 ms at 1 Gbit/s and a burst at most, %d", octets, len(got), most)
	assert.True(t, r.now == begun+second && r.sw.ports[0].stream.until == 0, "the stream has not ended")
	if c := r.count(0); c.Streamed != uint64(len(got)) || c.SentFrames != 0 {
		t.Errorf("counted %d, and %d data frames", c.Streamed, c.SentFrames)
	}
	r.empty()
}

// A frame of the stream says its priority in its tag and in its DSCP, is as long as can be, and goes to nobody.
func TestStreamFrame(t *testing.T) {
	for prio := range uint8(NumPriorities) {
		c := testPort(0)
		c.Classify.MTU = 1200
		if prio == 5 {
			c.Classify.DSCP[40], c.Classify.DSCP[26] = 0, 5
		}
		b := streamFrame(&c, prio)
		h, ok := frame.Parse(b)
		assert.True(t, ok && h.Tagged && h.TCI.PCP() == prio && h.TCI.VID() == 0 && h.Src == address(c.MAC) &&
			h.Dst == frame.Address(macctl.FallbackAddress[:]) && len(b) == 1200+frame.HeaderOctets+frame.TagOctets,
			"priority %d: %d octets, header %+v", prio, len(b), h)
		for _, trust := range []classify.Trust{classify.TrustPCP, classify.TrustDSCP} {
			c.Classify.Trust = trust
			got := c.Classify.Priority(b, h)
			assert.True(t, got == prio, "priority %d: a port that trusts %v takes it for %d", prio, trust, got)
		}
		ip := b[frame.HeaderOctets+frame.TagOctets:]
		assert.True(t, frame.Sum(ip[:streamHeader], 0) == 0xffff && int(binary.BigEndian.Uint16(ip[2:])) == len(ip),
			"priority %d: IP header %x", prio, ip[:streamHeader])
	}
}

// A paused priority sends no stream, one that is freed goes on; what is not paused goes first where it is strict.
func TestStreamObeysPauses(t *testing.T) {
	r, p := measuringRig(t)
	r.streams(p, lossless, r.now+second)
	assert.MustBeTrue(t, len(r.send(0, 64)) != 0, "there is no stream")
	r.hear(0, lossless, 0xffff)
	r.now += 1_000_000
	got := r.send(0, 64)
	assert.True(t, got == nil, "%d frames while the priority is paused", len(got))
	at := r.sw.TxDeadline(0, r.now)
	assert.True(t, at <= r.now+40_000_000, "looked at again in %d ns, want with the end of the pause", at-r.now)
	r.offer(1, data(1, 0, 0, 7, small))
	got = r.send(0, 64)
	assert.True(t, len(got) == 1 && sequence(got[0]) == 7, "of another priority %d frames left", len(got))
	r.hear(0, lossless, 0)
	assert.True(t, len(r.send(0, 64)) != 0, "the stream does not go on")
	p.until = 0
	r.sw.MeasureDeadline(0)
	r.now += 1_000_000
	got = r.send(0, 64)
	assert.True(t, got == nil, "%d frames after the end", len(got))
	r.empty()
}

// Data frames of the same priority go before those of the stream, and other priorities have their share beside it.
func TestStreamGoesBehindData(t *testing.T) {
	r, p := measuringRig(t)
	r.streams(p, lossless, r.now+second)
	r.offer(1, data(1, 0, lossless, 5, small), data(1, 0, lossless, 6, small))
	got := r.send(0, 64)
	assert.MustBeTrue(t, len(got) >= 3 && sequence(got[0]) == 5 && sequence(got[1]) == 6 &&
		len(got[2]) == mtu+frame.TagOctets, "sent %d frames, want the data first", len(got))
	r.offer(1, several(1, 0, 1, 40, mtu)...)
	var own, others int
	for range 4 {
		r.now += 1_000_000
		for _, b := range r.send(0, 64) {
			if h, _ := frame.Parse(b); h.TCI.PCP() == lossless {
				own++
			} else {
				others++
			}
		}
	}
	assert.True(t, own >= others-4 && others >= own-4 && others != 0,
		"%d frames of the stream beside %d of a queue of the same weight", own, others)
	assert.True(t, len(r.drain(0, r.now+second)) != 0, "nothing more")
	r.empty()
}

// It is nobody's frame that is lost where the kernel refuses one, and the stream ends.
func TestStreamIsRefused(t *testing.T) {
	r, p := measuringRig(t)
	r.streams(p, lossless, r.now+second)
	n := r.sw.Dequeue(0, r.now, nil)
	assert.MustBeTrue(t, n != 0, "there is no stream")
	f := r.sw.Plan(0, 0)
	assert.True(t, f.Length == mtu+frame.TagOctets && f.Origin.Own && !f.Origin.Lossless, "the plan begins with %+v", f)
	r.sw.Sent(0, 0, r.now)
	r.sw.Refuse(0, f, DropSend, r.now)
	got := r.send(0, 64)
	assert.True(t, got == nil && *r.count(0) == (Counters{}), "%d frames more, counters %+v", len(got), r.count(0))
}

// There is none for a priority that cannot be stopped, nor on a port that is down.
func TestNoStream(t *testing.T) {
	r, p := measuringRig(t)
	r.streams(p, 5, r.now+second)
	got := r.send(0, 64)
	assert.True(t, got == nil, "%d frames of a lossy priority", len(got))
	r.streams(p, lossless, r.now+second)
	assert.Equal(t, r.sw.Occupied(0, r.now), 1<<lossless, "there is no stream")
	r.sw.SetUp(0, false, r.now)
	r.sw.SetUp(0, true, r.now)
	got = r.send(0, 64)
	assert.True(t, got == nil, "%d frames after the link was down", len(got))
}

// The peer takes a stream: it counts towards what came after XOFF, and ends there.
func TestStreamAtThePeer(t *testing.T) {
	r, _ := measuringRig(t)
	c := testPort(9)
	b := streamFrame(&c, lossless)
	r.offer(0, b)
	if c := r.count(0); c.StreamReceived != 1 || c.ReceivedFrames != 0 || c.Drops != (Counters{}).Drops {
		t.Errorf("counters %+v, want one frame that is no data", c)
	}
	for name, spoil := range map[string]func(b []byte){
		"another protocol": func(b []byte) { b[tagAt+6+9]++ }, "another source": func(b []byte) { b[tagAt+6+12]++ },
		"another destination": func(b []byte) { b[tagAt+6+19]++ },
		"another EtherType":   func(b []byte) { b[tagAt+4] = 0x99 },
	} {
		other, before := slices.Clone(b), r.count(0).Drops[lossless][DropFiltered]
		spoil(other)
		r.offer(0, other)
		assert.True(t, r.count(0).StreamReceived == 1 && r.count(0).Drops[lossless][DropFiltered] == before+1,
			"%s: taken for a stream", name)
	}
	r.offer(0, b[:tagAt+6+10])
	l := r.sw.LookAtHeadroom(0, lossless)
	assert.True(t, l.Streamed == 1 && l.Up && l.Own && !l.XoffSent && l.Octets >= 5*uint64(frame.WireOctets(len(b))),
		"look %+v", l)
	r.sw.HoldForHeadroomProbe(0, lossless, true, r.now)
	assert.MustBeTrue(t, r.tell(0) != nil, "XOFF does not leave")
	r.now += 1000
	r.offer(0, b, b)
	l = r.sw.LookAtHeadroom(0, lossless)
	assert.True(t, l.Xoffs == 1 && l.XoffSent && l.After == 2*int64(frame.WireOctets(len(b))) && l.Before == 0 &&
		l.Streamed == 3, "look %+v", l)
	r.sw.Hold(0, lossless)
	l = r.sw.LookAtHeadroom(0, lossless)
	assert.True(t, !l.Own, "the buffer holds the peer too, and the look does not say so")
	r.sw.Release(0, lossless)
	r.sw.HoldForHeadroomProbe(0, lossless, false, r.now)
	assert.True(t, r.tell(0) != nil && r.sw.ports[0].sender.XoffSent() == 0, "the peer is not freed")
	assert.Equal(t, r.count(0).LosslessDrops, [NumPriorities + 1]uint64{}, "lossless drops")
	assert.Equal(t, r.sw.LookAtHeadroom(77, lossless), HeadroomLook{}, "no port")
	r.sw.HoldForHeadroomProbe(0, 5, true, r.now)
	r.sw.HoldForHeadroomProbe(77, lossless, true, r.now)
	assert.True(t, r.tell(0) == nil, "a lossy priority is held")
	r.empty()
}

// A peer that a check of the headroom holds is freed when the priority becomes lossy, and the end of the check still
// counts.
func TestProbeHoldEndsWithFlowControl(t *testing.T) {
	r, _ := measuringRig(t)
	r.sw.HoldForHeadroomProbe(0, lossless, true, r.now)
	assert.MustBeTrue(t, r.tell(0) != nil && r.sw.ports[0].sender.XoffSent() == 1<<lossless, "the peer is not held")
	c := r.sw.ports[0].cfg
	next := c
	next.Lossless, next.Follow, next.Prober = 0, 0, nil
	for _, c := range []PortConfig{next, c} {
		r.reconfigure(r.sw.cfg, c, r.sw.ports[1].cfg)
		r.tell(0)
		if s := r.sw.ports[0].sender; s.XoffSent() != 0 || s.Causes(lossless) != 0 {
			t.Errorf("lossless %08b: told %08b, causes %b", c.Lossless, s.XoffSent(), s.Causes(lossless))
		}
	}
	r.sw.ports[0].sender.Hold(5, macctl.CauseHeadroomProbe) // a lossy one
	r.sw.HoldForHeadroomProbe(0, 5, false, r.now)
	got := r.sw.ports[0].sender.Causes(5)
	assert.True(t, got == 0, "still held for %b", got)
}

// Choosing frames of a stream takes no memory.
func TestStreamAllocatesNothing(t *testing.T) {
	r, p := measuringRig(t)
	r.streams(p, lossless, math.MaxInt64)
	b := port.NewBatch()
	n := testing.AllocsPerRun(200, func() {
		b.Reset()
		r.now += 1_000_000
		n := r.sw.Dequeue(0, r.now, nil)
		r.sw.Fill(0, b, nil)
		r.sw.Sent(0, n, r.now)
	})
	assert.True(t, n == 0, "%v allocations", n)
}

// Whatever comes to the address of streams is counted once, as one or as data, and goes no further.
func FuzzHandleStream(f *testing.F) {
	c := testPort(9)
	f.Add(streamFrame(&c, lossless)[12:])
	f.Add([]byte{0x08, 0x00, 0x45})
	f.Add([]byte{0x81, 0x00, 0x60, 0x00, 0x08, 0x00})
	r, _ := measuringRig(f)
	runs := 0
	f.Fuzz(func(t *testing.T, b []byte) {
		r.tb = t
		before := *r.count(0)
		whole := append(slices.Clone(streamFrame(&c, lossless)[:12]), b...)
		r.arrive(0, whole)
		n := r.count(0).StreamReceived + r.count(0).ReceivedFrames - before.StreamReceived - before.ReceivedFrames
		assert.True(t, n <= 1, "counted %d times", n)
		got := r.send(1, 64)
		assert.True(t, got == nil, "%x was forwarded", got)
		r.settle()
		if runs%64 == 0 { // it takes ten times as long as the rest
			r.empty()
		}
		runs++
	})
}
