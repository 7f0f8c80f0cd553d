package daemon

import (
	"maps"
	"slices"
	"strings"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
	"pfcswitch/macctl"
)

// restartChanges need a restart.
var restartChanges = refused(tree{"name": "other", "workers": "per-port", "nice": 0, "assist": "off",
	"assist.freeze": "6ms", "assist.hold": "6s", "buffer.cell": "512B", "metrics.listen": "127.0.0.1:0",
	"metrics.web_config": "DIR/web.yml", "metrics.hosts": []any{"leaf1.example"}, "api.socket": "DIR/other.sock",
	"capture.directory": "DIR/other"})

// key is a change of one key to a value that the configuration in force shows as it is written.
func key(path string, value any, effect func(r *rig) bool) change {
	return change{path: path, value: value, effect: effect}
}

func refused(values tree) (all []change) {
	for path, value := range values {
		all = append(all, change{path: path, value: value, refused: "cannot change while the switch runs"})
	}
	return all
}

// bridgeChanges change ports of a bridge: p2 is where a lossless flow of p1 and p3 leaves, p4 and p5 are idle. SW
// stands for the namespace of the ports, OTHER for another name of it, DIR for a folder. Interface spare is free there,
// owned has an address.
var bridgeChanges = slices.Concat(restartChanges, []change{
	{path: "preset", value: "roce", shows: "-",
		effect: at(2, func(p portState) bool { return p.Config.Egress[6].Strict })},
	key("buffer.lossless.size", "1MiB", poolSizes(func(lossless, _ int64) bool { return lossless > 512<<10 })),
	key("buffer.lossless.alpha", 2, at(1, func(p portState) bool { return p.Config.Ingress[3].Alpha == 2 })),
	key("buffer.lossy.size", "128KiB", poolSizes(func(_, lossy int64) bool { return lossy == 128<<10 })),
	key("buffer.lossy.alpha", 4, inBuffer(func(p *buffer.PortSnapshot) bool { return p.Egress[0].Alpha == 4 })),
	key("buffer.private", "8KiB", at(1, func(p portState) bool { return p.Config.Ingress[3].Private == 8<<10 })),
	key("headroom.send_request", "on", probing(func(r *headroom.Report) bool { return r.Settings.Streams })),
	key("buffer.headroom", "40KiB", at(1, func(p portState) bool { return p.Config.Ingress[3].Headroom == 40<<10 })),
	{path: "buffer.headroom_pool.ratio", value: 2, effect: headroomPool(func(sum, pool int64) bool {
		return pool < sum*9/10
	})},
	{path: "buffer.headroom_pool.size", value: "64KiB", effect: headroomPool(func(_, pool int64) bool {
		return pool == 64<<10
	})},
	key("buffer.xon", "2KiB", at(1, func(p portState) bool { return p.Config.Ingress[3].Xon == 2<<10 })),
	key("buffer.xon_offset", "8KiB", at(1, func(p portState) bool { return p.Config.Ingress[3].XonOffset == 8<<10 })),
	{path: "buffer.policy", value: "static", also: tree{"buffer.xoff": "48KiB"},
		effect: inBuffer(func(p *buffer.PortSnapshot) bool { return p.Ingress[3].Threshold == 48<<10 })},
	key("buffer.policy", "abm", overall(func(s switchState) bool { return s.Config.Buffer.Active })),
	{path: "buffer.policy", value: "dsh", effect: headroomPool(func(sum, pool int64) bool { return pool == sum })},
	{path: "buffer.xoff", value: "32KiB", also: tree{"buffer.policy": "static"},
		effect: at(1, func(p portState) bool { return p.Config.Ingress[3].Xoff == 32<<10 })},
	// room for what a standstill leaves in a ring
	{path: "buffer.ring_hold", value: "off", also: tree{"buffer.headroom": "1MiB", "buffer.lossless.size": "16MiB"},
		effect: overall(func(s switchState) bool { return !s.Config.Buffer.RingHold })},
	key("unknown_lossless", "drop", unknownIsDropped),
	{path: "priorities.trust", value: "port", also: tree{"priorities.default": 3},
		effect: at(1, func(p portState) bool { return p.Config.Classify.Trust == classify.TrustPort })},
	key("priorities.default", 5, at(1, func(p portState) bool { return p.Config.Classify.Default == 5 })),
	{path: "priorities.lossless", value: []any{3, 4}, shows: "[3 4]",
		effect: at(1, func(p portState) bool { return p.Config.Lossless == 1<<3|1<<4 })},
	key("priorities.dscp.26", 5, at(1, func(p portState) bool { return p.Config.Classify.DSCP[26] == 5 })),
	key("queues.3.weight", 90, at(2, func(p portState) bool { return p.Config.Egress[3].Weight == 90 })),
	key("queues.3.strict", true, at(2, func(p portState) bool { return p.Config.Egress[3].Strict })),
	key("ecn.3", tree{"kmin": "8KiB", "kmax": "64KiB", "pmax": "20%"}, at(2, func(p portState) bool {
		return p.Config.ECN[3] == dataplane.ECN{Kmin: 8 << 10, Kmax: 64 << 10, Pmax: 0.2}
	})),
	{path: "fdb", value: []any{station77, tree{"mac": "02:00:00:00:00:01", "port": "p1"},
		tree{"mac": "02:00:00:00:00:02", "port": "p2"}, tree{"mac": "02:00:00:00:00:03", "port": "p3"}}, shows: "-",
		effect: func(r *rig) bool {
			return slices.ContainsFunc(r.d().runner.FDB(),
				func(e bridge.Entry) bool { return e.MAC == 0x02_00_00_00_00_77 })
		}},
	key("ageing", "20s", overall(func(s switchState) bool { return s.Config.Ageing == 20*time.Second })),
	{path: "fdb", value: []any{tree{"mac": "02:00:00:00:00:01", "port": "p1"},
		tree{"mac": "02:00:00:00:00:02", "port": "p2"}, tree{"mac": "02:00:00:00:00:77",
			"ports": []any{"p3", "p4"}}}, shows: "-",
		effect: func(r *rig) bool {
			return slices.ContainsFunc(r.d().runner.FDB(),
				func(e bridge.Entry) bool { return e.MAC == 0x02_00_00_00_00_77 && e.Group.Len() == 2 })
		}},
	{path: "fdb", value: []any{tree{"mac": "02:00:00:00:00:02", "port": "p2"}}, shows: "-", // the others are learned
		effect: func(r *rig) bool {
			return !slices.ContainsFunc(r.d().runner.FDB(),
				func(e bridge.Entry) bool { return e.Static && e.MAC == 0x02_00_00_00_00_01 })
		}},
	key("pause.quanta", "remaining", at(1, func(p portState) bool { return p.Config.Remain })),
	key("pause.quanta", 2000, at(1, func(p portState) bool { return p.Config.Quanta == 2000 })),

	{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap4", "netns": "SW",
		"addresses": []any{"10.77.0.1/24"}}, shows: "-", also: tree{"buffer.lossless.size": "4MiB",
		"buffer.lossy.size": "128KiB", "headroom.small_packets": "0%"}, later: true,
		effect: linked(4, func(p *portLink) bool {
			return p.tap != nil && p.up && slices.Contains(p.at.link.Addresses, "10.77.0.1/24")
		})},
	{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap5", "netns": "SW", "wire": "p5"}, shows: "-",
		also: tree{"buffer.lossless.size": "4MiB", "buffer.lossy.size": "128KiB",
			"headroom.small_packets": "0%"}, later: true,
		effect: linked(4, func(p *portLink) bool {
			return p.tap != nil && p.up && p.at.link.Name == "tap5" && p.cfg.Wire == "p5"
		})},
	// comes, and goes with the next
	{path: "ports.p6", value: tree{"interface": "spare", "netns": "SW", "speed": "100M"},
		also:   tree{"buffer.lossless.size": "1MiB"},
		effect: linked(6, func(p *portLink) bool { return p.up })},
	key("ports.p4.interface", "spare", linked(4, func(p *portLink) bool { return p.up && p.at.link.Name == "spare" })),
	key("ports.p4.netns", "OTHER",
		linked(4, func(p *portLink) bool { return p.up && strings.HasSuffix(p.cfg.Netns, "/other") })),
	{path: "ports.p4.interface", value: "owned", refused: "has the address 10.78.0.1/24"},
	{path: "ports.p4.force", value: true, also: tree{"ports.p4.interface": "owned"},
		effect: linked(4, func(p *portLink) bool { return p.up && p.at.link.Name == "owned" })},
	key("ports.p4.flow_control", "off", at(4, func(p portState) bool { return p.Config.Mode == macctl.ModeOff })),
	key("ports.p1.flow_control", "pause", at(1, func(p portState) bool { return p.Config.Mode == macctl.ModePause })),
	key("ports.p1.speed", "200M", at(1, func(p portState) bool { return p.Config.Speed == 200e6 })),
	// room for the longest frames, which only a port without a speed takes
	{path: "ports.p1.speed", value: "none", also: tree{"buffer.lossless.size": "4MiB", "buffer.lossy.size": "128KiB"},
		effect: at(1, func(p portState) bool { return p.Config.Speed == 0 })},
	key("ports.p2.burst", "64KiB", at(2, func(p portState) bool { return p.Config.Burst == 64<<10 })),
	key("ports.p2.delay", "200us", at(2, func(p portState) bool { return p.Config.Delay == 200_000 })),
	{path: "ports.p2.cable", value: "10km", shows: "-",
		effect: at(2, func(p portState) bool { return p.Config.Delay == 50_000 })},
	key("ports.p1.k", 8000, probing(func(r *headroom.Report) bool { return r.Settings.Inputs.K == 8000 })),
	key("ports.p1.mtu", 2000, at(1, func(p portState) bool { return p.Config.MaxFrame == 2014 })),
	{path: "ports.p1.trust", value: "port", also: tree{"ports.p1.default_priority": 3},
		effect: at(1, func(p portState) bool { return p.Config.Classify.Trust == classify.TrustPort })},
	key("ports.p1.default_priority", 5, at(1, func(p portState) bool { return p.Config.Classify.Default == 5 })),
	key("ports.p2.asymmetric", "on", at(2, func(p portState) bool { return p.Config.Obeyed() == 0xff })),
	key("ports.p2.priority_tags", "strip", at(2, func(p portState) bool { return p.Config.StripZero })),
	key("ports.p1.priorities.3", tree{"alpha": 0.5, "headroom": "60KiB", "private": "12KiB",
		"xon": "6KiB", "xon_offset": "2KiB"},
		at(1, func(p portState) bool {
			q := p.Config.Ingress[3]
			return q.Alpha == 0.5 && q.Headroom == 60<<10 && q.Private == 12<<10 && q.Xon == 6<<10 &&
				q.XonOffset == 2<<10
		})),
	{path: "ports.p1.priorities.3.xoff", value: "24KiB", also: tree{"buffer.policy": "static", "buffer.xoff": "48KiB"},
		effect: at(1, func(p portState) bool { return p.Config.Ingress[3].Xoff == 24<<10 })},
	key("ports.p1.ring.outage", "600ms", linked(1, func(p *portLink) bool { return p.opened.LosslessSlots > 4800 })),
	key("ports.p1.ring.frame", 2000, linked(1, func(p *portLink) bool { return p.opened.FrameSize == 2000 })),
	key("ports.p1.ring.other", 4096, linked(1, func(p *portLink) bool { return p.opened.OtherSlots == 4096 })),
	key("ports.p1.ring.small", 32768, linked(1, func(p *portLink) bool { return p.opened.SmallSlots == 32768 })),
	key("ports.p1.send", "packet", at(1, func(p portState) bool { return p.Config.Packet && !p.TxPath.XDP })),
	{path: "ports.p1.ring.max", value: "64MiB", also: tree{"ports.p1.ring.outage": "3s"}, // more than 32 MiB
		effect: linked(1, func(p *portLink) bool {
			return p.opened.LosslessSlots == int(p.cfg.LosslessSlots()) && p.opened.LosslessSlots > 24000
		})},
	{path: "ports.p1.pvid", value: 7, also: tree{"ports.p2.pvid": 7, "ports.p3.pvid": 7,
		"fdb": []any{tree{"mac": "02:00:00:00:00:02", "vlan": 7, "port": "p2"}}},
		effect: at(1, func(p portState) bool { return p.Config.Bridge.PVID == 7 })},
	{path: "ports.p1.tagged", value: []any{10, 20}, shows: "[10 20]", effect: at(1, func(p portState) bool {
		return p.Config.Bridge.Tagged.Has(10) && p.Config.Bridge.Tagged.Has(20)
	})},
	key("ports.p1.admit", "untagged",
		at(1, func(p portState) bool { return p.Config.Bridge.Admit == bridge.AdmitUntagged })),
	key("ports.p1.learning", false, at(1, func(p portState) bool { return !p.Config.Bridge.Learning })),
	key("ports.p1.secure", "sticky",
		at(1, func(p portState) bool { return p.Config.Bridge.Secure == bridge.SecureSticky })),
	key("ports.p1.stations", 9, at(1, func(p portState) bool { return p.Config.Bridge.Stations == 9 })),
	key("ports.p1.flood", "off", at(1, func(p portState) bool { return !p.Config.Bridge.Flood })),
	key("ports.p1.storm", "1M", at(1, func(p portState) bool { return p.Config.Bridge.Storm == 1e6 })),
	key("ports.p1.loop", "off", at(1, func(p portState) bool { return !p.Config.Bridge.Loop })),
	key("ports.p1.watchdog", tree{"fast": "off"}, watching(func(c *deadlock.Config) bool { return !c.Fast })),
	key("ports.p1.watchdog", tree{"slow": tree{"period": "20s", "threshold": 4}, "action": "forward",
		"restore": "quiet", "period": "10ms", "count": 15, "recovery": "300ms"},
		watching(func(c *deadlock.Config) bool { return quick(c) && c.Action == deadlock.Forward })),
	key("ports.p1.watchdog", tree{"mode": "sonic", "detection": "300ms", "restoration": "500ms", "poll": "100ms"},
		watching(sonic(300*time.Millisecond))),
	{path: "ports.p1.watchdog", value: tree{"detection": "400ms", "restoration": "500ms", "poll": "100ms"},
		also: tree{"watchdog.mode": "sonic"}, effect: watching(sonic(400 * time.Millisecond))},

	key("watchdog", tree{"mode": "sonic", "detection": "400ms", "restoration": "500ms", "poll": "100ms"},
		watching(sonic(400*time.Millisecond))),
	key("watchdog", tree{"fast": "off"}, watching(func(c *deadlock.Config) bool { return !c.Fast })),
	key("watchdog", tree{"action": "drop", "restore": "quiet", "period": "10ms", "count": 15,
		"recovery": "300ms", "slow": tree{"period": "20s", "threshold": 4}},
		watching(func(c *deadlock.Config) bool { return quick(c) && c.Action == deadlock.Drop })),
	key("headroom.k", 4000, probing(func(r *headroom.Report) bool { return r.Settings.Inputs.K == 4000 })),
	key("headroom.precision", "1us",
		probing(func(r *headroom.Report) bool { return r.Settings.Precision == time.Microsecond })),
	key("headroom.answer", "link", flagged(macctl.MeasureAtLink)),
	{path: "headroom.mode", value: "loopback", also: tree{"headroom.stamps": 2},
		effect: flagged(macctl.MeasureLoopback)},
	key("headroom.stamps", 2, flagged(macctl.MeasureTwoStamps)),
	key("headroom.variant", "client", flagged(macctl.MeasureClient)),
	{path: "headroom.opcode", value: 0x8001, shows: "32769",
		effect: overall(func(s switchState) bool { return s.Config.Measurement.Opcode == 0x8001 })},
	key("headroom.identifier", "02-50-47", overall(func(s switchState) bool {
		return s.Config.Measurement.Identifier == [3]byte{2, 0x50, 0x47}
	})),
	{path: "headroom.ethertype", value: 0x88B7, shows: "34999",
		effect: overall(func(s switchState) bool { return s.Config.Measurement.Fallback == 0x88B7 })},
	key("headroom.percentile", 99, probing(func(r *headroom.Report) bool { return r.Settings.Percentile == 0.99 })),
	key("headroom.small_packets", "0%", at(1, func(p portState) bool {
		return p.Config.Ingress[3].Headroom < 20<<10 // of 100M, where small frames take three times as much
	})),
	key("headroom.interval", "2s",
		probing(func(r *headroom.Report) bool { return r.Settings.Interval == 2*time.Second })),
	key("headroom.min", "20KiB", probing(func(r *headroom.Report) bool { return r.Settings.Min == 8*20<<10 })),
	key("headroom.max", "8x", probing(func(r *headroom.Report) bool { return r.Settings.Max == 8*r.Calculated })),
	key("headroom.share", "1%", // else it is some hundred thousand bytes
		probing(func(r *headroom.Report) bool { return r.Settings.Share < r.Calculated+8*100_000 })),
	key("headroom.agree", "always", probing(func(r *headroom.Report) bool { return r.Agreed })),
	key("lldp.agent", "off", linked(1, func(p *portLink) bool { return p.speaker == nil })),
	key("lldp.interval", "1s", spoken(func(a *lldp.Config, _ *dcbx.Config) bool { return a.Interval == 1 })),
	key("lldp.hold", 2, spoken(func(a *lldp.Config, _ *dcbx.Config) bool { return a.Hold == 2 })),
	key("lldp.dcbx", "cee", spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.Mode == dcbx.ModeCEE })),
	key("lldp.willing", true, spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.Willing })),
	key("lldp.tie_break", "lower", spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return !c.HigherWins })),
	key("lldp.bit_ieee", 0x10, spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.IEEEBit == 0x10 })),
	key("lldp.bit_legacy", 0x08, spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.LegacyBit == 0x08 })),
	key("lldp.change_hold", "2s",
		spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.Hold == int64(2*time.Second) })),
	key("capture.ring", "on", keeping(func(*config.Capture) bool { return true })),
	{path: "capture.memory", value: "8MiB", also: tree{"capture.ring": "on"},
		effect: keeping(func(c *config.Capture) bool { return c.Memory == 8<<20 })},
	{path: "capture.last", value: "2s", also: tree{"capture.ring": "on"},
		effect: keeping(func(c *config.Capture) bool { return c.Last == 2*time.Second })},
	{path: "capture.snap", value: 128, also: tree{"capture.ring": "on"},
		effect: keeping(func(c *config.Capture) bool { return c.Snap == 128 })},
	{path: "capture.files", value: 2, also: tree{"capture.ring": "on"},
		effect: keeping(func(c *config.Capture) bool { return c.Files == 2 })},
})

