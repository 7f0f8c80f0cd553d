package bridge

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

func TestSetPortRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		i     int
		edit  func(c *PortConfig)
		words string
	}{
		{"negative index", -1, func(*PortConfig) {}, "use 0 to 255"},
		{"index beyond the table", MaxPorts, func(*PortConfig) {}, "use 0 to 255"},
		{"no PVID", 0, func(c *PortConfig) { c.PVID = 0 }, "use 1 to 4094"},
		{"reserved PVID", 0, func(c *PortConfig) { c.PVID = 4095 }, "use 1 to 4094"},
		{"negative storm limit", 0, func(c *PortConfig) { c.Storm = -1 }, "or 0 for none"},
		{"storm limit too high", 0, func(c *PortConfig) { c.Storm = MaxStorm + 1 }, "use 1 to 800000000000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newPlain(t, 2, Config{})
			c := plain()
			c.PVID = 7
			tt.edit(&c)
			_, err := b.SetPort(tt.i, c)
			wantError(t, err, tt.words)
			wantDecision(t, "as before", b.Forward(0, frame.Broadcast, stationA, 1, 60, 0), flood(Broadcast, 1))
		})
	}
}

func TestLoopNeedsIdentity(t *testing.T) {
	b, err := New(Config{})
	assert.Must(t, err)
	c := plain()
	c.Loop = true
	_, err = b.SetPort(0, c)
	wantError(t, err, "draw one at random for Config.Identity")
}

func TestSetPortAgain(t *testing.T) {
	learn := func(t *testing.T) *Bridge {
		b := newBridge(t, Config{})
		for i := range 3 {
			setPort(t, b, i, PortConfig{PVID: 1, Tagged: vlans(t, 10), Learning: true, Flood: true, Storm: 1000})
			b.SetUp(i, true)
		}
		b.Forward(0, frame.Broadcast, stationA, 1, 1500, 0)
		b.Forward(0, frame.Broadcast, stationA, 1, 1500, 0)
		b.Forward(0, frame.Broadcast, stationA, 1, 1500, 0)
		wantDecision(t, "limit used up", b.Forward(0, frame.Broadcast, stationA, 1, 60, 0), drop(DropStorm))
		return b
	}
	for _, tt := range []struct {
		name  string
		c     PortConfig
		known bool     // A is still known
		in    Decision // what becomes of a broadcast from port 0
		out   Decision // and of one from port 1 in VLAN 10
	}{
		{"nothing changes", PortConfig{PVID: 1, Tagged: vlans(t, 10), Learning: true, Flood: true, Storm: 1000},
			true, drop(DropStorm), flood(Broadcast, 0, 2)},
		{"limit off", PortConfig{PVID: 1, Tagged: vlans(t, 10), Learning: true, Flood: true},
			true, flood(Broadcast, 1, 2), flood(Broadcast, 0, 2)},
		{"other limit", PortConfig{PVID: 1, Tagged: vlans(t, 10), Learning: true, Flood: true, Storm: 2000},
			true, flood(Broadcast, 1, 2), flood(Broadcast, 0, 2)},
		{"flood off", PortConfig{PVID: 1, Tagged: vlans(t, 10), Learning: true},
			true, flood(Broadcast, 1, 2), flood(Broadcast, 2)},
		{"learning off", PortConfig{PVID: 1, Tagged: vlans(t, 10), Flood: true},
			true, flood(Broadcast, 1, 2), flood(Broadcast, 0, 2)},
		{"joins a VLAN", PortConfig{PVID: 1, Tagged: vlans(t, 10, 20), Flood: true},
			true, flood(Broadcast, 1, 2), flood(Broadcast, 0, 2)},
		{"leaves a tagged VLAN", PortConfig{PVID: 1, Learning: true, Flood: true},
			false, flood(Broadcast, 1, 2), flood(Broadcast, 2)},
		{"another PVID, still a member", PortConfig{PVID: 10, Tagged: vlans(t, 1), Flood: true},
			true, flood(Broadcast, 1, 2), flood(Broadcast, 0, 2)},
		{"another PVID", PortConfig{PVID: 20, Tagged: vlans(t, 10), Flood: true},
			false, drop(DropFiltered), flood(Broadcast, 0, 2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := learn(t)
			setPort(t, b, 0, tt.c)
			_, known := b.fdb.lookup(fdbKey(stationA, 1), 0)
			assert.True(t, known == tt.known, "known: %v, want %v", known, tt.known)
			wantDecision(t, "in", b.Forward(0, frame.Broadcast, 0, 1, 60, 0), tt.in)
			wantDecision(t, "out", b.Forward(1, frame.Broadcast, 0, 10, 60, 0), tt.out)
		})
	}
}

func TestRemovePort(t *testing.T) {
	b := newPlain(t, 3, Config{})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	for i := range 100 { // enough that some share a cluster
		assert.Must(t, b.AddStatic(stationE+uint64(i), 1, i%2, 0))
	}
	wantCounters(t, b, Counters{Entries: 101, Static: 100})
	setPort(t, b, 0, guarded())
	handle(b, 0, 0, 0)
	b.RemovePort(0)
	wantCounters(t, b, Counters{Entries: 50, Static: 50})
	wantDecision(t, "in", b.Forward(0, frame.Broadcast, stationA, 1, 60, 0), drop(DropPortDown))
	wantDecision(t, "out", b.Forward(1, frame.Broadcast, stationB, 1, 60, 0), flood(Broadcast, 2))
	wantDecision(t, "learned", b.Forward(1, stationA, stationB, 1, 60, 0), flood(UnknownUnicast, 2))
	wantDecision(t, "its static", b.Forward(2, stationE, 0, 1, 60, 0), flood(UnknownUnicast, 1))
	wantDecision(t, "another's static", b.Forward(2, stationE+1, 0, 1, 60, 0), unicast(1))
	wantError(t, b.AddStatic(stationA, 1, 0, 0), "add the port first")
	if b.SetUp(0, true); b.up.Has(0) || b.learning.Has(0) || b.flooding.Has(0) || b.shut.Has(0) {
		t.Error("a removed port came up, or left something in a set")
	}

	setPort(t, b, 0, PortConfig{PVID: 2, Flood: true})
	b.SetUp(0, true)
	wantDecision(t, "the next port of that index", b.Forward(1, frame.Broadcast, stationB, 1, 60, 0),
		flood(Broadcast, 2))

	b.RemovePort(1)
	assert.True(t, !b.up.Has(1) && !b.learning.Has(1) && !b.flooding.Has(1), "a removed port left something in a set")
	b.RemovePort(-1)
	b.RemovePort(MaxPorts)
	wantDecision(t, "alone", b.Forward(2, frame.Broadcast, 0, 1, 60, 0), drop(DropFiltered))
}
