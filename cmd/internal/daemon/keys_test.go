package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/macctl"
)

// A change is another value of a key, or of a mapping of them, while the switch runs.
type change struct {
	path    string // ports.p1.speed
	value   any
	also    tree   // what has to change with it, by path
	shows   string // what the configuration in force says instead of value; "-": nothing
	refused string // in the error of a change that the switch refuses; empty: it takes it
	effect  func(r *rig) bool
}

// tree is a configuration, or a part of one.
type tree = map[string]any

// at is the effect of a change on port n.
func at(n int, holds func(p *dataplane.PortSnapshot) bool) func(r *rig) bool {
	return func(r *rig) bool {
		p := r.snapshot(n)
		return holds(&p)
	}
}

// bridgeChanges change ports of a bridge: p2 is where a lossless flow of p1 and p3 leaves, p4 and p5 are idle. SW stands for the
// namespace of the ports, OTHER for another name of it, DIR for a folder.
var bridgeChanges = []change{
	{path: "name", value: "other", refused: "cannot change while the switch runs"},
	{path: "workers", value: "per-port", refused: "cannot change while the switch runs"},
	{path: "buffer.cell", value: "512B", refused: "cannot change while the switch runs"},
	{path: "metrics.listen", value: "127.0.0.1:0", refused: "cannot change while the switch runs"},
	{path: "metrics.web_config", value: "DIR/web.yml", refused: "cannot change while the switch runs"},
	{path: "metrics.hosts", value: []any{"leaf1.example"}, refused: "cannot change while the switch runs"},
	{path: "api.socket", value: "DIR/other.sock", refused: "cannot change while the switch runs"},
	{path: "capture.directory", value: "DIR/other", refused: "cannot change while the switch runs"},

	{path: "preset", value: "roce", shows: "-", effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Egress[6].Strict })},
	{path: "buffer.lossless.size", value: "1MiB", effect: func(r *rig) bool { return r.pools().Lossless.SharedSize > 512<<10 }},
	{path: "buffer.lossless.alpha", value: 2, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Alpha == 2 })},
	{path: "buffer.lossy.size", value: "128KiB", effect: func(r *rig) bool { return r.pools().Lossy.SharedSize == 128<<10 }},
	{path: "buffer.lossy.alpha", value: 4},
	{path: "buffer.private", value: "8KiB", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Private == 8<<10 })},
	{path: "headroom.send_request", value: "on"},
	{path: "buffer.headroom", value: "40KiB", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Headroom == 40<<10 })},
	{path: "buffer.xon", value: "2KiB", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Xon == 2<<10 })},
	{path: "buffer.xon_offset", value: "8KiB", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].XonOffset == 8<<10 })},
	{path: "buffer.policy", value: "static", also: tree{"buffer.xoff": "48KiB"}},
	{path: "buffer.xoff", value: "32KiB", also: tree{"buffer.policy": "static"}, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Xoff == 32<<10 })},
	{path: "buffer.ring_hold", value: "off", also: tree{"buffer.headroom": "1MiB", "buffer.lossless.size": "16MiB"}}, // room for what a standstill leaves in a ring
	{path: "unknown_lossless", value: "drop"},
	{path: "priorities.trust", value: "port", also: tree{"priorities.default": 3}, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Trust == classify.TrustPort })},
	{path: "priorities.default", value: 5, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Default == 5 })},
	{path: "priorities.lossless", value: []any{3, 4}, shows: "[3 4]", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Lossless == 1<<3|1<<4 })},
	{path: "priorities.dscp.26", value: 5, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.DSCP[26] == 5 })},
	{path: "queues.3.weight", value: 90, effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Egress[3].Weight == 90 })},
	{path: "queues.3.strict", value: true, effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Egress[3].Strict })},
	{path: "ecn.3", value: tree{"kmin": "8KiB", "kmax": "64KiB", "pmax": "20%"}, effect: at(2, func(p *dataplane.PortSnapshot) bool {
		return p.Config.ECN[3] == dataplane.ECN{Kmin: 8 << 10, Kmax: 64 << 10, Pmax: 0.2}
	})},
	{path: "fdb", value: []any{station77, tree{"mac": "02:00:00:00:00:01", "port": "p1"}, tree{"mac": "02:00:00:00:00:02", "port": "p2"}, tree{"mac": "02:00:00:00:00:03", "port": "p3"}}, shows: "-",
		effect: func(r *rig) bool {
			return slices.ContainsFunc(r.d.runner.FDB(), func(e bridge.Entry) bool { return e.MAC == 0x02_00_00_00_00_77 })
		}},
	{path: "ageing", value: "20s"},
	{path: "pause.quanta", value: 2000, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Quanta == 2000 })},

	{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap4", "netns": "SW", "addresses": []any{"10.77.0.1/24"}}, shows: "-", also: tree{"buffer.lossless.size": "4MiB", "buffer.lossy.size": "128KiB"},
		effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.TAP && p.Up })},
	{path: "ports.p4", value: tree{"kind": "tap", "interface": "tap5", "netns": "SW", "wire": "p5"}, shows: "-", also: tree{"buffer.lossless.size": "4MiB", "buffer.lossy.size": "128KiB"},
		effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.Bridge.Wired && p.Up })},
	{path: "ports.p6", value: tree{"interface": "spare", "netns": "SW", "speed": "100M"}, also: tree{"buffer.lossless.size": "1MiB"}, // comes, and goes with the next
		effect: at(6, func(p *dataplane.PortSnapshot) bool { return p.Up })},
	{path: "ports.p4.interface", value: "spare", effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Up })},
	{path: "ports.p4.netns", value: "OTHER", effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Up })},
	{path: "ports.p4.force", value: true},
	{path: "ports.p4.flow_control", value: "pause", effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.Mode == macctl.ModePause })},
	{path: "ports.p1.speed", value: "200M", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Speed == 200e6 })},
	{path: "ports.p2.burst", value: "64KiB", effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Burst == 64<<10 })},
	{path: "ports.p2.delay", value: "200us", effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Delay == 200_000 })},
	{path: "ports.p2.cable", value: "10km", shows: "-", effect: at(2, func(p *dataplane.PortSnapshot) bool { return p.Config.Delay == 50_000 })},
	{path: "ports.p1.k", value: 8000},
	{path: "ports.p1.mtu", value: 2000, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.MaxFrame == 2014 })},
	{path: "ports.p1.trust", value: "port", also: tree{"ports.p1.default_priority": 3}, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Trust == classify.TrustPort })},
	{path: "ports.p1.default_priority", value: 5, effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Classify.Default == 5 })},
	{path: "ports.p4.priority_tags", value: "strip", effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.StripZero })},
	{path: "ports.p1.priorities.3", value: tree{"alpha": 0.5, "headroom": "60KiB", "private": "12KiB", "xon": "6KiB", "xon_offset": "2KiB"},
		effect: at(1, func(p *dataplane.PortSnapshot) bool {
			q := p.Config.Ingress[3]
			return q.Alpha == 0.5 && q.Headroom == 60<<10 && q.Private == 12<<10 && q.Xon == 6<<10 && q.XonOffset == 2<<10
		})},
	{path: "ports.p1.priorities.3.xoff", value: "24KiB", also: tree{"buffer.policy": "static", "buffer.xoff": "48KiB"},
		effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Ingress[3].Xoff == 24<<10 })},
	{path: "ports.p1.ring.outage", value: "600ms"},
	{path: "ports.p1.ring.frame", value: 2000},
	{path: "ports.p1.ring.max", value: "64MiB"},
	{path: "ports.p1.ring.other", value: 4096},
	{path: "ports.p1.ring.small", value: 32768},
	{path: "ports.p4.pvid", value: 7, effect: at(4, func(p *dataplane.PortSnapshot) bool { return p.Config.Bridge.PVID == 7 })},
	{path: "ports.p1.tagged", value: []any{10, 20}, shows: "[10 20]"},
	{path: "ports.p1.learning", value: false, effect: at(1, func(p *dataplane.PortSnapshot) bool { return !p.Config.Bridge.Learning })},
	{path: "ports.p1.flood", value: "off", effect: at(1, func(p *dataplane.PortSnapshot) bool { return !p.Config.Bridge.Flood })},
	{path: "ports.p1.storm", value: "1M", effect: at(1, func(p *dataplane.PortSnapshot) bool { return p.Config.Bridge.Storm == 1e6 })},
	{path: "ports.p1.loop", value: "off", effect: at(1, func(p *dataplane.PortSnapshot) bool { return !p.Config.Bridge.Loop })},
	{path: "ports.p1.watchdog", value: tree{"fast": "off"}},
	{path: "ports.p1.watchdog", value: tree{"slow": tree{"period": "20s", "threshold": 4}, "action": "forward", "restore": "quiet", "period": "10ms", "count": 15, "recovery": "300ms"}},
	{path: "ports.p1.watchdog", value: tree{"mode": "sonic", "detection": "300ms", "restoration": "500ms", "poll": "100ms"}},
	{path: "ports.p1.watchdog", value: tree{"detection": "400ms", "restoration": "500ms", "poll": "100ms"}, also: tree{"watchdog.mode": "sonic"}},

	{path: "watchdog", value: tree{"mode": "sonic", "detection": "400ms", "restoration": "500ms", "poll": "100ms"}},
	{path: "watchdog", value: tree{"fast": "off"}},
	{path: "watchdog", value: tree{"action": "drop", "restore": "quiet", "period": "10ms", "count": 15, "recovery": "300ms", "slow": tree{"period": "20s", "threshold": 4}}},
	{path: "headroom.k", value: 4000},
	{path: "headroom.precision", value: "1us"},
	{path: "headroom.answer", value: "link"},
	{path: "headroom.mode", value: "loopback", also: tree{"headroom.stamps": 2}},
	{path: "headroom.stamps", value: 2},
	{path: "headroom.variant", value: "client"},
	{path: "headroom.opcode", value: 0x8001, shows: "32769"},
	{path: "headroom.identifier", value: "02-50-47"},
	{path: "headroom.ethertype", value: 0x88B7, shows: "34999"},
	{path: "headroom.percentile", value: 99},
	{path: "headroom.interval", value: "2s"},
	{path: "headroom.min", value: "20KiB"},
	{path: "headroom.max", value: "8x"},
	{path: "headroom.agree", value: "always"},
	{path: "lldp.agent", value: "off"},
	{path: "lldp.interval", value: "1s"},
	{path: "lldp.hold", value: 2},
	{path: "lldp.dcbx", value: "cee"},
	{path: "lldp.willing", value: true},
	{path: "lldp.tie_break", value: "lower"},
	{path: "lldp.bit_ieee", value: 0x10},
	{path: "lldp.bit_legacy", value: 0x08},
	{path: "lldp.change_hold", value: "2s"},
	{path: "capture.ring", value: "on"},
	{path: "capture.memory", value: "8MiB"},
	{path: "capture.last", value: "2s"},
	{path: "capture.snap", value: 128},
	{path: "capture.files", value: 2},
}

