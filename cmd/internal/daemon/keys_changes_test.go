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

// bridgeChanges change ports of a bridge: p2 is where a lossless flow of p1 and p3 leaves, p4 and p5 are idle. SW
// stands for the namespace of the ports, OTHER for another name of it, DIR for a folder. Interface spare is free there,
// owned has an address.
var bridgeChanges = []change{
	{path: "name", value: "other", refused: "cannot change while the switch runs"},
	{path: "workers", value: "per-port", refused: "cannot change while the switch runs"},
	{path: "nice", value: 0, refused: "cannot change while the switch runs"},
	{path: "buffer.cell", value: "512B", refused: "cannot change while the switch runs"},
	{path: "metrics.listen", value: "127.0.0.1:0", refused: "cannot change while the switch runs"},
	{path: "metrics.web_config", value: "DIR/web.yml", refused: "cannot change while the switch runs"},
	{path: "metrics.hosts", value: []any{"leaf1.example"}, refused: "cannot change while the switch runs"},
	{path: "api.socket", value: "DIR/other.sock", refused: "cannot change while the switch runs"},
	{path: "capture.directory", value: "DIR/other", refused: "cannot change while the switch runs"},

	{path: "preset", value: "roce", shows: "-",
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Egress[6].Strict })},
	{path: "buffer.lossless.size", value: "1MiB",
		effect: poolSizes(func(lossless, _ int64) bool { return lossless > 512<<10 })},
	{path: "buffer.lossless.alpha", value: 2,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Alpha == 2 })},
	{path: "buffer.lossy.size", value: "128KiB",
		effect: poolSizes(func(_, lossy int64) bool { return lossy == 128<<10 })},
	{path: "buffer.lossy.alpha", value: 4,
		effect: inBuffer(func(p *buffer.PortSnapshot) bool { return p.Egress[0].Alpha == 4 })},
	{path: "buffer.private", value: "8KiB",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Private == 8<<10 })},
	{path: "headroom.send_request", value: "on",
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Streams })},
	{path: "buffer.headroom", value: "40KiB",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Headroom == 40<<10 })},
	{path: "buffer.xon", value: "2KiB",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Xon == 2<<10 })},
	{path: "buffer.xon_offset", value: "8KiB",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].XonOffset == 8<<10 })},
	{path: "buffer.policy", value: "static", also: tree{"buffer.xoff": "48KiB"},
		effect: inBuffer(func(p *buffer.PortSnapshot) bool { return p.Ingress[3].Threshold == 48<<10 })},
	{path: "buffer.xoff", value: "32KiB", also: tree{"buffer.policy": "static"},
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Xoff == 32<<10 })},
	// room for what a standstill leaves in a ring
	{path: "buffer.ring_hold", value: "off", also: tree{"buffer.headroom": "1MiB", "buffer.lossless.size": "16MiB"},
		effect: overall(func(s *dataplane.Snapshot) bool { return !s.Config.Buffer.RingHold })},
	{path: "unknown_lossless", value: "drop",
		effect: unknownIs(func(f *dataplane.TraceResult) bool {
			return f.Dropped &&
				f.Reason == dataplane.DropUnknownLossless
		})},
	{path: "priorities.trust", value: "port", also: tree{"priorities.default": 3},
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Trust == classify.TrustPort })},
	{path: "priorities.default", value: 5,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Default == 5 })},
	{path: "priorities.lossless", value: []any{3, 4}, shows: "[3 4]",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Lossless == 1<<3|1<<4 })},
	{path: "priorities.dscp.26", value: 5,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.DSCP[26] == 5 })},
	{path: "queues.3.weight", value: 90,
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Egress[3].Weight == 90 })},
	{path: "queues.3.strict", value: true,
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Egress[3].Strict })},
	{path: "ecn.3", value: tree{"kmin": "8KiB", "kmax": "64KiB", "pmax": "20%"},
		effect: at(2, func(p *dataplane.PortSnapshot) bool {
			return p.Config.ECN[3] == dataplane.ECN{Kmin: 8 << 10, Kmax: 64 << 10, Pmax: 0.2}
		})},
	{path: "fdb", value: []any{station77, tree{"mac": "02:00:00:00:00:01", "port": "p1"},
		tree{"mac": "02:00:00:00:00:02", "port": "p2"}, tree{"mac": "02:00:00:00:00:03", "port": "p3"}}, shows: "-",
		effect: func(r *rig) bool {
			return slices.ContainsFunc(r.d().runner.FDB(),
				func(e bridge.Entry) bool { return e.MAC == 0x02_00_00_00_00_77 })
		}},
	{path: "ageing", value: "20s",
		effect: overall(func(s *dataplane.Snapshot) bool { return s.Config.Ageing == 20*time.Second })},
	{path: "pause.quanta", value: 2000,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Quanta == 2000 })},

	{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap4", "netns": "SW",
		"addresses": []any{"10.77.0.1/24"}}, shows: "-", also: tree{"buffer.lossless.size": "4MiB",
		"buffer.lossy.size": "128KiB"}, later: true, beside: linked(4, func(p *portLink) bool {
		return p.tap != nil && p.up && slices.Contains(p.at.link.Addresses, "10.77.0.1/24")
	})},
	{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap5", "netns": "SW", "wire": "p5"}, shows: "-",
		also: tree{"buffer.lossless.size": "4MiB", "buffer.lossy.size": "128KiB"}, later: true,
		effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.TAP && p.Config.Bridge.Wired }),
		beside: linked(4, func(p *portLink) bool { return p.tap != nil && p.up && p.at.link.Name == "tap5" })},
	// comes, and goes with the next
	{path: "ports.p6", value: tree{"interface": "spare", "netns": "SW", "speed": "100M"},
		also:   tree{"buffer.lossless.size": "1MiB"},
		beside: linked(6, func(p *portLink) bool { return p.up })},
	{path: "ports.p4.interface", value: "spare",
		beside: linked(4, func(p *portLink) bool { return p.up && p.at.link.Name == "spare" })},
	{path: "ports.p4.netns", value: "OTHER",
		beside: linked(4, func(p *portLink) bool { return p.up && strings.HasSuffix(p.cfg.Netns, "/other") })},
	{path: "ports.p4.interface", value: "owned", refused: "has the address 10.78.0.1/24"},
	{path: "ports.p4.force", value: true, also: tree{"ports.p4.interface": "owned"},
		beside: linked(4, func(p *portLink) bool { return p.up && p.at.link.Name == "owned" })},
	{path: "ports.p4.flow_control", value: "off",
		effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.Mode == macctl.ModeOff })},
	{path: "ports.p1.flow_control", value: "pause",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Mode == macctl.ModePause })},
	{path: "ports.p1.speed", value: "200M",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Speed == 200e6 })},
	{path: "ports.p2.burst", value: "64KiB",
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Burst == 64<<10 })},
	{path: "ports.p2.delay", value: "200us",
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Delay == 200_000 })},
	{path: "ports.p2.cable", value: "10km", shows: "-",
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Delay == 50_000 })},
	{path: "ports.p1.k", value: 8000,
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Inputs.K == 8000 })},
	{path: "ports.p1.mtu", value: 2000,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.MaxFrame == 2014 })},
	{path: "ports.p1.trust", value: "port", also: tree{"ports.p1.default_priority": 3},
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Trust == classify.TrustPort })},
	{path: "ports.p1.default_priority", value: 5,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Default == 5 })},
	{path: "ports.p2.priority_tags", value: "strip",
		effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.StripZero })},
	{path: "ports.p1.priorities.3", value: tree{"alpha": 0.5, "headroom": "60KiB", "private": "12KiB", "xon": "6KiB",
		"xon_offset": "2KiB"},
		effect: at(1, func(p *dataplane.PortSnapshot) bool {
			q := p.Config.Ingress[3]
			return q.Alpha == 0.5 && q.Headroom == 60<<10 && q.Private == 12<<10 && q.Xon == 6<<10 &&
				q.XonOffset == 2<<10
		})},
	{path: "ports.p1.priorities.3.xoff", value: "24KiB", also: tree{"buffer.policy": "static", "buffer.xoff": "48KiB"},
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Xoff == 24<<10 })},
	{path: "ports.p1.ring.outage", value: "600ms",
		beside: linked(1, func(p *portLink) bool { return p.opened.LosslessSlots > 4800 })},
	{path: "ports.p1.ring.frame", value: 2000,
		beside: linked(1, func(p *portLink) bool { return p.opened.FrameSize == 2000 })},
	{path: "ports.p1.ring.other", value: 4096,
		beside: linked(1, func(p *portLink) bool { return p.opened.OtherSlots == 4096 })},
	{path: "ports.p1.ring.small", value: 32768,
		beside: linked(1, func(p *portLink) bool { return p.opened.SmallSlots == 32768 })},
	{path: "ports.p1.send", value: "packet",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Packet && !p.TxPath.XDP })},
	{path: "ports.p1.ring.max", value: "64MiB", also: tree{"ports.p1.ring.outage": "3s"}, // more than 32 MiB
		beside: linked(1, func(p *portLink) bool {
			return p.opened.LosslessSlots == int(p.cfg.LosslessSlots()) && p.opened.LosslessSlots > 24000
		})},
	{path: "ports.p1.pvid", value: 7, also: tree{"ports.p2.pvid": 7, "ports.p3.pvid": 7,
		"fdb": []any{tree{"mac": "02:00:00:00:00:02", "vlan": 7, "port": "p2"}}},
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Bridge.PVID == 7 })},
	{path: "ports.p1.tagged", value: []any{10, 20}, shows: "[10 20]",
		effect: at(1, func(p *dataplane.PortSnapshot) bool {
			return p.Config.Bridge.Tagged.Has(10) && p.Config.Bridge.Tagged.Has(20)
		})},
	{path: "ports.p1.learning", value: false,
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return !p.Config.Bridge.Learning })},
	{path: "ports.p1.flood", value: "off",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return !p.Config.Bridge.Flood })},
	{path: "ports.p1.storm", value: "1M",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Bridge.Storm == 1e6 })},
	{path: "ports.p1.loop", value: "off",
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return !p.Config.Bridge.Loop })},
	{path: "ports.p1.watchdog", value: tree{"fast": "off"},
		beside: watching(func(c *deadlock.Config) bool { return !c.Fast })},
	{path: "ports.p1.watchdog", value: tree{"slow": tree{"period": "20s", "threshold": 4}, "action": "forward",
		"restore": "quiet", "period": "10ms", "count": 15, "recovery": "300ms"},
		beside: watching(func(c *deadlock.Config) bool { return quick(c) && c.Action == deadlock.Forward })},
	{path: "ports.p1.watchdog", value: tree{"mode": "sonic", "detection": "300ms", "restoration": "500ms",
		"poll": "100ms"}, beside: watching(sonic(300 * time.Millisecond))},
	{path: "ports.p1.watchdog", value: tree{"detection": "400ms", "restoration": "500ms", "poll": "100ms"},
		also: tree{"watchdog.mode": "sonic"}, beside: watching(sonic(400 * time.Millisecond))},

	{path: "watchdog", value: tree{"mode": "sonic", "detection": "400ms", "restoration": "500ms", "poll": "100ms"},
		beside: watching(sonic(400 * time.Millisecond))},
	{path: "watchdog", value: tree{"fast": "off"}, beside: watching(func(c *deadlock.Config) bool { return !c.Fast })},
	{path: "watchdog", value: tree{"action": "drop", "restore": "quiet", "period": "10ms", "count": 15,
		"recovery": "300ms", "slow": tree{"period": "20s", "threshold": 4}},
		beside: watching(func(c *deadlock.Config) bool { return quick(c) && c.Action == deadlock.Drop })},
	{path: "headroom.k", value: 4000,
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Inputs.K == 4000 })},
	{path: "headroom.precision", value: "1us",
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Precision == time.Microsecond })},
	{path: "headroom.answer", value: "link", beside: flagged(macctl.MeasureAtLink)},
	{path: "headroom.mode", value: "loopback", also: tree{"headroom.stamps": 2},
		beside: flagged(macctl.MeasureLoopback)},
	{path: "headroom.stamps", value: 2, beside: flagged(macctl.MeasureTwoStamps)},
	{path: "headroom.variant", value: "client", beside: flagged(macctl.MeasureClient)},
	{path: "headroom.opcode", value: 0x8001, shows: "32769",
		effect: overall(func(s *dataplane.Snapshot) bool { return s.Config.Measurement.Opcode == 0x8001 })},
	{path: "headroom.identifier", value: "02-50-47",
		effect: overall(func(s *dataplane.Snapshot) bool {
			return s.Config.Measurement.Identifier == [3]byte{2, 0x50,
				0x47}
		})},
	{path: "headroom.ethertype", value: 0x88B7, shows: "34999",
		effect: overall(func(s *dataplane.Snapshot) bool { return s.Config.Measurement.Fallback == 0x88B7 })},
	{path: "headroom.percentile", value: 99,
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Percentile == 0.99 })},
	{path: "headroom.interval", value: "2s",
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Interval == 2*time.Second })},
	{path: "headroom.min", value: "20KiB",
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Min == 8*20<<10 })},
	{path: "headroom.max", value: "8x",
		beside: probing(func(r *headroom.Report) bool { return r.Settings.Max == 8*r.Calculated })},
	{path: "headroom.agree", value: "always", beside: probing(func(r *headroom.Report) bool { return r.Agreed })},
	{path: "lldp.agent", value: "off", beside: linked(1, func(p *portLink) bool { return p.speaker == nil })},
	{path: "lldp.interval", value: "1s",
		beside: spoken(func(a *lldp.Config, _ *dcbx.Config) bool { return a.Interval == 1 })},
	{path: "lldp.hold", value: 2, beside: spoken(func(a *lldp.Config, _ *dcbx.Config) bool { return a.Hold == 2 })},
	{path: "lldp.dcbx", value: "cee",
		beside: spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.Mode == dcbx.ModeCEE })},
	{path: "lldp.willing", value: true, beside: spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.Willing })},
	{path: "lldp.tie_break", value: "lower",
		beside: spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return !c.HigherWins })},
	{path: "lldp.bit_ieee", value: 0x10,
		beside: spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.IEEEBit == 0x10 })},
	{path: "lldp.bit_legacy", value: 0x08,
		beside: spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.LegacyBit == 0x08 })},
	{path: "lldp.change_hold", value: "2s",
		beside: spoken(func(_ *lldp.Config, c *dcbx.Config) bool { return c.Hold == int64(2*time.Second) })},
	{path: "capture.ring", value: "on", beside: keeping(func(*config.Capture) bool { return true })},
	{path: "capture.memory", value: "8MiB", also: tree{"capture.ring": "on"},
		beside: keeping(func(c *config.Capture) bool { return c.Memory == 8<<20 })},
	{path: "capture.last", value: "2s", also: tree{"capture.ring": "on"},
		beside: keeping(func(c *config.Capture) bool { return c.Last == 2*time.Second })},
	{path: "capture.snap", value: 128, also: tree{"capture.ring": "on"},
		beside: keeping(func(c *config.Capture) bool { return c.Snap == 128 })},
	{path: "capture.files", value: 2, also: tree{"capture.ring": "on"},
		beside: keeping(func(c *config.Capture) bool { return c.Files == 2 })},
}

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
		effect: aggregated("side", func(t *dataplane.TrunkSnapshot) bool {
			return t.Uplink == "p5" && len(t.Members) == 1 && t.Members[0].Port == "p4"
		})},
	{path: "trunks.up.distribution", value: "flow-hash",
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.ByFlow })},
	{path: "trunks.up.flow_control", value: "pause", also: paused(nil),
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Flow.Mode == macctl.ModePause
		})},
	{path: "trunks.up.watermarks", value: tree{"member": tree{"high": "64KiB", "low": "32KiB"},
		"uplink": tree{"high": "48KiB", "low": "24KiB"}},
		also: paused(tree{"trunks.up.flow_control": "pause"}),
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return t.Config.Flow.Member == trunk.Mark{High: 64 << 10, Low: 32 << 10} &&
				t.Config.Flow.Uplink == trunk.Mark{High: 48 << 10, Low: 24 << 10}
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
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return redBetween(&t.Config.Aggregate.RED[0],
				8<<10, 32<<10)
		})},
	{path: "trunks.up.red.total", value: tree{"low": "64KiB", "high": "128KiB", "probability": "5%"},
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool {
			return redBetween(&t.Config.Aggregate.TotalRED, 64<<10, 128<<10)
		})},
	{path: "trunks.up.meter_octets", value: "ip",
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.IPOctets })},
	{path: "trunks.up.colour", value: "aware",
		effect: aggregated("up", func(t *dataplane.TrunkSnapshot) bool { return t.Config.Aware })},
	{path: "trunks.up.red_queue", value: "averaged",
		also:   tree{"trunks.up.red.0": tree{"low": "8KiB", "high": "32KiB", "probability": "5%"}},
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
