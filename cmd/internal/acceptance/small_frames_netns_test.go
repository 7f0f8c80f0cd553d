package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A sender that obeys in octets fills a slower port and uses its reaction after each XOFF; no frame may wait in the
// ring. With room for small frames none finds the headroom too small for what came after XOFF, unless more octets came
// than it was calculated for. Without that room the same reaction is too much. What had come before XOFF left is
// counted apart: each lost frame has its cause.
func TestReactionInSmallFrames(t *testing.T) {
	for _, row := range []struct {
		name    string
		small   string
		streams []Stream
		loses   bool
	}{
		{"64 octets", "100%", []Stream{{Octets: 60}}, false},
		{"of any size", "100%", []Stream{{Octets: 60}, {Octets: 257}, {Octets: 1514}}, false},
		{"64 octets without room for them", "0%", []Stream{{Octets: 60}}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			const speed, mtu = 100e6, 1514
			in := headroom.Inputs{Speed: speed, MaxFrame: mtu, Burst: headroom.DefaultBurst(speed, mtu)}
			calculated := headroom.Calculate(in, macctl.ModePFC).Bytes()
			u := useAfter(t, row.small, calculated*3/4, row.streams)
			largest := int64(row.streams[len(row.streams)-1].Octets) + headroom.WireOverhead // crossed the threshold
			assert.True(t, u.Waited == 0 || !(u.Peak+largest <= calculated) || row.loses,
				"%d frames after XOFF found no room: %+v", u.Waited, u)
			assert.True(t, u.Waited != 0 || !row.loses, "no frame was lost that came after XOFF: %+v", u)
		})
	}
}

// Senders that obey as fast as they can, into a slower port, with calculated headroom and ring_hold: off. No frame is
// lost unless this machine was late: more had arrived before XOFF left than the headroom has room for beside what came
// after it, or XOFF reached the sender so late that more came than the headroom is for.
func TestObedientSendersLoseNothing(t *testing.T) {
	for _, s := range []Stream{{Octets: 60, Frames: 40_000}, {Octets: 1500, Frames: 3000}} {
		t.Run(fmt.Sprint(s.Octets), func(t *testing.T) {
			u, lost := obey(t, s)
			cells := func(octets int64) int64 {
				return octets / (int64(s.Octets) + headroom.WireOverhead) * ((int64(s.Octets) + 255) / 256 * 256)
			}
			assert.True(t, (lost == 0 || cells(u.Ring+u.Peak) > u.LeastLeft.Room) && (u.Waited == 0 || u.Exceeded != 0),
				"%d frames lost: %+v", lost, u)
			assert.True(t, u.Xoffs >= 100, "%d XOFFs prove little", u.Xoffs)
			t.Logf("%d of %d frames lost", lost, s.Frames)
		})
	}
}

// obey sends a stream from a port of 100M to one of 20M, and returns how the headroom was used and what was lost.
func obey(t *testing.T, s Stream) (u dataplane.HeadroomUse, lost uint64) {
	t.Helper()
	r := Start(t, 2, Setup{Keys: Lossless3 + "buffer: {headroom: calculated, ring_hold: off, lossless: {size: 256KiB}}",
		Each: "ring: {outage: 400ms}", Ports: map[int]string{1: "speed: 100M", 2: "speed: 20M"}})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 20e6)
	s.To, s.Prio = 2, 3
	h1.Send(s)
	h1.Finish()
	eventually(t, "what was not lost has come", func() bool {
		c := r.Snapshot(1).Counters
		lost = c.LosslessDrops[3] + c.LosslessDrops[dataplane.Unknown]
		return h2.Tally(1, 3).Frames+lost == h1.Sent[3].Load()
	})
	u = r.Snapshot(1).HeadroomUse[3]
	t.Logf("%+v", u)
	told := map[bool]uint64{} // by whether this machine was late
	for _, e := range r.Events(dataplane.EventLosslessDrop, 1) {
		if strings.Contains(e.Text, "lossless-headroom") {
			told[strings.Contains(e.Text, "this machine ran the switch late")] += e.Count
		}
	}
	assert.True(t, told[true] == u.WaitedEarly+u.WaitedBehindEarlier && told[false] == u.Waited,
		"the events tell of %d frames lost by lateness and of %d others: %+v", told[true], told[false], u)
	return u, lost
}

// useAfter sends streams from a port of 100M to one of 20M, and returns how the headroom was used. After each XOFF so
// many octets follow.
func useAfter(t *testing.T, small string, reaction int64, streams []Stream) dataplane.HeadroomUse {
	t.Helper()
	r := Start(t, 2, Setup{Keys: Lossless3 + "headroom: {small_packets: " + small + "}\n" +
		"buffer: {headroom: calculated, ring_hold: off, lossless: {size: 256KiB}}",
		Each: "ring: {outage: 400ms}", Ports: map[int]string{1: "speed: 100M", 2: "speed: 20M"}})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 20e6)
	h1.Reaction = reaction
	for i := range streams {
		streams[i].To, streams[i].Prio, streams[i].Frames = 2, 3, 20_000/uint64(len(streams)*len(streams))
	}
	h1.Send(streams...)
	h1.Finish()
	p := r.Snapshot(1)
	eventually(t, "what was not lost has come", func() bool {
		p = r.Snapshot(1)
		lost := p.Counters.LosslessDrops[3] + p.Counters.LosslessDrops[dataplane.Unknown]
		return h2.Tally(1, 3).Frames+lost == h1.Sent[3].Load()
	})
	u := p.HeadroomUse[3]
	if lost := p.Counters.LosslessDrops[3]; lost != u.Waited+u.WaitedBehindEarlier+u.WaitedEarly || u.Xoffs < 5 {
		t.Errorf("%d frames were lost, used: %+v", lost, u)
	}
	t.Logf("of %d frames: %+v", h1.Sent[3].Load(), u)
	return u
}