// station77 is an entry of the filtering database.
var station77 = tree{"mac": "02:00:00:00:00:77", "vlan": 1, "port": "p4"}

// trunkChanges change trunks: up carries the lossless flow of its members p1 and p3 to its uplink p2, side is idle.
var trunkChanges = []change{
	{path: "trunks.side", value: tree{"uplink": "p5", "members": []any{"p4"}}, shows: "-"},
	{path: "trunks.up.distribution", value: "flow-hash"},
	{path: "trunks.side.flow_control", value: "pause", also: tree{"ports.p4.flow_control": "pause", "ports.p5.flow_control": "pause"}},
	{path: "trunks.side.watermarks", value: tree{"member": tree{"high": "64KiB", "low": "32KiB"}, "uplink": tree{"high": "64KiB", "low": "32KiB"}},
		also: tree{"trunks.side.flow_control": "pause", "ports.p4.flow_control": "pause", "ports.p5.flow_control": "pause"}},
	{path: "trunks.up.watermarks.priority.3", value: tree{"high": "96KiB", "low": "48KiB"}},
	{path: "trunks.up.watermarks.uplink_priority.3", value: tree{"high": "96KiB", "low": "48KiB"}},
	{path: "trunks.up.meters.0", value: tree{"cir": "10M", "pir": "50M", "cbs": "32KiB", "pbs": "64KiB"}},
	{path: "trunks.up.meters.total", value: tree{"pir": "150M", "cbs": "128KiB", "pbs": "192KiB"}},
	{path: "trunks.up.red.0", value: tree{"low": "8KiB", "high": "32KiB", "probability": "5%"}},
	{path: "trunks.up.red.total", value: tree{"low": "64KiB", "high": "128KiB", "probability": "5%"}},
	{path: "trunks.up.meter_octets", value: "ip"},
	{path: "trunks.up.colour", value: "aware"},
	{path: "trunks.up.red_queue", value: "averaged"},
}

