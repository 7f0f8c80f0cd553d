package metrics

import (
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// portText returns what is exported of one port alone.
func portText(t *testing.T, p dataplane.PortSnapshot) string {
	t.Helper()
	return text(t, Config{Snapshot: func(v *dataplane.Snapshot) { v.Ports = []dataplane.PortSnapshot{p} }})
}

// TestPauseTimeByMode reads the pause time from where the port's mode keeps it, under the label that the mode has.
func TestPauseTimeByMode(t *testing.T) {
	p := dataplane.PortSnapshot{PausedNs: [8]int64{3: 3e9}, HeldNs: [8]int64{3: 5e8}, PausedAllNs: 7e9, HeldAllNs: 1}
	p.Config.Name, p.Config.Lossless = "p1", 0xff
	for _, tt := range []struct {
		mode           macctl.Mode
		paused, held   string
		priorities     int
		pfcFrameSeries bool
	}{
		{macctl.ModePFC, `pfcswitch_pfc_received_paused_seconds_total{port="p1",priority="3"} 3`,
			`pfcswitch_pfc_sent_paused_seconds_total{port="p1",priority="3"} 0.5`, 8, true},
		{macctl.ModePause, `pfcswitch_pfc_received_paused_seconds_total{port="p1",priority="all"} 7`,
			`pfcswitch_pfc_sent_paused_seconds_total{port="p1",priority="all"} 1e-09`, 1, false},
		{macctl.ModeOff, `pfcswitch_pfc_received_paused_seconds_total{port="p1",priority="3"} 3`,
			`pfcswitch_pfc_sent_paused_seconds_total{port="p1",priority="3"} 0.5`, 8, true},
	} {
		p.Config.Mode = tt.mode
		got := portText(t, p)
		paused, held := lines(t, got, "pfc_received_paused_seconds_total"),
			lines(t, got, "pfc_sent_paused_seconds_total")
		assert.True(t, slices.Contains(paused, tt.paused) && len(paused) == tt.priorities,
			"%v: paused by peer: got %q, want %d with %s", tt.mode, paused, tt.priorities, tt.paused)
		assert.True(t, slices.Contains(held, tt.held) && len(held) == tt.priorities,
			"%v: peer held: got %q, want %d with %s", tt.mode, held, tt.priorities, tt.held)
		frames := 0
		for _, line := range lines(t, got, ".*_frames_total") {
			if line == `pfcswitch_pfc_received_frames_total{port="p1",priority="3"} 0` {
				frames++
			}
		}
		assert.Equal(t, frames == 1, tt.pfcFrameSeries, "%v: %d series of PFC frames", tt.mode, frames)
	}
}

func TestIgnoredControlFrames(t *testing.T) {
	p := dataplane.PortSnapshot{Config: dataplane.PortConfig{Name: "p1"}}
	p.Received.Ignored = [macctl.NumReasons]uint64{99, 1, 2, 3, 4, 5, 6, 8, 9}
	p.Counters.ControlLost = 7
	want := []string{
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="destination"} 2`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="disabled"} 4`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="opcode"} 3`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="priority"} 5`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="ring"} 7`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="surplus"} 9`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="truncated"} 1`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="vector"} 6`,
		`pfcswitch_mac_control_ignored_frames_total{port="p1",reason="watchdog"} 8`,
	}
	got := lines(t, portText(t, p), "mac_control")
	assert.True(t, slices.Equal(got, want), "got\n%q\nwant\n%q", got, want)
}
