package config

import (
	"strings"
	"testing"
)

// A headroom that was measured needs its room above the watermarks of a trunk, as a calculated one does: that of the ports
// which a watermark holds, and that of all others, which the pool keeps for them.
func TestTrunkRoom(t *testing.T) {
	const pfc = `
priorities: {lossless: [3]}
buffer: {lossless: {size: 1MiB}, cell: 256}
ports: {m1: {speed: 100M}, m2: {speed: 100M, priorities: {3: {headroom: M2}}}, u: {speed: 100M}, other: {speed: 100M}}
trunks: {t: {uplink: u, members: [m1, m2], watermarks: {priority: {3: {high: 870KiB, low: 1KiB}}, uplink_priority: {3: {high: 700KiB, low: 1KiB}}}}}
`
	const pause = `
buffer: {lossless: {size: 1MiB}, cell: 256}
ports: {m1: {speed: 100M, flow_control: pause}, m2: {speed: 100M, flow_control: pause}, u: {speed: 100M, flow_control: pause}}
trunks: {t: {uplink: u, members: [m1, m2], flow_control: pause, watermarks: {member: {high: 870KiB, low: 1KiB}, uplink: {high: 800KiB, low: 1KiB}}}}
`
	auto, byHand := strings.ReplaceAll(pfc, "M2", "auto"), strings.ReplaceAll(pfc, "M2", "60KiB")
	for _, tt := range []struct {
		name, yaml string
		found      map[string]int64
		want       []string // what the error says, in order; none: there is room
	}{
		{"nothing found", auto, nil, nil},
		{"members just fit", auto, map[string]int64{"m1": 62 << 10, "m2": 62 << 10}, nil},
		{"members one octet above", auto, map[string]int64{"m1": 62 << 10, "m2": 62<<10 + 1}, []string{"t.watermarks.priority.3.high: 870KiB leaves too little"}},
		{"one member found, the other calculated", auto, map[string]int64{"m1": 120 << 10}, []string{"t.watermarks.priority.3.high"}},
		{"the uplink just fits beside members", auto, map[string]int64{"u": 113 << 10}, nil},
		{"the uplink takes the room of members", auto, map[string]int64{"u": 114 << 10}, []string{"t.watermarks.priority.3.high"}},
		{"the uplink has room", auto, map[string]int64{"m1": 200 << 10, "u": 90 << 10}, []string{"t.watermarks.priority.3.high"}},
		{"both ways", auto, map[string]int64{"m1": 200 << 10, "u": 91 << 10}, []string{"t.watermarks.priority.3.high", "t.watermarks.uplink_priority.3.high: 700KiB leaves too little"}},
		{"a port of no trunk just fits", auto, map[string]int64{"other": 113 << 10, "gone": 500 << 10}, nil},
		{"a port of no trunk takes the room", auto, map[string]int64{"other": 114 << 10}, []string{"t.watermarks.priority.3.high"}},
		{"by hand stays by hand", byHand, map[string]int64{"m2": 500 << 10}, nil},
		{"beside one by hand", byHand, map[string]int64{"m1": 65 << 10, "m2": 1}, []string{"t.watermarks.priority.3.high"}},
		{"under pause just fits", pause, map[string]int64{"m1": 62 << 10, "m2": 62 << 10, "u": 22 << 10}, nil},
		{"a member under pause", pause, map[string]int64{"m1": 62 << 10, "m2": 62<<10 + 1, "u": 22 << 10}, []string{"t.watermarks.member.high"}},
		{"the uplink under pause", pause, map[string]int64{"u": 195 << 10}, []string{"t.watermarks.member.high", "t.watermarks.uplink.high"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := mustParse(t, tt.yaml).TrunkRoom(tt.found)
			if tt.want == nil {
				if err != nil {
					t.Errorf("got %v, want room", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("there is room, want %q", tt.want)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tt.want) {
				t.Fatalf("got %q, want %q", lines, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("got %q, want %q in it", lines[i], want)
				}
			}
		})
	}
}
