package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
)

// Every reason has a name of its own, and a class.
func TestDropReasons(t *testing.T) {
	names := map[string]bool{}
	for r := range NumDropReasons {
		d := dropReasons[r]
		assert.True(t, d.name != "" && !names[d.name] && d.class >= fault && d.class <= noLoss, "reason %d: %+v", r, d)
		names[dropReasons[r].name] = true
	}
}

// A frame of a lossless priority that a receiver misses, and that is no fault, counts as discarded for its reason where
// it came in; one of a lossy priority, one that nobody misses, and a fault do not.
func TestLosslessDiscarded(t *testing.T) {
	const unknown, stranger, group = 0x02_00_00_00_99_99, 0x02_00_00_00_66_66, 0x03_00_00_00_00_01
	to := func(dst, src uint64, vid uint16, octets int) func(*rig, uint8) {
		return func(r *rig, prio uint8) { r.offer(0, ether(dst, src, tci(prio, vid), experimental, 1, octets)) }
	}
	refused := func(dst uint64, why DropReason) func(*rig, uint8) {
		return func(r *rig, prio uint8) {
			to(dst, host(0), 0, small)(r, prio)
			r.sw.Dequeue(1, r.now, nil)
			r.refuse(1, why, r.now)
		}
	}
	downAt := func(dst uint64, port int) func(*rig, uint8) {
		return func(r *rig, prio uint8) {
			r.sw.SetUp(port, false, r.now)
			to(dst, host(0), 0, small)(r, prio)
		}
	}
	none := func(*Config, []PortConfig) {}
	noFlood := func(_ *Config, p []PortConfig) { p[1].Bridge.Flood, p[2].Bridge.Flood = false, false }
	demote := func(on bool) func(*Config, []PortConfig) { return func(c *Config, _ []PortConfig) { c.Demote = on } }
	rows := []struct {
		name      string
		configure func(*Config, []PortConfig)
		act       func(r *rig, prio uint8)
		reason    DropReason
		discarded uint64 // of a lossless priority
	}{
		{"VLAN without members", none, to(host(1), host(0), 77, small), DropFiltered, 1},
		{"the same to a group", none, to(group, host(0), 77, small), DropFiltered, 0},
		{"reserved address", none, to(0x0180C2000000, host(0), 0, small), DropFiltered, 0},
		{"source of this switch", none, to(host(1), 0x02_00_00_00_01_01, 0, small), DropFiltered, 1},
		{"destination behind the same port", none, to(host(0), stranger, 0, small), DropSamePort, 0},
		{"no port to flood to", noFlood, to(unknown, host(0), 0, small), DropFiltered, 1},
		{"and a group has none", noFlood, to(group, host(0), 0, small), DropFiltered, 0},
		{"storm", func(_ *Config, p []PortConfig) { p[0].Bridge.Storm = 1 }, func(r *rig, prio uint8) {
			for range 3 {
				to(unknown, host(0), 0, mtu+frame.TagOctets)(r, prio)
			}
		}, DropStorm, 1},
		{"source guard", func(_ *Config, p []PortConfig) { p[0].Bridge.Secure = bridge.SecureStatic },
			to(host(1), stranger, 0, small), DropSourceGuard, 1},
		{"frame type", func(_ *Config, p []PortConfig) { p[0].Bridge.Admit = bridge.AdmitTagged },
			to(host(1), host(0), 0, small), DropFrameType, 1},
		{"longer than the ingress port carries", none, to(host(1), host(0), 0, mtu+5), DropOversize, 1},
		{"longer than the egress port carries", func(_ *Config, p []PortConfig) { p[0].MaxFrame = 2 * mtu },
			to(host(1), host(0), 0, mtu+5), DropOversize, 1},
		{"the kernel's EMSGSIZE", none, refused(host(1), DropOversize), DropOversize, 1},
		{"the kernel's refusal", none, refused(host(1), DropSend), DropSend, 0}, // a fault
		{"of a copy that was demoted", demote(true), refused(unknown, DropSend), DropSend, 1},
		{"no room for a copy that was demoted", func(c *Config, _ []PortConfig) { c.Buffer.Lossy.Size = 2 * cell },
			func(r *rig, prio uint8) {
				to(unknown, host(0), 0, small)(r, prio)
				to(unknown, host(0), 0, small)(r, prio)
			}, DropLossyThreshold, 2},
		{"out port down", none, downAt(host(1), 1), DropPortDown, 1},
		{"in port down", none, downAt(host(1), 0), DropPortDown, 1},
		{"in port of a group down", none, downAt(group, 0), DropPortDown, 1},
		{"out port goes down", none, func(r *rig, prio uint8) {
			to(host(1), host(0), 0, small)(r, prio)
			r.sw.SetUp(1, false, r.now)
		}, DropPortDown, 1},
		{"watchdog", none, func(r *rig, prio uint8) {
			r.sw.BreakDeadlock(1, prio, true, true, r.now)
			to(host(1), host(0), 0, small)(r, prio)
			r.send(1, 1)
		}, DropWatchdog, 1},
		{"no way through a wire", func(_ *Config, p []PortConfig) {
			p[0].Bridge.Wired, p[0].Bridge.Wire, p[1].Bridge.Wired = true, 1, true
		}, downAt(group, 1), DropPortDown, 1},
		{"no way through a trunk", func(c *Config, _ []PortConfig) {
			c.Trunks = []TrunkConfig{{Name: "up", Uplink: 1, Members: []int{0}}}
		}, downAt(group, 1), DropPortDown, 1},
		{"no port that is up to flood to", none, func(r *rig, prio uint8) {
			r.sw.SetUp(2, false, r.now)
			downAt(group, 1)(r, prio)
		}, DropPortDown, 0},
		{"unknown and not demoted", demote(false), to(unknown, host(0), 0, small), DropUnknownLossless, 1},
		{"group and not demoted", demote(false), to(group, host(0), 0, small), DropUnknownLossless, 1},
		{"RED", none, refused(host(1), DropRED), DropRED, 1},
	}
	for _, row := range rows {
		for _, prio := range []uint8{lossless, lossless + 1} {
			cfg, ports := testConfig(3), testPorts(3)
			row.configure(&cfg, ports)
			r := newRig(t, cfg, ports...)
			row.act(r, prio)
			c, want := *r.count(0), Counters{}
			if prio == lossless {
				want.LosslessDiscarded[prio][row.reason] = row.discarded
			}
			assert.True(t, c.LosslessDiscarded == want.LosslessDiscarded && (prio != lossless ||
				c.Drops[prio][row.reason] != 0), "%s: of %d drops of priority %d (%v) these are discarded: %v",
				row.name, c.Drops[prio][row.reason], prio, row.reason, c.LosslessDiscarded[prio])
			if _, discarded := r.snapshot().Losses(); discarded != want.LosslessDiscarded[prio][row.reason] {
				t.Errorf("%s: %d discarded in all", row.name, discarded)
			}
		}
	}
}

