package metrics

import (
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// sampleTrunks are one under PFC with meters and one under PAUSE without.
func sampleTrunks() []dataplane.TrunkSnapshot {
	up := dataplane.TrunkSnapshot{Uplink: "p4",
		Members: []dataplane.TrunkMember{{Port: "p1", Up: true, Share: 1518}, {Port: "p2", Area: 64}}}
	up.Config = dataplane.TrunkConfig{Name: "up", Aggregate: trunk.AggregatorConfig{Metered: true},
		Flow: trunk.FlowConfig{Mode: macctl.ModePFC}}
	up.ToUplink[3], up.ToMembers[0] = 1518, 64
	up.Held = trunk.Holds{Priorities: 1 << 3, Uplink: 1 << 4}
	up.Holds[3], up.UplinkHolds[4] = dataplane.HoldCount{Begun: 7, Passed: 2}, dataplane.HoldCount{Begun: 8, Passed: 3}
	up.Total = [trunk.NumColours]trunk.Tally{{Frames: 11, Octets: 1100}, {Frames: 12, Octets: 1200},
		{Frames: 13, Octets: 1300}}
	up.MeterRed[0], up.RED[0], up.TotalRED = trunk.Tally{Frames: 21}, trunk.Tally{Frames: 22}, trunk.Tally{Frames: 23}
	up.Members[0].Colours[0] = [trunk.NumColours]trunk.Tally{{Frames: 31, Octets: 3100}, {Frames: 32, Octets: 3200},
		{Frames: 33, Octets: 3300}}
	up.Members[1].Distributed[5] = trunk.Tally{Frames: 41, Octets: 4100}
	side := dataplane.TrunkSnapshot{Uplink: "p8", UplinkPauses: dataplane.HoldCount{Begun: 9, Passed: 4},
		Members: []dataplane.TrunkMember{{Port: "p9", Holds: dataplane.HoldCount{Begun: 10, Passed: 5}}}}
	side.Config = dataplane.TrunkConfig{Name: "side", Flow: trunk.FlowConfig{Mode: macctl.ModePause}}
	side.Held = trunk.Holds{Members: 1, Uplink: 0xff}
	return []dataplane.TrunkSnapshot{up, side}
}

func TestTrunkSeries(t *testing.T) {
	got := text(t, config())
	for family, want := range map[string][]string{
		"trunk_bytes": {`{priority="3",to="uplink",trunk="up"} 1518`, `{priority="0",to="members",trunk="up"} 64`},
		"trunk_member_bytes": {
			`{member="p1",to="uplink",trunk="up"} 1518`,
			`{member="p2",to="members",trunk="up"} 64`,
		},
		"trunk_metered_frames_total": {
			`{colour="yellow",member="p1",priority="0",trunk="up"} 32`,
			`{colour="red",member="all",priority="total",trunk="up"} 13`,
		},
		"trunk_metered_bytes_total":      {`{colour="green",member="p1",priority="0",trunk="up"} 3100`},
		"trunk_red_drops_total":          {`{priority="0",trunk="up"} 22`, `{priority="total",trunk="up"} 23`},
		"trunk_meter_drops_total":        {`{priority="0",trunk="up"} 21`},
		"trunk_distributed_frames_total": {`{member="p2",priority="5",trunk="up"} 41`},
		"trunk_distributed_bytes_total":  {`{member="p2",priority="5",trunk="up"} 4100`},
		"trunk_held": {
			`{port="p1",priority="3",trunk="up"} 1`,
			`{port="p4",priority="3",trunk="up"} 0`,
			`{port="p4",priority="4",trunk="up"} 1`,
			`{port="p9",priority="all",trunk="side"} 1`,
			`{port="p8",priority="all",trunk="side"} 1`,
		},
		"trunk_holds_total": {
			`{port="p2",priority="3",trunk="up"} 7`,
			`{port="p4",priority="4",trunk="up"} 8`,
			`{port="p9",priority="all",trunk="side"} 10`,
			`{port="p8",priority="all",trunk="side"} 9`,
		},
	} {
		all := series(t, got, family)
		for _, labels := range want {
			if line := "pfcswitch_" + family + labels; !slices.Contains(all, line) {
				t.Errorf("no %s among\n%v", line, all)
			}
		}
	}
}
