package bridge

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

func grouped(t testing.TB, b *Bridge, in int, flow uint64) Decision {
	t.Helper()
	d := b.Forward(in, stationA, stationB, 1, 60, 0)
	assert.MustEqual(t, d.Kind, Grouped, "the kind of %+v", d)
	assert.MustEqual(t, b.Until(), 0, "a group's frames have a fast path until")
	return b.Pick(d, in, 1, flow)
}

// toGroup is a bridge of n ports, with stationA behind some of them.
func toGroup(t testing.TB, n int, c Config, group ...int) *Bridge {
	t.Helper()
	b := newPlain(t, n, c)
	assert.Must(t, b.AddStaticGroup(stationA, 1, group, 0))
	return b
}

// A frame goes to a port of the group that is up, in the VLAN and not the one that it came by.
func TestPickTakesAPortThatCan(t *testing.T) {
	b := toGroup(t, 6, Config{}, 1, 2, 3, 4)
	setPort(t, b, 4, PortConfig{PVID: 2, Learning: true, Flood: true})
	for _, tt := range []struct {
		name string
		in   int
		down []int
		want PortSet
		drop DropReason
	}{
		{"from outside", 0, nil, ports(1, 2, 3), DropNone},
		{"from a port of the group", 2, nil, ports(1, 3), DropNone},
		{"one is down", 0, []int{1}, ports(2, 3), DropNone},
		{"one is left", 0, []int{1, 3}, ports(2), DropNone},
		{"one is left, by which it came", 2, []int{1, 3}, PortSet{}, DropPortDown},
		{"none is up", 0, []int{1, 2, 3}, PortSet{}, DropPortDown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := 1; i <= 3; i++ {
				b.SetUp(i, true)
			}
			for _, i := range tt.down {
				b.SetUp(i, false)
			}
			var taken PortSet
			for flow := range uint64(200) {
				d := grouped(t, b, tt.in, flow<<20)
				assert.MustEqual(t, d.Reason, tt.drop, "dropped")
				if d.Kind == Unicast {
					taken.Add(d.Port)
				}
			}
			assert.Equal(t, taken, tt.want, "ports that flows took")
		})
	}
	assert.Must(t, b.AddStaticGroup(stationA, 1, []int{4}, 0))
	wantDecision(t, "no port is in the VLAN", grouped(t, b, 0, 1), drop(DropFiltered))
	assert.Must(t, b.AddStaticGroup(stationA, 1, []int{0}, 0))
	wantDecision(t, "the ingress port alone", grouped(t, b, 0, 1), drop(DropSamePort))
}

// A flow keeps its port. When a port goes down, only its own flows move, and they return. Flows spread evenly.
func TestFlowsKeepTheirPort(t *testing.T) {
	const flows = 4000
	b := toGroup(t, 6, Config{Salt: 7}, 1, 2, 3, 4)
	home, spread := map[uint64]int{}, map[int]int{}
	for i := range flows {
		flow := frame.Weight(1, i)
		home[flow] = grouped(t, b, 0, flow).Port
		spread[home[flow]]++
	}
	check := func(when string, down int) {
		for flow, at := range home {
			got := grouped(t, b, 0, flow).Port
			assert.MustBeTrue(t, got == at || at == down, "%s: flow %x goes to %d, and went to %d", when, flow, got, at)
		}
	}
	check("unchanged", -1)
	b.SetUp(2, false)
	check("port 2 is down", 2)
	b.SetUp(2, true)
	check("port 2 is up again", -1)
	b.RemovePort(3)
	check("port 3 is removed", 3)
	for port := 1; port <= 4; port++ {
		n := spread[port]
		assert.True(t, n >= flows/4*9/10 && n <= flows/4*11/10, "port %d has %d of %d flows", port, n, flows)
	}
}

// Two bridges on the way choose independently of each other: else the second one would use a part of its ports only.
func TestSaltSeparatesBridges(t *testing.T) {
	const flows = 4000
	first, second := toGroup(t, 3, Config{Salt: 1}, 1, 2), toGroup(t, 3, Config{Salt: 2}, 1, 2)
	together := 0
	for i := range flows {
		flow := frame.Weight(1, i)
		if grouped(t, first, 0, flow).Port == grouped(t, second, 0, flow).Port {
			together++
		}
	}
	assert.True(t, together >= flows*45/100 && together <= flows*55/100,
		"%d of %d flows take the port of the same number at both", together, flows)
}

func TestPickAllocatesNothing(t *testing.T) {
	b := toGroup(t, 9, Config{}, 1, 2, 3, 4, 5, 6, 7, 8)
	flow := uint64(0)
	assert.Equal(t, testing.AllocsPerRun(1000, func() {
		flow++
		b.Pick(b.Forward(0, stationA, stationB, 1, 60, 0), 0, 1, flow)
	}), 0, "allocations")
}

