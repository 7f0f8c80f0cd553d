package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// What a peer has found, where that is more, is applied at the own port, which says so to the log and to the peer.
func TestHeadroomThatThePeerHasFound(t *testing.T) {
	// 50 kB that b cannot see
	p := newPair(t, both(measuring+atOnce), [2]string{"speed: 1G, k: 400000", "speed: 1G"})
	p.measured()
	var own, peer headroom.Report
	eventually(t, "what end 0 has found is in force at end 1", func() bool {
		peer, own = p.found(0), p.found(1)
		want := own.Settings.Packing.Bytes(headroom.Octets(own.Received))
		return own.Received > own.Measured.Bits()+300_000 && own.InForce == want &&
			p.snapshot(1).Config.Ingress[3].Headroom == want &&
			peer.PeerInForce == 8*own.Holds && own.Holds >= headroom.Octets(own.Received)
	})
	if before := headroom.Octets(own.Calculated); own.Holds < before+30_000 || !peer.PeerApplied {
		t.Errorf("in force %d, calculated %d; applied, as end 0 knows: %v", own.InForce, before, peer.PeerApplied)
	}
	said := p.events(1, dataplane.EventHeadroom, fmt.Sprintf("headroom %d B, was ", own.InForce))
	assert.True(t, len(said) == 1 && strings.HasSuffix(said[0], ": told by neighbour a"), "end 1 says %q", said)
}

// A headroom that is lowered while frames lie in it stays until they have left, and is tried again until then; nothing
// is lost.
func TestHeadroomShrinksWhenItIsNotInUse(t *testing.T) {
	r := newRig(t, 2)
	const keys = Lossless3 + "buffer: {lossless: {size: 512KiB}}\nlldp: {agent: off}\nheadroom: " +
		"{interval: 50ms, agree: always}"
	withK := func(k int) *config.Config {
		return parse(t, header("peer", r.Dir+"/peer.sock")+fmt.Sprintf(
			"%s\nports: {eth0: {%s, netns: %s, k: %d}}\n", keys, At100M, r.Host(1).Path(), k))
	}
	r.Start(Setup{Keys: keys, Each: At100M})
	peer, _ := run(t, withK(160_000)) // 20 kB that the switch is told
	inForce := func() int64 { return r.Snapshot(1).Config.Ingress[3].Headroom }
	target := func() int64 {
		h := HeadroomOf(r.d(), "p1")
		return h.Settings.Packing.Bytes(headroom.Octets(h.Target))
	}
	eventually(t, "the headroom is what the peer has found", func() bool {
		h := HeadroomOf(r.d(), "p1")
		return h.Received > h.Measured.Bits()+100_000 && h.PeerApplied && inForce() == target()
	})

	h1, h2 := r.Station(1, macctl.ModeOff, 100e6), r.Station(2, macctl.ModeOff, 100e6) // who sends on after XOFF
	held := func() int64 {
		h2.PFC(1<<3, 0xffff)
		var s dataplane.Snapshot
		r.d().runner.Snapshot(&s)
		return s.Buffer.Lossless.Used.Headroom.Now
	}
	eventually(t, "the receiver is held", func() bool { held(); return r.Snapshot(2).Paused == 1<<3 })
	stop := h1.Send(Stream{To: 2, Prio: 3})
	eventually(t, "the headroom is in use", func() bool { return held() > inForce()-4096 })
	stop()
	assert.Got(peer.Apply(t.Context(), withK(0))).Must(t)
	eventually(t, "less is wanted", func() bool { held(); return target() < inForce()-10_000 })
	high := inForce() // under load a little more may have been found
	assert.Equal(t, r.d().followHeadroom(t.Context(), runner.Now()), headroomRetry, "looked at again in")
	for range 5 {
		time.Sleep(2 * headroomRetry)
		if used, now := held(), inForce(); used <= target() || now != high {
			t.Fatalf("in force %d, was %d, of which %d in use, and %d wanted", now, high, used, target())
		}
	}
	h2.PFC(1<<3, 0)
	eventually(t, "what is wanted is in force", func() bool { return inForce() == target() })
	h2.Whole(h1, 3)
	r.NoLosslessDrops()
	less := false
	for _, e := range r.Events(dataplane.EventHeadroom, 1) {
		less = less || strings.Contains(e.Text, fmt.Sprintf("B, was %d B: ", high))
		assert.True(t, !strings.Contains(e.Text, "stay in force"), "refused, though it only had to wait: %s", e.Text)
	}
	assert.True(t, less, "nobody was told")
}

// A longer cable that is applied has what is calculated for it at once, and keeps it while what was measured is of the
// shorter one.
func TestHeadroomOfALongerDelayStays(t *testing.T) {
	const keys = "preset: roce\nheadroom: {interval: 1s}\n" + atOnce // less is in force after 16 s at the earliest
	p := newPair(t, both(keys), both("speed: 1G"))
	p.measured()
	before := p.snapshot(0).Config.Ingress[3].Headroom
	p.ports[0] += ", delay: 500us"
	p.apply(0, keys)
	longer := p.found(0)
	calculated := longer.Settings.Packing.Bytes(headroom.Octets(longer.Calculated))
	assert.MustBeTrue(t, calculated >= before+100_000, "calculated are %d B, and %d were in force", calculated, before)
	for range 50 {
		now := p.snapshot(0).Config.Ingress[3].Headroom
		assert.MustBeTrue(t, now >= calculated, "in force %d B, calculated %d, events %q", now, calculated,
			p.events(0, dataplane.EventHeadroom, "headroom "))
		time.Sleep(20 * time.Millisecond)
	}
}
