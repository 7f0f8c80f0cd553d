package daemon

import (
	"maps"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// trunkChanges change trunks: up carries the lossless flow of its members p1 and p3 to its uplink p2, side is idle.
var trunkChanges = []change{
	{path: "trunks.side", value: tree{"uplink": "p5", "members": []any{"p4"}}, shows: "-", effect: aggregated("side", func(t *dataplane.TrunkSnapshot) bool {
		return t.Uplink == "p5" && len(t.Members) == 1 && t.Members[0].Port == "p4"
	})},
	{path: "trunks.up.distribution", value: "flow-hash", effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.ByFlow })},
	{path: "trunks.up.flow_control", value: "pause", also: paused(nil), effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.Flow.Mode == macctl.ModePause })},
	{path: "trunks.up.watermarks", value: tree{"member": tree{"high": "64KiB", "low": "32KiB"}, "uplink": tree{"high": "48KiB", "low": "24KiB"}},
		also: paused(tree{"trunks.up.flow_control": "pause"}), effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Flow.Member == trunk.Mark{High: 64 << 10, Low: 32 << 10} && t.Config.Flow.Uplink == trunk.Mark{High: 48 << 10, Low: 24 << 10}
		})},
	{path: "trunks.up.watermarks.priority.3", value: tree{"high": "96KiB", "low": "48KiB"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Flow.Priority[3] == trunk.Mark{High: 96 << 10, Low: 48 << 10}
		})},
	{path: "trunks.up.watermarks.uplink_priority.3", value: tree{"high": "96KiB", "low": "48KiB"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Flow.UplinkPriority[3] == trunk.Mark{High: 96 << 10, Low: 48 << 10}
		})},
	{path: "trunks.up.meters.0", value: tree{"cir": "10M", "pir": "50M", "cbs": "32KiB", "pbs": "64KiB"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Aggregate.Meters[0] == trunk.MeterConfig{CIR: 10e6, PIR: 50e6, CBS: 32 << 10, PBS: 64 << 10}
		})},
	{path: "trunks.up.meters.total", value: tree{"pir": "150M", "cbs": "128KiB", "pbs": "192KiB"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Aggregate.Total == trunk.MeterConfig{CIR: 100e6, PIR: 150e6, CBS: 128 << 10, PBS: 192 << 10}
		})},
	{path: "trunks.up.red.0", value: tree{"low": "8KiB", "high": "32KiB", "probability": "5%"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return redBetween(&t.Config.Aggregate.RED[0], 8<<10, 32<<10) })},
	{path: "trunks.up.red.total", value: tree{"low": "64KiB", "high": "128KiB", "probability": "5%"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return redBetween(&t.Config.Aggregate.TotalRED, 64<<10, 128<<10)
		})},
	{path: "trunks.up.meter_octets", value: "ip", effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.IPOctets })},
	{path: "trunks.up.colour", value: "aware", effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.Aware })},
	{path: "trunks.up.red_queue", value: "averaged", also: tree{"trunks.up.red.0": tree{"low": "8KiB", "high": "32KiB", "probability": "5%"}},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.Aggregate.RED[0].Averaged })},
}

// paused adds PAUSE on the ports of trunk up to what has to change.
func paused(also tree) tree {
	all := tree{"ports.p1.flow_control": "pause", "ports.p2.flow_control": "pause", "ports.p3.flow_control": "pause"}
	maps.Copy(all, also)
	return all
}

// redBetween tells whether random early discard is set to five percent between two marks.
func redBetween(c *trunk.REDConfig, low, high int64) bool {
	return c.Low == low && c.High == high && c.Probability == 0.05 && !c.Averaged
}