// A frame that waits for buffer, one in a delay line and those in the rings of a port are discarded with it. The figure
// stays when the port is removed, and when it is forgotten.
func TestDiscardedWithThePort(t *testing.T) {
	r := tight(t, true)
	r.sw.SetUp(0, false, r.now)
	assert.Equal(t, r.count(0).LosslessDiscarded[lossless][DropPortDown], 1, "frames of the waiting room are discarded")
	ports := testPorts(2)
	ports[1].Delay = 1_000_000
	r = newRig(t, testConfig(2), ports...)
	r.offer(0, several(0, 1, lossless, 3, small)...)
	r.offer(0, several(0, 1, 0, 4, small)...)
	r.offer(0, ether(frame.Broadcast, host(0), tci(lossless, 0), experimental, 5, small))
	r.drain(1, r.now+second)
	r.sw.LineSent(1, &LineCall{Sent: 1, SentLossless: 1}, r.now)
	r.sw.SetUp(1, false, r.now)
	if c := r.count(1); c.Drops[Unknown][DropPortDown] != 7 || c.LosslessDiscarded[Unknown][DropPortDown] != 3 {
		t.Errorf("of %d frames in the delay line %d are discarded, want 3 of 7", c.Drops[Unknown][DropPortDown],
			c.LosslessDiscarded[Unknown][DropPortDown])
	}
	r.sw.RemovePort(1, r.now)
	r.sw.KeepMeasurements("p1", new(Histogram), new(Histogram), 5, 2)
	sum := func() uint64 {
		_, discarded := r.snapshot().Losses()
		return discarded
	}
	got := r.snapshot().LosslessDiscardedRemoved
	assert.True(t, got == 5 && sum() == 5, "%d discarded frames of removed ports, %d in all, want 5", got, sum())
	r.reconfigure(testConfig(2), testPorts(2)...)
	v := r.snapshot()
	d := v.Ports[1].Counters.LosslessDiscarded[Unknown]
	assert.True(t, v.LosslessDiscardedRemoved == 0 && d[DropRing] == 2, "the port came back with %v", d)
	r.sw.RemovePort(1, r.now)
	for i := range maxRemoved {
		r.sw.keepPort(string(rune('a'+i)), &removedPort{})
	}
	r.sw.sumLossesRemoved()
	assert.Equal(t, sum(), 5, "discarded frames in all, want the 5 of a port that is forgotten")
}