// put puts a value at a path.
func put(in tree, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := in[key].(tree)
		if !ok {
			next = tree{}
			in[key] = next
		}
		in = next
	}
	in[keys[len(keys)-1]] = value
}

// in makes the change in a configuration.
func (c *change) in(whole tree) {
	put(whole, c.path, c.value)
	for path, value := range c.also {
		put(whole, path, value)
	}
}

// get returns what stands at a path.
func get(in tree, path string) any {
	var found any = in
	for key := range strings.SplitSeq(path, ".") {
		in, _ = found.(tree)
		found = in[key]
	}
	return found
}

// leaves returns the single values below a path, and lists of them.
func leaves(path string, value any) map[string]any {
	all := map[string]any{}
	switch v := value.(type) {
	case tree:
		for key, below := range v {
			maps.Copy(all, leaves(path+"."+key, below))
		}
	default:
		all[path] = value
	}
	return all
}

// schemaPaths are the paths of the schema that a change covers.
func (c *change) schemaPaths() (paths []string) {
	for path, value := range leaves(c.path, c.value) {
		keys := strings.Split(path, ".")
		for i, key := range keys {
			if _, err := strconv.Atoi(key); err == nil || i == 1 && (keys[0] == "ports" || keys[0] == "trunks") {
				keys[i] = "*"
			}
		}
		path = strings.Join(keys, ".")
		list, ok := value.([]any)
		if !ok {
			paths = append(paths, path)
			continue
		}
		for _, item := range list {
			for below := range leaves(path+"[]", item) {
				paths = append(paths, below)
			}
		}
	}
	return paths
}

