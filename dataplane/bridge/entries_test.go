package bridge

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

func TestAddStaticRefuses(t *testing.T) {
	b := newPlain(t, 1, Config{MaxEntries: 1})
	assert.Must(t, b.AddStatic(stationA, 1, 0, 0))
	for _, tt := range []struct {
		name  string
		mac   uint64
		vid   uint16
		port  int
		words string
	}{
		{"zero address", 0, 1, 0, "use a unicast MAC address"},
		{"group address", 0x0100_5E00_0001, 1, 0, "use a unicast MAC address"},
		{"broadcast", frame.Broadcast, 1, 0, "use a unicast MAC address"},
		{"49 bits", 1 << 48, 1, 0, "use a unicast MAC address"},
		{"VLAN 0", stationB, 0, 0, "use 1 to 4094"},
		{"VLAN 4095", stationB, 4095, 0, "use 1 to 4094"},
		{"no such port", stationB, 1, 1, "add the port first"},
		{"negative port", stationB, 1, -1, "add the port first"},
		{"port beyond the table", stationB, 1, MaxPorts, "add the port first"},
		{"full", stationB, 1, 0, "full with 1 static entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, b.AddStatic(tt.mac, tt.vid, tt.port, 0), tt.words)
			wantCounters(t, b, Counters{Entries: 1, Static: 1})
		})
	}
}

// TestAddStaticWhenFull: the configuration finds the room of every dead entry, however large the table, then that of
// learned stations, sticky ones too.
func TestAddStaticWhenFull(t *testing.T) {
	const n = 1000
	for _, secure := range []Secure{SecureOff, SecureSticky} {
		b := newBridge(t, Config{MaxEntries: n, Ageing: 100})
		setPort(t, b, 0, PortConfig{PVID: 1, Learning: true, Flood: true, Secure: secure})
		setPort(t, b, 1, PortConfig{PVID: 1, Learning: true, Flood: true})
		b.SetUp(0, true)
		b.SetUp(1, true)
		for i := range uint64(n - 1) {
			b.Forward(0, frame.Broadcast, stationC+1+i, 1, 60, 50)
		}
		b.Forward(1, frame.Broadcast, stationA, 1, 60, 0)
		assert.Must(t, b.AddStatic(stationB, 1, 1, 100)) // in the place of stationA, which has aged
		wantCounters(t, b, Counters{Entries: n, Static: 1})
		for i := range uint64(n - 1) {
			assert.Must(t, b.AddStatic(stationB+0x1000*(i+1), 1, 1, 101))
		}
		wantError(t, b.AddStatic(stationA, 1, 1, 101), "full with 1000 static entries")
		wantCounters(t, b, Counters{Entries: n, Static: n, Forgot: n - 1})
	}
}

func dumpAll(b *Bridge, budget int, now int64) []Entry {
	all, next := b.Dump(nil, 0, budget, now)
	for next != 0 {
		all, next = b.Dump(all, next, budget, now)
	}
	slices.SortFunc(all, func(x, y Entry) int { return cmp.Or(cmp.Compare(x.MAC, y.MAC), cmp.Compare(x.VID, y.VID)) })
	return all
}

func TestDump(t *testing.T) {
	b := newBridge(t, Config{MaxEntries: 64, Ageing: 100})
	for i := range 3 {
		setPort(t, b, i, PortConfig{PVID: 1, Tagged: vlans(t, 4094), Learning: true, Flood: true})
		b.SetUp(i, true)
	}
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 10)
	b.Forward(1, frame.Broadcast, stationA, 4094, 60, 20)
	b.Forward(2, frame.Broadcast, stationB, 1, 60, 20)  // flushed below
	b.Forward(0, frame.Broadcast, stationD, 1, 60, -40) // aged
	b.Forward(0, frame.Broadcast, stationE, 1, 60, 70)  // seen by a worker whose clock reading is newer
	assert.Must(t, b.AddStatic(stationC, 1, 2, 0))
	b.Flush(2)
	want := []Entry{
		{MAC: stationA, VID: 1, Port: 0, Age: 50},
		{MAC: stationA, VID: 4094, Port: 1, Age: 40},
		{MAC: stationC, VID: 1, Port: 2, Static: true},
		{MAC: stationE, VID: 1, Port: 0},
	}
	for _, budget := range []int{-1, 1, 3, 1000, math.MaxInt} {
		assert.Same(t, dumpAll(b, budget, 60), want, "budget %d", budget)
	}
	got, next := b.Dump(nil, math.MaxInt, 1, 60)
	assert.True(t, len(got) == 0 && next == 0, "beyond the end: %v, next %d", got, next)
}
