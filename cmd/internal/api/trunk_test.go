package api

import (
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// sampleTrunks are one under PFC with meters and one under PAUSE without; more are green frames beyond the sample.
func sampleTrunks(more uint64) []dataplane.TrunkSnapshot {
	up := dataplane.TrunkSnapshot{Uplink: "p4", Up: true, Paused: 1 << 3, Members: []dataplane.TrunkMember{{Port: "p1", Up: true, Share: 1518, Paused: 1 << 3}, {Port: "p2", Area: 64}}}
	up.Config = dataplane.TrunkConfig{Name: "up", Aggregate: trunk.AggregatorConfig{Metered: true, Lossless: 1 << 3}, Flow: trunk.FlowConfig{Mode: macctl.ModePFC}}
	up.Config.Aggregate.Meters[0] = trunk.MeterConfig{CIR: 40e6, PIR: 60.5e6, CBS: 65536, PBS: 131072}
	up.Config.Aggregate.Total = trunk.MeterConfig{CIR: 200e6, PIR: 200e6, CBS: 65536, PBS: 131072}
	up.ToUplink[3], up.ToMembers[0] = 1518, 64
	up.Held = trunk.Holds{Priorities: 1 << 3, Uplink: 1<<3 | 1<<4}
	up.Holds[3], up.UplinkHolds[4] = dataplane.HoldCount{Begun: 7, Passed: 2}, dataplane.HoldCount{Begun: 8, Passed: 3}
	up.Total = [trunk.NumColours]trunk.Tally{{Frames: 11, Octets: 1100}, {Frames: 12, Octets: 1200}, {Frames: 13, Octets: 1300}}
	up.MeterRed[0], up.RED[0], up.TotalRED = trunk.Tally{Frames: 21, Octets: 2100}, trunk.Tally{Frames: 22, Octets: 2200}, trunk.Tally{Frames: 23, Octets: 2300}
	up.Members[0].Colours[0] = [trunk.NumColours]trunk.Tally{{Frames: 31 + more, Octets: 3100}, {Frames: 32, Octets: 3200}, {Frames: 33, Octets: 3300}}
	up.Sent, up.Members[0].Sent, up.Members[1].Sent = trunk.Tally{Frames: 51, Octets: 5100}, trunk.Tally{Frames: 1, Octets: 61}, trunk.Tally{Frames: 40, Octets: 4000}
	up.Members[1].Distributed[5] = trunk.Tally{Frames: 41, Octets: 4100}
	side := dataplane.TrunkSnapshot{Uplink: "p8", UplinkPauses: dataplane.HoldCount{Begun: 9, Passed: 4}, Members: []dataplane.TrunkMember{{Port: "p9", Up: true, Holds: dataplane.HoldCount{Begun: 10, Passed: 5}}}}
	side.Config = dataplane.TrunkConfig{Name: "side", ByFlow: true, Flow: trunk.FlowConfig{Mode: macctl.ModePause}}
	side.Held = trunk.Holds{Members: 1, Uplink: 0xff}
	return []dataplane.TrunkSnapshot{up, side}
}

// After a clear a trunk's counters begin again, and what it holds now stays.
func TestTrunkBaseline(t *testing.T) {
	var before, v dataplane.Snapshot
	(&fake{}).Snapshot(&before)
	(&fake{more: 5}).Snapshot(&v)
	b := &baseline{counters: &before}
	b.subtract(&v)
	m := &moment{snapshot: v}
	r, ok := m.readTrunk().(*Trunks)
	if !ok || len(r.Trunks) != 2 {
		t.Fatalf("%+v", r)
	}
	up := r.Trunks[0]
	if up.Priorities[0].Green.Frames != 5 || up.Priorities[0].Yellow.Frames != 0 || up.Total.Red.Frames != 0 || up.Priorities[0].MeterDropped.Frames != 0 ||
		up.Priorities[3].MemberHolds != 0 || up.Members[1].DistributedFrames != 0 || r.Trunks[1].Uplink.Holds != 0 || r.Trunks[1].Members[0].Holds != 0 {
		t.Errorf("counters: %+v", up)
	}
	if up.Uplink.Bytes != 1518 || !up.Priorities[3].MembersHeld || !up.Members[0].Held {
		t.Errorf("what is held now: %+v", up)
	}
}

// Text shows what left a port, not what was judged or assigned to it, and an uplink that is down.
func TestTrunkTextIsTrue(t *testing.T) {
	var v dataplane.Snapshot
	(&fake{}).Snapshot(&v)
	m := &moment{snapshot: v}
	rows := map[string][]string{}
	for line := range strings.Lines(m.readTrunk().Text()) {
		if f := strings.Fields(line); len(f) > 2 && rows[f[1]] == nil {
			rows[f[1]] = f
		}
	}
	for port, want := range map[string]struct{ state, received, sent string }{
		"p4": {"both", "41", "51"}, "p2": {"down", "0", "40"}, "p1": {"both", "96", "1"}, "p8": {"down", "0", "0"},
	} {
		row := rows[port]
		if n := len(row); n < 4 || !slices.Contains(row, want.state) || row[n-2] != want.received || row[n-1] != want.sent {
			t.Errorf("%s: %q, want %+v", port, row, want)
		}
	}
}