// load reads YAML as a tree.
func load(t testing.TB, text []byte) tree {
	t.Helper()
	in := tree{}
	must(t, yaml.Unmarshal(text, &in))
	return in
}

// Every key that a file may have is changed by a test: a new key without a change fails here.
func TestEveryKeyIsChanged(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range slices.Concat(bridgeChanges, trunkChanges) {
		for _, path := range c.schemaPaths() {
			covered[path] = true
		}
	}
	known := map[string]bool{}
	var paths []string
	config.NewSchema().Walk(func(path string, s *config.Schema) {
		paths = append(paths, path)
		known[path] = s.Not == nil || s.Type != nil
	})
	for i, path := range paths {
		leaf := i+1 == len(paths) || !strings.HasPrefix(paths[i+1], path+".") && !strings.HasPrefix(paths[i+1], path+"[")
		if leaf && known[path] && !covered[path] {
			t.Errorf("no test changes %s while the switch runs: add a change of it", path)
		}
	}
	for path := range covered {
		if !known[path] {
			t.Errorf("%s is changed, and no key", path)
		}
	}
	if len(covered) < 100 {
		t.Errorf("only %d keys: is the schema whole?", len(covered))
	}
	t.Logf("%d keys", len(covered))
}

// pools is the state of the buffer.
func (r *rig) pools() *struct{ Lossless, Lossy struct{ SharedSize int64 } } {
	var s dataplane.Snapshot
	r.d.runner.Snapshot(&s)
	p := &struct{ Lossless, Lossy struct{ SharedSize int64 } }{}
	p.Lossless.SharedSize = s.Buffer.Lossless.SharedSize + s.Buffer.Lossless.PrivateSize + s.Buffer.Lossless.HeadroomSize
	p.Lossy.SharedSize = s.Buffer.Lossy.SharedSize
	return p
}

// written compares a value with that of another YAML.
func written(v any) string { return fmt.Sprint(v) }
