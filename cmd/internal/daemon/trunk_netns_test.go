package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// threeToOne are the keys of a trunk of ports 1 to 3 with port 4 as uplink.
func threeToOne(more string) string {
	return "priorities: {lossless: [3]}\nfdb: []\ntrunks: {up: {uplink: p4, members: [p1, p2, p3]" + more + "}}\n"
}

// trunk returns the state of the trunk.
func (r *rig) trunk() *dataplane.TrunkSnapshot {
	r.t.Helper()
	var s dataplane.Snapshot
	r.d.runner.Snapshot(&s)
	if len(s.Trunks) != 1 {
		r.t.Fatalf("%d trunks, want 1", len(s.Trunks))
	}
	return &s.Trunks[0]
}

// Members that send three times what the uplink carries lose nothing of a lossless priority: watermarks hold them and
// let them go. Trunks may change meanwhile.
func TestTrunkIsLosslessUnderLoad(t *testing.T) {
	r := newRig(t, 4, lab.LinkOptions{})
	marks := threeToOne(", watermarks: {priority: {3: {high: 128KiB, low: 64KiB}}}")
	r.start(setup{keys: marks, each: at100M})
	sink := r.station(4, macctl.ModePFC, 100e6)
	var members []*station
	var stops []func()
	for n := 1; n <= 3; n++ {
		s := r.station(n, macctl.ModePFC, 100e6)
		members = append(members, s)
		stops = append(stops, s.send(stream{to: 4, prio: 3}, stream{to: 4, prio: 0, rate: 10e6}))
	}
	eventually(t, "all members are held and freed", func() bool {
		v := r.trunk()
		return v.Holds[3].Marked() > 2 && members[0].controls.Load() > 2 && members[1].controls.Load() > 2 &&
			members[2].controls.Load() > 2
	})
	for _, keys := range []string{threeToOne(", distribution: flow-hash"), marks} {
		before := sink.tally(2, 3).frames
		must(t, r.apply(setup{keys: keys, each: at100M}, 4))
		eventually(t, "frames go on", func() bool { return sink.tally(2, 3).frames > before+50 })
	}
	for i, stop := range stops {
		stop()
		sink.whole(members[i], 3)
	}
	r.noLosslessDrops()
	if got := r.snapshot(4).ControlSent.PFCFrames[3]; got != 0 {
		t.Errorf("the uplink was told to stop %d times by what it receives nothing from", got)
	}
}

// A member whose link goes down, or whose interface goes away, leaves its share to the others and gets it again; while
// it is paused and away it holds nobody.
func TestTrunkMembersComeAndGo(t *testing.T) {
	r := newRig(t, 4, lab.LinkOptions{})
	r.start(setup{keys: threeToOne(""), each: at100M})
	var hosts []*station
	for n := 1; n <= 4; n++ {
		hosts = append(hosts, r.station(n, macctl.ModePFC, 100e6))
	}
	h1, h2, h3, h4 := hosts[0], hosts[1], hosts[2], hosts[3]
	stop := h4.send(stream{to: 1, prio: 0, rate: 20e6}, stream{to: 1, prio: 3, rate: 20e6})
	goesTo := func(what string, stations ...*station) {
		t.Helper()
		var before []uint64
		for _, s := range stations {
			before = append(before, s.tally(4, 3).frames+s.tally(4, 0).frames)
		}
		eventually(t, what, func() bool {
			for i, s := range stations {
				if s.tally(4, 3).frames+s.tally(4, 0).frames < before[i]+20 {
					return false
				}
			}
			return true
		})
	}
	goesTo("every member gets a share", h1, h2, h3)

	h1.pfc(1<<3, 0xffff)
	h2.pfc(1<<3, 0xffff)
	h3.pfc(1<<3, 0xffff)
	eventually(t, "the uplink is held for its paused members", func() bool { return h4.paused.Load()&(1<<3) != 0 })
	h1.pfc(1<<3, 0)
	eventually(t, "one is free", func() bool { return h4.paused.Load()&(1<<3) == 0 })
	h2.pfc(1<<3, 0)
	h3.pfc(1<<3, 0)
	goesTo("every member again", h1, h2, h3)

	ip(t, r.sw, "link", "set", "p2", "down")
	r.waitUp(2, false)
	goesTo("the others take its share", h1, h3)
	ip(t, r.sw, "link", "set", "p2", "up")
	r.waitUp(2, true)
	goesTo("it has it again", h1, h2, h3)
	h2.stop()
	ip(t, r.sw, "link", "del", "p2")
	eventually(t, "its interface is missed", func() bool { return r.state(2) != "" && !r.trunk().Members[1].Up })
	goesTo("the others take its share again", h1, h3)
	stop()
	r.noLosslessDrops()
	if v := r.trunk(); v.Held.Uplink != 0 || v.Held.Priorities != 0 {
		t.Errorf("somebody stays held: %+v", v.Held)
	}
}