func TestAddStaticGroupRefuses(t *testing.T) {
	b := newPlain(t, 2, Config{MaxEntries: 1})
	wantError(t, b.AddStaticGroup(stationA, 1, nil, 0), "write one or more")
	wantError(t, b.AddStaticGroup(stationA, 1, []int{0, 2}, 0), "add the port first")
	wantError(t, b.AddStaticGroup(stationA, 0, []int{0, 1}, 0), "use 1 to 4094")
	assert.Must(t, b.AddStaticGroup(stationA, 1, []int{0, 1}, 0))
	wantError(t, b.AddStaticGroup(stationB, 1, []int{1}, 0), "full with 1 static entries")
	assert.Equal(t, len(b.fdb.groups.number), 1, "groups")
}

// A station of a group that sends to itself is traced as it is forwarded.
func TestTraceOfAGroupsStationToItself(t *testing.T) {
	b := toGroup(t, 4, Config{}, 1, 2)
	for in := range 4 {
		traced := b.Trace(in, stationA, stationA, 1, 0)
		wantDecision(t, fmt.Sprintf("from port %d", in), traced, b.Forward(in, stationA, stationA, 1, 60, 0))
		assert.Equal(t, traced.Kind, Grouped, "from port %d", in)
	}
}

// The source guard counts every port of a group as the station's, and names a secure one.
func TestSecureGroup(t *testing.T) {
	for secure := 1; secure <= 2; secure++ {
		b := toGroup(t, 4, Config{}, 1, 2)
		setPort(t, b, secure, PortConfig{PVID: 1, Flood: true, Secure: SecureStatic})
		for in, want := range map[int]DropReason{0: DropSourceGuard, 1: DropNone, 2: DropNone, 3: DropSourceGuard} {
			d := b.Forward(in, frame.Broadcast, stationA, 1, 60, 0)
			assert.Equal(t, d.Reason, want, "from port %d", in)
		}
		if n, ok := b.TakeNotice(); !ok || n.Kind != SourceDropped || n.Home != secure {
			t.Errorf("notice %+v, %v; want that the station is at home at port %d", n, ok, secure)
		}
	}
}

// Whatever is added, replaced and removed, each station is behind the ports that the last configuration said, and no
// group is left without an entry.
func TestGroupsAreThoseOfTheEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := assert.Got(New(Config{MaxEntries: 8})).Must(t)
		add := func(i int) {
			assert.Got(b.SetPort(i, PortConfig{PVID: 1, Learning: true, Flood: true})).Must(t)
			b.SetUp(i, true)
		}
		for i := range modelPorts {
			add(i)
		}
		want := map[uint64]PortSet{}
		t.Repeat(map[string]func(*rapid.T){
			"one": func(t *rapid.T) {
				mac, i := anyStation.Draw(t, "mac"), rapid.IntRange(0, modelPorts-1).Draw(t, "port")
				if b.AddStatic(mac, 1, i, 0) == nil {
					want[mac] = ports(i)
				}
			},
			"group": func(t *rapid.T) {
				mac := anyStation.Draw(t, "mac")
				group := rapid.SliceOfNDistinct(rapid.IntRange(0, modelPorts-1), 1, 3, rapid.ID[int]).Draw(t, "ports")
				if b.AddStaticGroup(mac, 1, group, 0) == nil {
					want[mac] = ports(group...)
				}
			},
			"remove": func(t *rapid.T) {
				mac := anyStation.Draw(t, "mac")
				_, known := want[mac]
				assert.MustEqual(t, b.RemoveStatic(mac, 1), known, "removed %012x", mac)
				delete(want, mac)
			},
			"replace a port": func(t *rapid.T) {
				i := rapid.IntRange(0, modelPorts-1).Draw(t, "port")
				b.RemovePort(i)
				add(i)
				for mac, set := range want {
					if set.Remove(i); set.Empty() {
						delete(want, mac)
					} else {
						want[mac] = set
					}
				}
			},
			"": func(t *rapid.T) {
				got := map[uint64]PortSet{}
				for _, e := range dumpAll(b, 100, 0) {
					if got[e.MAC] = e.Group; e.Port >= 0 {
						got[e.MAC] = ports(e.Port)
					}
				}
				assert.MustBeTrue(t, maps.Equal(got, want), "got %v, want %v", got, want)
				b.fdb.groups.check(t)
			},
		})
	})
}

// check finds a group that is counted wrongly, or found by ports that are not its own.
func (g *groups) check(t *rapid.T) {
	used := 0
	for n, x := range g.all {
		assert.MustBeTrue(t, x.entries == 0 == x.ports.Empty(), "group %d: %+v", n, x)
		if x.entries > 0 {
			used++
		}
	}
	assert.MustEqual(t, used+len(g.free), len(g.all), "groups in use and free")
	for set, n := range g.number {
		assert.MustEqual(t, g.all[n].ports, set, "ports of group %d", n)
	}
}
