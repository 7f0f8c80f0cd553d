package config

import (
	"pfcswitch/dataplane/assert"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each key that differs is named with both values as they are written, and nothing else is. A port that comes or goes
// is one change.
func TestDiff(t *testing.T) {
	const before = `preset: roce
ports: {p1: {tagged: [10, 20]}, p2: {speed: 1G}, p3: {}}
fdb: [{mac: "02:00:00:00:00:01", port: p1}]
`
	for _, tt := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"only the way it is written", "speed: 1G", "speed: 1000M", ""},
		{"a value", "p2: {speed: 1G}", "p2: {speed: 2G}", "ports.p2.speed: 1G → 2G"},
		{"a list", "[10, 20]", "[10]", "ports.p1.tagged: [10, 20] → [10]"},
		{"an entry of a list", "00:01", "00:02", "fdb: [{mac: 02:00:00:00:00:01, vlan: 1, port: p1}] → " +
			"[{mac: 02:00:00:00:00:02, vlan: 1, port: p1}]"},
		{"a word in place of a mapping", "preset: roce", "preset: roce\nassist: off",
			"assist: {freeze: 5ms, hold: 5s} → off"},
		{"a port that goes", ", p3: {}", "", "ports.p3: {interface: p3, … → -"},
		{"a port that comes", "p3: {}", "p3: {}, p4: {}", "ports.p4: - → {interface: p4, …"},
		{"a default of all ports", "preset: roce", "preset: roce\nbuffer: {private: 8KiB}",
			"buffer.private: 4KiB → 8KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Diff(mustParse(t, before), mustParse(t, strings.Replace(before, tt.old, tt.new, 1))) {
				got = append(got, c.Key+": "+brief(c.Old)+" → "+brief(c.New))
			}
			text := strings.Join(got, "; ")
			assert.True(t, text == tt.want, "got  %s\nwant %s", text, tt.want)
		})
	}
}

// brief is the value of a key, of a port its first key.
func brief(text *string) string {
	if text == nil {
		return "-"
	}
	if first, _, ok := strings.Cut(*text, ", "); ok && strings.HasPrefix(first, "{interface: ") {
		return first + ", …"
	}
	return *text
}

// Twelve trunk ports, each with all VLANs, are compared as fast as they are written.
func TestDiffOfLargePorts(t *testing.T) {
	before := mustParse(t, "preset: roce\nports: {p1: {speed: 1G}}\n")
	port := before.Ports[0]
	before.Ports = nil
	for n := range 12 {
		port.Name, port.Tagged = "p"+strconv.Itoa(n), nil
		for vid := 2; vid <= 4094; vid++ {
			port.Tagged = append(port.Tagged, uint16(vid))
		}
		before.Ports = append(before.Ports, port)
	}
	after := *before
	after.Ports = slices.Clone(before.Ports)
	after.Ports[7].Speed *= 2
	got := Diff(before, &after)
	assert.True(t, len(got) == 1 && got[0].Key == "ports.p7.speed" && *got[0].Old == "1G" && *got[0].New == "2G",
		"got %d changes, %+v, want the speed of p7 alone", len(got), got)
}
