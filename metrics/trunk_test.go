package metrics

import (
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
