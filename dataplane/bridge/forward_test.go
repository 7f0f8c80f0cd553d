package bridge

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// forwardBridge has, in VLAN 1: port 0 and 1 plain, 2 without flood, 3 down; in VLAN 10: 0 and 4 tagged; port 5 is
// alone in VLAN 50, 6 and 3 are in VLAN 60 (so that 6 has only a port that is down), 7 and 2 in VLAN 70.
// Stations: A behind 0, B behind 1, C behind 4 in VLAN 10; static D behind 3, static E in VLAN 1 behind 4.
func forwardBridge(t *testing.T) *Bridge {
	b := newBridge(t, Config{})
	for i, c := range []PortConfig{
		{PVID: 1, Tagged: vlans(t, 10), Learning: true, Flood: true},
		{PVID: 1, Learning: true, Flood: true},
		{PVID: 1, Tagged: vlans(t, 70), Learning: true},
		{PVID: 1, Tagged: vlans(t, 60), Learning: true, Flood: true},
		{PVID: 40, Tagged: vlans(t, 10), Learning: true, Flood: true},
		{PVID: 50, Learning: true, Flood: true},
		{PVID: 60, Learning: true, Flood: true},
		{PVID: 70, Learning: true, Flood: true},
	} {
		setPort(t, b, i, c)
		b.SetUp(i, i != 3)
	}
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	b.Forward(1, frame.Broadcast, stationB, 1, 60, 0)
	b.Forward(4, frame.Broadcast, stationC, 10, 60, 0)
	for mac, port := range map[uint64]int{stationD: 3, stationE: 4} {
		assert.Must(t, b.AddStatic(mac, 1, port, 0))
	}
	return b
}

const (
	stationD = 0x0200_0000_000D
	stationE = 0x0200_0000_000E
	stranger = 0x0200_0000_00FF
)

func TestForward(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in       int
		dst, src uint64
		vid      uint16
		want     Decision
	}{
		{"known unicast", 0, stationB, stationA, 1, unicast(1)},
		{"known unicast leaves by a port without flood too", 2, stationB, stranger, 1, unicast(1)},
		{"same port", 0, stationA, stranger, 1, drop(DropSamePort)},
		{"to itself", 0, stationA, stationA, 1, drop(DropSamePort)},
		{"entry's port is down", 0, stationD, stationA, 1, drop(DropPortDown)},
		{"entry's port is not a member", 0, stationE, stationA, 1, drop(DropFiltered)},
		{"known, but in another VLAN", 0, stationC, stationA, 1, flood(UnknownUnicast, 1)},
		{"known in this VLAN", 0, stationC, stationA, 10, unicast(4)},
		{"unknown unicast", 0, stranger, stationA, 1, flood(UnknownUnicast, 1)},
		{"unknown unicast to the zero address", 0, 0, stationA, 1, flood(UnknownUnicast, 1)},
		{"broadcast", 1, frame.Broadcast, stationB, 1, flood(Broadcast, 0)},
		{"multicast", 1, 0x0100_5E00_0001, stationB, 1, flood(Multicast, 0)},
		{"loop probe of another switch", 1, ProbeAddress, stationB, 1, flood(Multicast, 0)},
		{"multicast tagged", 0, 0x3333_0000_0001, stationA, 10, flood(Multicast, 4)},
		{"flood from a port without flood", 2, frame.Broadcast, stranger, 1, flood(Broadcast, 0, 1)},
		{"nobody else in the VLAN", 5, frame.Broadcast, stranger, 50, drop(DropFiltered)},
		{"all others down", 6, frame.Broadcast, stranger, 60, drop(DropPortDown)},
		{"all others without flood", 7, frame.Broadcast, stranger, 70, drop(DropFiltered)},
		{"reserved: first", 0, 0x0180_C200_0000, stationA, 1, drop(DropFiltered)},
		{"reserved: MAC Control", 0, 0x0180_C200_0001, stationA, 1, drop(DropFiltered)},
		{"reserved: last of the block", 0, 0x0180_C200_000F, stationA, 1, drop(DropFiltered)},
		{"reserved: bridge management", 0, 0x0180_C200_0010, stationA, 1, drop(DropFiltered)},
		{"not reserved: one above", 0, 0x0180_C200_0011, stationA, 1, flood(Multicast, 1)},
		{"not reserved: GMRP", 0, 0x0180_C200_0020, stationA, 1, flood(Multicast, 1)},
		{"not reserved: another first octet", 0, 0x0380_C200_0001, stationA, 1, flood(Multicast, 1)},
		{"ingress not a member", 1, frame.Broadcast, stationB, 10, drop(DropFiltered)},
		{"ingress down", 3, stationA, stranger, 1, drop(DropPortDown)},
		{"ingress never set", 9, stationA, stranger, 1, drop(DropPortDown)},
		{"ingress beyond the table", MaxPorts, stationA, stranger, 1, drop(DropPortDown)},
		{"ingress negative", -1, stationA, stranger, 1, drop(DropPortDown)},
		{"VID 0", 0, stationB, stationA, 0, drop(DropFiltered)},
		{"VID 4095", 0, stationB, stationA, 4095, drop(DropFiltered)},
		{"VID of 13 bits", 0, stationB, stationA, 4097, drop(DropFiltered)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantDecision(t, tt.name, forwardBridge(t).Forward(tt.in, tt.dst, tt.src, tt.vid, 60, 1), tt.want)
		})
	}
}

