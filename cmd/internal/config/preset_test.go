package config

import "testing"

// The preset is exactly the plain keys that it stands for.
func TestPresetIsItsPlainKeys(t *testing.T) {
	preset := mustParse(t, "preset: roce\nports: {p1: }")
	plain := mustParse(t, `
priorities: {trust: pcp, default: 0, lossless: [3], dscp: {26: 3, 48: 6}}
queues: {3: {weight: 50}, 0: {weight: 50}, 6: {strict: true}}
ecn: {3: {kmin: 64KiB, kmax: 256KiB, pmax: 10%}}
ports: {p1: }
`)
	if got, want := string(Expand(preset)), string(Expand(plain)); got != want {
		t.Errorf("preset roce\n got\n%s\nwant\n%s", got, want)
	}
}

// Keys beside the preset override it one by one, wherever in the file the preset stands.
func TestKeysOverrideThePreset(t *testing.T) {
	c := mustParse(t, `
priorities: {lossless: [4], dscp: {26: 4}}
queues: {6: {weight: 7}, 1: {strict: true}}
ecn: {3: off, 4: {kmin: 1KiB}}
ports: {p1: }
preset: roce
`)
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"lossless", c.Priorities.Lossless, uint8(1 << 4)},
		{"dscp 26", c.Priorities.DSCP[26], uint8(4)},
		{"dscp 48, not named", c.Priorities.DSCP[48], uint8(6)},
		{"queue 6", c.Queues[6], Queue{Weight: 7}},
		{"queue 1", c.Queues[1], Queue{Strict: true}},
		{"queue 3, not named", c.Queues[3], Queue{Weight: 50}},
		{"ecn 3", c.ECN[3], ECN{}},
		{"ecn 4", c.ECN[4], ECN{Enabled: true, Kmin: 1 << 10, Kmax: 256 << 10, Pmax: 0.1}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\n got %+v\nwant %+v", tt.name, tt.got, tt.want)
		}
	}
}
