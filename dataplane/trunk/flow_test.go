package trunk

import (
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Watermarks of the tables: held above 1000, released below 400.
var mark = Mark{High: 1000, Low: 400}

func marks() (m [NumPriorities]Mark) {
	for p := range m {
		m[p] = mark
	}
	return m
}

var (
	byInterface = FlowConfig{Mode: macctl.ModePause, Lossless: 0xFF, Member: mark, Uplink: mark, Priority: marks(),
		UplinkPriority: marks()}
	byPriority = FlowConfig{Mode: macctl.ModePFC, Lossless: 0b1001_1000, Member: mark, Uplink: mark, Priority: marks(),
		UplinkPriority: marks()}
	unmarked  = FlowConfig{Mode: macctl.ModePFC, Lossless: 0b1000}
	noControl = FlowConfig{Member: mark, Uplink: mark, Priority: marks(), UplinkPriority: marks()}
)

func share(members ...int64) Load { return Load{Member: members} }

func area(p uint8, octets int64) Load {
	l := NewLoad(3)
	l.Add(1, p, octets)
	return l
}

// Watermarks 1 to 4. A hold begins strictly above the high mark or with a pause of the uplink; it ends only when the
// load is strictly below the low mark and the uplink is free.
func TestHoldsOfMembers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		c      FlowConfig
		held   Holds
		load   Load
		paused uint8
		want   Holds
	}{
		{"share at mark 1", byInterface, Holds{}, share(1000, 0, 0), 0, Holds{}},
		{"share above mark 1: that member only", byInterface, Holds{}, share(1001, 1000, 5000), 0,
			Holds{Members: 0b101}},
		{"between the marks: stays held", byInterface, Holds{Members: 0b011}, share(400, 999, 999), 0,
			Holds{Members: 0b011}},
		{"below mark 2 and the uplink free: released", byInterface, Holds{Members: 0b111}, share(399, 400, 0), 0,
			Holds{Members: 0b010}},
		{"below mark 2, but the uplink paused: held", byInterface, Holds{Members: 0b001}, share(0, 0, 0), 0xFF,
			Holds{Members: 0b111}},
		{"uplink paused: all", byInterface, Holds{}, share(0, 0, 0), 0xFF, Holds{Members: 0b111}},
		{"uplink free again, shares between the marks: held", byInterface, Holds{Members: 0b111}, share(400, 1000, 399),
			0, Holds{Members: 0b011}},
		{"uplink free again, nothing waits", byInterface, Holds{Members: 0b111}, share(0, 0, 0), 0, Holds{}},
		{"marks of priorities do not matter", byInterface, Holds{}, area(3, 900), 0, Holds{}},
		{"the hold of the uplink is left alone", byInterface, Holds{Uplink: 0xFF}, share(0, 0, 0), 0,
			Holds{Uplink: 0xFF}},

		{"priority at mark 3", byPriority, Holds{}, area(3, 1000), 0, Holds{}},
		{"priority above mark 3", byPriority, Holds{}, area(3, 1001), 0, Holds{Priorities: 0b1000}},
		{"a lossy priority above mark 3", byPriority, Holds{}, area(2, 5000), 0, Holds{}},
		{"between the marks", byPriority, Holds{Priorities: 0b1000}, area(3, 400), 0, Holds{Priorities: 0b1000}},
		{"below mark 4", byPriority, Holds{Priorities: 0b1000}, area(3, 399), 0, Holds{}},
		{"PFC received: that priority", byPriority, Holds{}, area(3, 0), 0b1000_0000, Holds{Priorities: 0b1000_0000}},
		{"PFC received for a lossy priority", byPriority, Holds{}, area(3, 0), 0b0000_0100, Holds{}},
		{"below mark 4, but still paused", byPriority, Holds{Priorities: 0b1000}, area(3, 0), 0b1000,
			Holds{Priorities: 0b1000}},
		{"free, but above mark 4", byPriority, Holds{Priorities: 0b1000}, area(3, 1000), 0, Holds{Priorities: 0b1000}},
		{"priorities are apart", byPriority, Holds{Priorities: 0b1_0000}, area(3, 1001), 0b1000_0000,
			Holds{Priorities: 0b1000_1000}},
		{"shares of members do not matter", byPriority, Holds{}, share(9000, 0, 0), 0, Holds{}},

		{"without marks a pause passes through", unmarked, Holds{}, area(3, 1<<40), 0b1000, Holds{Priorities: 0b1000}},
		{"and ends", unmarked, Holds{Priorities: 0b1000}, area(3, 1<<40), 0, Holds{}},
		{"without flow control", noControl, Holds{Members: 7, Priorities: 8}, area(3, 1<<40), 0xFF, Holds{}},
	} {
		assert.Equal(t, tt.c.Members(tt.held, &tt.load, tt.paused), tt.want, "%s", tt.name)
	}
}