// threeStations are static entries of the first three hosts.
const threeStations = `
fdb:
- {mac: "02:00:00:00:00:01", port: p1}
- {mac: "02:00:00:00:00:02", port: p2}
- {mac: "02:00:00:00:00:03", port: p3}
`

// station77 is an entry of the filtering database.
var station77 = tree{"mac": "02:00:00:00:00:77", "vlan": 1, "port": "p4"}

// quick tells whether a watchdog has the settings that are written above for a port and for the switch.
func quick(c *deadlock.Config) bool {
	return c.Period == 10*time.Millisecond && c.Count == 15 && c.Recovery == 300*time.Millisecond &&
		c.Restore == deadlock.Quiet &&
		c.Slow && c.SlowPeriod == 20*time.Second && c.Threshold == 4
}

// sonic are settings in SONiC's terms.
func sonic(detection time.Duration) func(c *deadlock.Config) bool {
	return func(c *deadlock.Config) bool {
		return c.Detection == detection && c.Recovery == 500*time.Millisecond && c.Period == 100*time.Millisecond
	}
}

// trunkChanges change trunks: up carries the lossless flow of its members p1 and p3 to its uplink p2, side is idle.
var trunkChanges = []change{
	{path: "trunks.side", value: tree{"uplink": "p5", "members": []any{"p4"}}, shows: "-",
		effect: aggregated("side", func(t trunkState) bool {
			return t.Uplink == "p5" && len(t.Members) == 1 && t.Members[0].Port == "p4"
		})},
	key("trunks.up.distribution", "flow-hash", aggregated("up", func(t trunkState) bool { return t.Config.ByFlow })),
	{path: "trunks.up.flow_control", value: "pause", also: paused(nil),
		effect: aggregated("up", func(t trunkState) bool { return t.Config.Flow.Mode == macctl.ModePause })},
	{path: "trunks.up.watermarks", value: tree{"member": tree{"high": "64KiB", "low": "32KiB"},
		"uplink": tree{"high": "48KiB", "low": "24KiB"}},
		also: paused(tree{"trunks.up.flow_control": "pause"}),
		effect: aggregated("up", func(t trunkState) bool {
			return t.Config.Flow.Member == trunk.Mark{High: 64 << 10, Low: 32 << 10} &&
				t.Config.Flow.Uplink == trunk.Mark{High: 48 << 10, Low: 24 << 10}
		})},
	key("trunks.up.watermarks.priority.3", tree{"high": "96KiB", "low": "48KiB"},
		aggregated("up", func(t trunkState) bool {
			return t.Config.Flow.Priority[3] == trunk.Mark{High: 96 << 10, Low: 48 << 10}
		})),
	key("trunks.up.watermarks.uplink_priority.3", tree{"high": "96KiB", "low": "48KiB"},
		aggregated("up", func(t trunkState) bool {
			return t.Config.Flow.UplinkPriority[3] == trunk.Mark{High: 96 << 10, Low: 48 << 10}
		})),
	key("trunks.up.meters.0", tree{"cir": "10M", "pir": "50M", "cbs": "32KiB", "pbs": "64KiB"},
		aggregated("up", func(t trunkState) bool {
			return t.Config.Aggregate.Meters[0] == trunk.MeterConfig{CIR: 10e6, PIR: 50e6, CBS: 32 << 10, PBS: 64 << 10}
		})),
	key("trunks.up.meters.total", tree{"pir": "150M", "cbs": "128KiB", "pbs": "192KiB"},
		aggregated("up", func(t trunkState) bool {
			return t.Config.Aggregate.Total == trunk.MeterConfig{CIR: 100e6, PIR: 150e6, CBS: 128 << 10, PBS: 192 << 10}
		})),
	key("trunks.up.red.0", tree{"low": "8KiB", "high": "32KiB", "probability": "5%"},
		aggregated("up", func(t trunkState) bool { return redBetween(&t.Config.Aggregate.RED[0], 8<<10, 32<<10) })),
	key("trunks.up.red.total", tree{"low": "64KiB", "high": "128KiB", "probability": "5%"},
		aggregated("up", func(t trunkState) bool { return redBetween(&t.Config.Aggregate.TotalRED, 64<<10, 128<<10) })),
	key("trunks.up.meter_octets", "ip", aggregated("up", func(t trunkState) bool { return t.Config.IPOctets })),
	key("trunks.up.colour", "aware", aggregated("up", func(t trunkState) bool { return t.Config.Aware })),
	{path: "trunks.up.red_queue", value: "averaged",
		also:   tree{"trunks.up.red.0": tree{"low": "8KiB", "high": "32KiB", "probability": "5%"}},
		effect: aggregated("up", func(t trunkState) bool { return t.Config.Aggregate.RED[0].Averaged })},
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
