package acceptance

import (
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// threeToOne are the keys of a trunk of ports 1 to 3 with port 4 as uplink.
func threeToOne(more string) string {
	return Lossless3 + "fdb: []\ntrunks: {up: {uplink: p4, members: [p1, p2, p3]" + more + "}}\n"
}

// trunk returns the state of the trunk.
func (r *Rig) trunk() *dataplane.TrunkSnapshot {
	r.T.Helper()
	var s dataplane.Snapshot
	r.Source().Snapshot(&s)
	assert.MustBeTrue(r.T, len(s.Trunks) == 1, "%d trunks, want 1", len(s.Trunks))
	return &s.Trunks[0]
}

// A member whose link goes down, or whose interface goes away, leaves its share to the others and gets it again; while
// it is paused and away it holds nobody.
func TestTrunkMembersComeAndGo(t *testing.T) {
	r := Start(t, 4, Setup{Keys: threeToOne(""), Each: At100M})
	var hosts []*Station
	for n := 1; n <= 4; n++ {
		hosts = append(hosts, r.Station(n, macctl.ModePFC, 100e6))
	}
	h1, h2, h3, h4 := hosts[0], hosts[1], hosts[2], hosts[3]
	stop := h4.Send(Stream{To: 1, Prio: 0, Rate: 20e6}, Stream{To: 1, Prio: 3, Rate: 20e6})
	goesTo := func(what string, stations ...*Station) {
		t.Helper()
		var before []uint64
		for _, s := range stations {
			before = append(before, s.Tally(4, 3).Frames+s.Tally(4, 0).Frames)
		}
		eventually(t, what, func() bool {
			for i, s := range stations {
				if s.Tally(4, 3).Frames+s.Tally(4, 0).Frames < before[i]+20 {
					return false
				}
			}
			return true
		})
	}
	goesTo("every member gets a share", h1, h2, h3)

	IP(t, r.Node, "link", "set", "p2", "down")
	r.WaitUp(2, false)
	goesTo("the others take its share", h1, h3)
	IP(t, r.Node, "link", "set", "p2", "up")
	r.WaitUp(2, true)
	goesTo("it has it again", h1, h2, h3)
	h2.Stop()
	IP(t, r.Node, "link", "del", "p2")
	eventually(t, "its interface is missed", func() bool { return r.State(2) != "" && !r.trunk().Members[1].Up })
	goesTo("the others take its share again", h1, h3)
	stop()
	r.NoLosslessDrops()
	v := r.trunk()
	assert.True(t, v.Held.Uplink == 0 && v.Held.Priorities == 0, "somebody stays held: %+v", v.Held)
}