// Watermarks 5 to 8. A hold begins strictly above the high mark or when every member is paused; it ends only when the
// load is strictly below the low mark and any member is free.
func TestHoldsOfTheUplink(t *testing.T) {
	total := func(octets int64) Load { return Load{Member: make([]int64, 3), Total: octets} }
	for _, tt := range []struct {
		name   string
		c      FlowConfig
		held   uint8
		load   Load
		paused []uint8 // of the members that are up
		want   uint8
	}{
		{"total at mark 5", byInterface, 0, total(1000), []uint8{0, 0, 0}, 0},
		{"total above mark 5", byInterface, 0, total(1001), []uint8{0, 0, 0}, 0xFF},
		{"between the marks", byInterface, 0xFF, total(400), []uint8{0, 0, 0}, 0xFF},
		{"below mark 6 and a member free", byInterface, 0xFF, total(399), []uint8{0xFF, 0xFF, 0}, 0},
		{"below mark 6, but all paused", byInterface, 0xFF, total(0), []uint8{0xFF, 0xFF, 0xFF}, 0xFF},
		{"two of three members paused", byInterface, 0, total(0), []uint8{0xFF, 0xFF, 0}, 0},
		{"all members paused", byInterface, 0, total(0), []uint8{0xFF, 0xFF, 0xFF}, 0xFF},
		{"all that are up", byInterface, 0, total(0), []uint8{0xFF}, 0xFF},
		{"a member free, but above mark 6", byInterface, 0xFF, total(1000), []uint8{0, 0xFF, 0xFF}, 0xFF},
		{"nobody is up: nothing is stuck", byInterface, 0xFF, total(0), nil, 0},
		{"marks of priorities do not matter", byInterface, 0, area(3, 900), []uint8{0}, 0},

		{"priority at mark 7", byPriority, 0, area(3, 1000), []uint8{0, 0, 0}, 0},
		{"priority above mark 7", byPriority, 0, area(3, 1001), []uint8{0, 0, 0}, 0b1000},
		{"a lossy priority above mark 7", byPriority, 0, area(2, 5000), []uint8{0, 0, 0}, 0},
		{"between the marks", byPriority, 0b1000, area(3, 400), []uint8{0, 0, 0}, 0b1000},
		{"below mark 8 and one free", byPriority, 0b1000, area(3, 399), []uint8{0b1000, 0, 0b1000}, 0},
		{"below mark 8, but paused on all", byPriority, 0b1000, area(3, 399), []uint8{0b1000, 0b1001_1000, 0b1000},
			0b1000},
		{"paused on two of three", byPriority, 0, area(3, 0), []uint8{0b1000, 0b1000, 0b1_0000}, 0},
		{"paused on all", byPriority, 0, area(3, 0), []uint8{0b1_1000, 0b1_0000, 0b1_0000}, 0b1_0000},
		{"one free, but above mark 8", byPriority, 0b1000, area(3, 1000), []uint8{0b1000, 0, 0}, 0b1000},
		{"a lossy priority paused on all", byPriority, 0, area(3, 0), []uint8{0b100, 0b100, 0b100}, 0},
		{"the total does not matter", byPriority, 0, total(9000), []uint8{0}, 0},

		{"without marks all paused passes through", unmarked, 0, area(3, 1<<40), []uint8{0b1000, 0b1000}, 0b1000},
		{"without flow control", noControl, 0xFF, total(1 << 40), []uint8{0xFF}, 0},
	} {
		var common Common
		for _, paused := range tt.paused {
			common.Add(paused)
		}
		held := Holds{Members: 0b11, Priorities: 0b101, Uplink: tt.held}
		got := tt.c.ToUplink(held, &tt.load, common.Paused())
		assert.Equal(t, got, Holds{Members: 0b11, Priorities: 0b101, Uplink: tt.want}, "%s", tt.name)
	}
}

func TestLoadAddsUp(t *testing.T) {
	l := NewLoad(2)
	l.Add(0, 3, 100)
	l.Add(1, 3, 50)
	l.Add(1, 7, 10)
	l.Add(0, 3, -100)
	assert.True(t, slices.Equal(l.Member, []int64{0, 60}) && l.Priority == [NumPriorities]int64{3: 50, 7: 10} &&
		l.Total == 60, "%+v", l)
}

func TestColourNames(t *testing.T) {
	for c, want := range map[Colour]string{Green: "green", Yellow: "yellow", Red: "red", NumColours: "invalid"} {
		assert.Equal(t, c.String(), want, "%d: %v", c, c)
	}
}