func TestForwardStorm(t *testing.T) {
	b := newPlain(t, 2, Config{})
	c := plain()
	c.Storm = 1_000_000
	setPort(t, b, 0, c)

	// The bucket holds two frames of 1542 wire octets: 36 of 84 leave 60 octets, the 37th takes the rest.
	for i := range 37 {
		assert.MustEqual(t, inFull(b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)), inFull(flood(Broadcast, 1)),
			"frame %d", i)
	}
	wantDecision(t, "over the limit", b.Forward(0, frame.Broadcast, stationA, 1, 60, 0), drop(DropStorm))
	n, _ := b.TakeNotice()
	assert.True(t, n == (Notice{Kind: PortStorm, Port: 0}), "notice %+v, want one of the storm", n)
	wantDecision(t, "unknown unicast counts too", b.Forward(0, stranger, stationA, 1, 60, 0), drop(DropStorm))
	wantDecision(t, "the other port has no limit", b.Forward(1, frame.Broadcast, stationB, 1, 60, 0),
		flood(Broadcast, 0))
	wantDecision(t, "known unicast passes", b.Forward(0, stationB, stationA, 1, 60, 0), unicast(1))

	// What the drops left: 3084 - 37·84 = -24 octets; 192 µs make it 0, one more nanosecond positive.
	wantDecision(t, "at zero", b.Forward(0, frame.Broadcast, stationA, 1, 60, 192_000), drop(DropStorm))
	wantDecision(t, "refilled", b.Forward(0, frame.Broadcast, stationA, 1, 60, 192_001), flood(Broadcast, 1))
}

// TestStormIsNotChargedForNothing: a frame that has nowhere to go does not use up the limit.
func TestStormIsNotChargedForNothing(t *testing.T) {
	b := newPlain(t, 2, Config{})
	c := plain()
	c.Storm = 1000
	setPort(t, b, 0, c)
	b.SetUp(1, false)
	for range 100 {
		wantDecision(t, "nowhere to go", b.Forward(0, frame.Broadcast, stationA, 1, 1500, 0), drop(DropPortDown))
	}
	b.SetUp(1, true)
	wantDecision(t, "first flood", b.Forward(0, frame.Broadcast, stationA, 1, 1500, 0), flood(Broadcast, 1))
}

// TestNames fixes the names that stand in counters, captures and `show`.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{DropNone, "none"}, {DropFiltered, "filtered"}, {DropSamePort, "same-port"}, {DropPortDown, "port-down"},
		{DropStorm, "storm"}, {DropReason(99), "DropReason(99)"},
		{Drop, "drop"}, {Unicast, "unicast"}, {Flood, "flood"}, {Kind(99), "Kind(99)"},
		{NoCause, "none"}, {UnknownUnicast, "unknown unicast"}, {Broadcast, "broadcast"}, {Multicast, "multicast"},
		{Cause(99), "Cause(99)"},
		{NotMember, "not a member"}, {Untagged, "untagged"}, {Tagged, "tagged"}, {Form(99), "Form(99)"},
		{LoopIdle, "idle"}, {LoopWatching, "watching"}, {LoopShut, "shut"}, {LoopState(99), "LoopState(99)"},
		{NoLoopEvent, "none"}, {ProbeReturned, "own probe came back"}, {HoldoffPassed, "no probe came back"},
		{LinkDown, "port down"}, {DetectionOff, "loop detection off"}, {LoopReason(99), "LoopReason(99)"},
	} {
		assert.Equal(t, tt.v.String(), tt.want, "%T", tt.v)
	}
}

// TestZeroDecision: the zero Decision sends nothing.
func TestZeroDecision(t *testing.T) {
	d := Decision{}
	assert.True(t, d.Kind == Drop && d.Ports == nil, "the zero decision is %v to %v", d.Kind, d.Ports)
}
