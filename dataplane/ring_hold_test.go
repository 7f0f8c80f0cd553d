package dataplane

import (
	"fmt"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// tight is a rig whose port 0 has headroom for one small frame only, and has used it. The last frame found no room:
// with ringHold it waits.
func tight(tb reporter, ringHold bool) *rig {
	tb.Helper()
	cfg := testConfig(2)
	cfg.Buffer.RingHold = ringHold
	p := testPort(0)
	p.Ingress[lossless].Headroom = cell
	r := newRig(tb, cfg, p, testPort(1))
	r.hear(1, lossless, 0xffff)
	for seq := 0; !r.sw.RoomWaits(0) && faults(r.snapshot()) == 0; seq++ {
		r.offer(0, data(0, 1, lossless, seq, small))
	}
	return r
}

// A lossless frame without room waits, and so do those behind it, in the ring where the waiting room is full; nothing
// is lost.
func TestFrameWaitsInTheRing(t *testing.T) {
	r := tight(t, true)
	from := r.now
	first := r.count(0).ReceivedFrames
	waiting := [][]byte{data(0, 1, lossless, 1, small), data(0, 1, lossless, 2, small)}
	for range 3 {
		r.now += 1000
		if taken, stop := r.arrive(0, waiting...); taken != 0 || stop != FrameWaits || r.leaveRoom(0) != 0 {
			t.Fatalf("taken %d (%v), want that the frames wait", taken, stop)
		}
		r.settle()
		r.balanced()
	}
	last := r.lastEvent()
	assert.True(t, last.Kind == EventRingHold && last.Port == "p0" && last.Priority == lossless && last.Count == 1,
		"last event %+v, want one ring-hold of p0 priority %d", last, lossless)
	r.hear(1, lossless, 0)
	room := r.sw.losslessDepartures
	for range 40 {
		r.send(1, 1)
	}
	assert.Equal(t, r.sw.losslessDepartures, room+40, "%d departures were noticed", r.sw.losslessDepartures-room)
	r.now += 500
	r.leaveRoom(0)
	r.offer(0, waiting...)
	c := r.count(0)
	if want := uint64(r.now - from); c.RingHoldNs != want || c.RingHoldBytes != small {
		t.Errorf("held %d octets for %d ns, want %d for %d", c.RingHoldBytes, c.RingHoldNs, small, want)
	}
	assert.True(t, c.ReceivedFrames == first+2 && faults(r.snapshot()) == 0,
		"received %d frames, want %d; drops %v", c.ReceivedFrames, first+2, c.Drops)
	r.drain(1, r.now+second)
	r.empty()
}

// A station that moves while a frame of it waits has moved once, however often the frame is offered.
func TestStationMovesWhileItsFrameWaits(t *testing.T) {
	r := tight(t, true)
	const station = 0x02_99_00_00_00_01
	r.hear(1, lossless, 0)
	r.drain(1, r.now+second)
	r.leaveRoom(0)
	r.drain(1, r.now+second)
	r.hear(1, lossless, 0xffff)
	for seq := 0; !r.sw.RoomWaits(0); seq++ {
		r.offer(0, ether(host(1), station, tci(lossless, 1), experimental, seq, small))
	}
	before := r.sw.bridge.Counters()
	for range 10 {
		r.offer(1, ether(frame.Broadcast, station, nil, experimental, 1, small))
		r.leaveRoom(0)
	}
	got := r.sw.bridge.Counters()
	at := r.sw.bridge.Lookup(station, 1, r.now)
	assert.True(t, at.Port == 1 && got.Moves == before.Moves+1 && got.Holds == 0,
		"the station is at port %d after %d moves and %d holds, want port 1, 1 and 0", at.Port, got.Moves-before.Moves,
		got.Holds)
}

// Without ring_hold the frame is lost. Its cause is counted by when it came.
func TestDropBeyondHeadroom(t *testing.T) {
	r := tight(t, false) // XOFF has not left yet
	var use HeadroomUse
	lost := func(what string, n uint64, blamed int) {
		t.Helper()
		c := r.count(0)
		assert.True(t, c.Drops[lossless][DropLosslessHeadroom] == n && c.LosslessDrops[lossless] == n,
			"%s: drops %v, lossless %v, want %d", what, c.Drops, c.LosslessDrops, n)
		use = r.snapshot().Ports[0].HeadroomUse[lossless]
		var lossy, named uint64
		for _, e := range r.events(EventLosslessDrop) {
			lossy += e.Count
		}
		for _, e := range r.events(EventIgnoresXoff) {
			named += e.Count
		}
		if lossy != n || named != uint64(blamed) {
			t.Errorf("%s: events %v, want %d lossless-drop and %d peer-ignores-xoff", what,
				r.sw.Events(nil, 0), n, blamed)
		}
		r.balanced()
	}
	lost("XOFF has not left", 1, 0)
	left := r.now + 2*eventJoin // so that the next event is another one
	r.now = left
	r.wantXoffSent(0, 0xffff)
	for lostNow := range uint64(2) {
		r.now += 1000
		r.offerAt(left-1, several(0, 1, lossless, 1, small))
		lost("it came before XOFF", 2+lostNow, 0)
	}
	r.offerAt(left+1, several(0, 1, lossless, 1, small))
	lost("it came after XOFF", 4, 1)
	assert.True(t, use.WaitedEarly == 3 && use.Waited == 1 && use.LateXoffs == 1 && use.LateNs == 1 &&
		use.RingTotal == 2*onWire, "use %+v, want three frames early and one after XOFF, two of them 1 ns before", use)
	var said []string
	for _, e := range r.events(EventLosslessDrop) {
		_, why, _ := strings.Cut(e.Text, "off: ")
		said = append(said, fmt.Sprint(e.Count, " ", why))
	}
	const late = "this machine ran the switch late, or the kernel refused XOFF: the frame had waited for %v, and " +
		"XOFF had not left; no headroom is for that"
	want := []string{"1 " + fmt.Sprintf(late, "0s"),
		"2 " + fmt.Sprintf(late, "1ns") + " (of the first of 2 frames; the last one came 1µs later)",
		"1 frames came for 1ns after XOFF, and the headroom is for 2.24µs of such frames at the port's speed"}
	assert.Same(t, said, want, "why, by the events")
}

// The peer is said not to obey where the stamps show it: too much came after XOFF. Frames from before XOFF, and those
// that found the headroom full of such frames, are the switch's.
func TestBlameByStamps(t *testing.T) {
	const blame = "the peer does not obey XOFF"
	for _, row := range []struct {
		name   string
		before int   // frames from before XOFF, which are read after it
		after  int   // frames from after XOFF
		at     int64 // when the frame without room came, since XOFF left
		blamed bool
	}{
		{"before XOFF", 0, 0, 0, false},
		{"after XOFF", 0, 4, 1, true},
		{"after XOFF, behind frames from before", 1, 0, 1, false},
		{"the same, and too much came after XOFF", 1, 4, 1, true},
	} {
		for _, hold := range []bool{true, false} {
			r := tight(t, hold)
			r.sw.ports[0].cfg.Ingress[lossless].Headroom = 4 * cell // what came after XOFF has to exceed
			left := r.now + 2*eventJoin                             // no event is joined to earlier ones
			r.now = left
			r.wantXoffSent(0, 0xffff)
			u := &r.sw.ports[0].headroomUse[lossless]
			u.before, u.charged = int64(row.before)*onWire, int64(row.after)*cell
			since := r.sw.NextEvent()
			a := r.receive(0, [][]byte{data(0, 1, lossless, 1, small)})[0]
			a.At, r.now = left+row.at, left+1000
			r.sw.ports[0].room.refused = 0
			r.sw.admitLossless(r.sw.ports[0], &a, 0, 0, r.sw.ports[1])
			blamed := 0
			for _, e := range r.sw.Events(nil, since) {
				if strings.Contains(e.Text, blame) {
					assert.Contains(t, e.Text, "a host may be short of CPU", "%s: what may be the matter", row.name)
					blamed++
				}
			}
			if (blamed == 1) != row.blamed {
				t.Errorf("%s, ring_hold %v: events %+v, want the peer blamed: %v", row.name, hold,
					r.sw.Events(nil, since), row.blamed)
			}
		}
	}
}

// The wait of a frame ends with the link, which loses the frame.
func TestRingHoldEndsWithTheLink(t *testing.T) {
	r := tight(t, true)
	r.now += 1000
	r.sw.SetUp(0, false, r.now)
	r.balanced()
	r.now += second
	r.sw.SetUp(0, true, r.now)
	r.hear(1, lossless, 0)
	r.drain(1, r.now+second)
	r.offer(0, data(0, 1, lossless, 1, small))
	if c := r.count(0); c.RingHoldNs != 1000 || c.Drops[lossless][DropPortDown] != 1 || faults(r.snapshot()) != 0 {
		t.Errorf("held for %d ns, want the 1000 until the link went down; %d frames lost with it, want 1", c.RingHoldNs,
			c.Drops[lossless][DropPortDown])
	}
	r.drain(1, r.now+second)
	r.empty()
}

// A wait ends with a configuration under which the frame is lossy.
func TestRingHoldEndsWithTheConfiguration(t *testing.T) {
	r := tight(t, true)
	before, other := r.sw.ports[0].cfg, r.sw.ports[1].cfg
	next := before
	next.Mode = macctl.ModeOff
	r.now += 1000
	r.reconfigure(r.sw.cfg, next, other)
	r.leaveRoom(0)
	f, _ := r.sw.Trace(0, data(0, 1, lossless, 1, 60), frame.VnetHeader{}, r.now)
	assert.True(t, !f.InRing, "a frame is said to wait yet")
	r.offer(0, data(0, 1, lossless, 1, small))
	r.now += second
	r.reconfigure(r.sw.cfg, before, other)
	r.hear(1, lossless, 0)
	r.drain(1, r.now+second)
	r.offer(0, data(0, 1, lossless, 2, small))
	assert.Equal(t, r.count(0).RingHoldNs, 1000, "ns held, want the 1000 until the configuration changed")
	r.drain(1, r.now+second)
	r.empty()
}

// A frame that waits through new configurations is counted once, and its octets too.
func TestWaitingFrameIsCountedOnce(t *testing.T) {
	r := tight(t, true)
	wide, other := r.sw.ports[0].cfg, r.sw.ports[1].cfg
	from := r.now
	for range 2 {
		r.now += 1000
		r.reconfigure(r.sw.cfg, wide, other)
		assert.MustEqual(t, r.leaveRoom(0), 0, "the frame waits no more")
	}
	r.now += 1000
	wide.Ingress[lossless].Headroom *= 2 // the frame fits now
	r.reconfigure(r.sw.cfg, wide, other)
	assert.MustEqual(t, r.leaveRoom(0), 1, "the frame waits still")
	c, queue := r.count(0), r.sw.buffer.Queue(0, lossless)
	var reported uint64
	for _, e := range r.events(EventRingHold) {
		reported += e.Count
	}
	assert.True(t, queue.Waited == 1 && reported == 1 && c.RingHoldBytes == small && c.RingHoldNs == uint64(r.now-from),
		"%d frames waited by the buffer, %d by the events; held %d octets for %d ns, want 1, 1, %d, %d", queue.Waited,
		reported, c.RingHoldBytes, c.RingHoldNs, small, r.now-from)
	r.balanced()
}

// The kernel's loss counters only grow; a reading adds what is new, and only losses of the lossless ring are a fault.
func TestRingLosses(t *testing.T) {
	r := plainRig(t, 1)
	for _, reading := range []RingLosses{{Other: 3}, {Other: 3, Control: 1}, {10, 2, 1, 0}, {10, 7, 5, 4}} {
		r.sw.ReadLosses(0, reading, r.now)
	}
	c := r.count(0)
	assert.True(t, c.Drops[Unknown][DropRing] == 17 && c.LosslessDrops[Unknown] == 7 && c.ControlLost == 5 &&
		c.HostDrops == 4, "lost %d, lossless %d, control %d, host %d, want 17, 7, 5 and 4", c.Drops[Unknown][DropRing],
		c.LosslessDrops[Unknown], c.ControlLost, c.HostDrops)
	r.balanced()
	off := testPort(0)
	off.Mode, off.Lossless = 0, 0
	r = newRig(t, testConfig(1), off)
	r.sw.RingLost(0, port.Lossless, 4, r.now)
	if c := r.count(0); c.Drops[Unknown][DropRing] != 4 || c.LosslessDrops[Unknown] != 0 {
		t.Errorf("without flow control: lost %d, lossless %d, want 4 and 0", c.Drops[Unknown][DropRing],
			c.LosslessDrops[Unknown])
	}
	r.sw.ReadLosses(5, RingLosses{1, 1, 1, 1}, r.now) // a port that is not there
}

// A ring that overflows is the peer's fault only where frames that came after XOFF were too much for the headroom:
// since the last reading, or before it and the peer has been held since.
func TestOverflowIsBlamedByEvidence(t *testing.T) {
	r := plainRig(t, 1)
	p, lost := r.sw.ports[0], uint64(0)
	const peer, self = "the peer does not obey XOFF in time", "this switch did not read it"
	for _, row := range []struct {
		name     string
		waited   uint64 // frames after XOFF without room, in all
		early    uint64 // the same behind frames that had come before XOFF
		xoffSent uint8
		want     string
	}{
		{"nothing was told to the peer", 0, 0, 0, self},
		{"told, and nothing came after", 0, 0, 1 << lossless, self},
		{"frames from before XOFF took the headroom", 0, 5, 1 << lossless, self},
		{"too much came after XOFF", 2, 5, 1 << lossless, peer},
		{"the peer is held still", 2, 5, 1 << lossless, peer},
		{"the peer was free in between", 2, 5, 0, self},
		{"the peer is held anew", 2, 5, 1 << lossless, self},
		{"too much came again, and the peer is free by now", 3, 5, 0, peer},
	} {
		p.headroomUse[lossless].Waited, p.headroomUse[lossless].WaitedBehindEarlier = row.waited, row.early
		p.xoffSent = row.xoffSent
		lost += 10
		for what, lose := range []func(){
			func() { r.sw.QueueOverflowed(0, port.Lossless, 10, r.now) }, // before a port is in use
			func() { r.sw.ReadLosses(0, RingLosses{Lossless: lost}, r.now) },
		} {
			r.now += 2 * eventJoin
			lose()
			if e := r.lastEvent(); e.Kind != EventLosslessDrop || e.Count != 10 || !strings.Contains(e.Text, row.want) {
				t.Errorf("%s, %d: event %+v, want one that says %q", row.name, what, e, row.want)
			}
		}
	}
}

func TestSeeRing(t *testing.T) {
	r := plainRig(t, 1)
	for _, n := range []int{5, 90, 7} {
		r.sw.SeeRing(0, n)
	}
	r.sw.SeeRing(3, 1000)
	assert.Equal(t, r.count(0).RingFramesMax, 90, "most frames seen")
}
