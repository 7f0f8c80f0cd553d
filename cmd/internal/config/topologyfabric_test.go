package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func fabricOf(t assert.TB, text string) *Topology {
	t.Helper()
	lab, err := ParseTopology("lab.yaml", []byte("name: a\nfabric: "+text+"\n"), noFiles)
	assert.MustNoError(t, err, "%s", text)
	return lab
}

// Each shape has the nodes and links that it is known for, and static entries only where there are loops.
func TestFabricShapes(t *testing.T) {
	for _, tt := range []struct {
		text                           string
		switches, hosts, links, static int // entries in all
	}{
		{"{fat-tree: {k: 4}}", 20, 16, 48, 20 * 16},
		{"{fat-tree: {k: 8}, spread: hash}", 80, 128, 384, 80 * 128},
		{"{leaf-spine: {leaves: 3, spines: 2, hosts: 4}}", 5, 12, 18, 5 * 12},
		{"{leaf-spine: {leaves: 3, spines: 1, hosts: 4}}", 4, 12, 15, 0},
		{"{fat-tree: {k: 4}, spread: flow}", 20, 16, 48, 20 * 16},
		{"{ring: {switches: 5, hosts: 2}}", 5, 10, 15, 5 * 10},
		{"{dumbbell: {hosts: 3}}", 2, 6, 7, 0},
	} {
		lab := fabricOf(t, tt.text)
		static := 0
		for _, s := range lab.Switches {
			static += len(s.Config.FDB)
		}
		assert.True(t, len(lab.Switches) == tt.switches && len(lab.Hosts) == tt.hosts && len(lab.Links) == tt.links &&
			static == tt.static, "%s: %d switches, %d hosts, %d links, %d static entries; want %+v", tt.text,
			len(lab.Switches), len(lab.Hosts), len(lab.Links), static, tt)
	}
}

// A fabric is what the file could have written by hand.
func TestFabricWrittenByHand(t *testing.T) {
	t.Run("number", func(t *testing.T) { isWrittenByHand(t, "number", "port: up2", "port: up1") })
	t.Run("flow", func(t *testing.T) { isWrittenByHand(t, "flow", "ports: [up1, up2]", "ports: [up1, up2]") })
}

// isWrittenByHand compares a fabric with the same by hand, with these ports of leaf1 to h2, and of leaf2 to h1.
func isWrittenByHand(t *testing.T, spread, to2, to1 string) {
	made := fabricOf(t, "{leaf-spine: {leaves: 2, spines: 2, hosts: 1}, links: {speed: 1G, cable: 1km}, "+
		"switches: {preset: roce}, spread: "+spread+"}")
	hand := assert.Got(ParseTopology("lab.yaml", []byte(strings.NewReplacer("TO2", to2, "TO1", to1).Replace(`
name: a
switches:
  leaf1: &leaf1 {preset: roce, fdb: [{mac: "02:00:00:00:00:01", port: down1}, {mac: "02:00:00:00:00:02", TO2}]}
  leaf2: {preset: roce, fdb: [{mac: "02:00:00:00:00:01", TO1}, {mac: "02:00:00:00:00:02", port: down1}]}
  spine1: {preset: roce, fdb: [{mac: "02:00:00:00:00:01", port: down1}, {mac: "02:00:00:00:00:02", port: down2}]}
  spine2: {preset: roce, fdb: [{mac: "02:00:00:00:00:01", port: down1}, {mac: "02:00:00:00:00:02", port: down2}]}
hosts: {h1: {mac: "02:00:00:00:00:01"}, h2: {mac: "02:00:00:00:00:02"}}
links:
  h1: {ends: [h1, "leaf1:down1"], speed: 1G, cable: 1km}
  h2: {ends: [h2, "leaf2:down1"], speed: 1G, cable: 1km}
  leaf1-spine1: {ends: ["leaf1:up1", "spine1:down1"], speed: 1G, cable: 1km, flood: off, learning: false}
  leaf2-spine1: {ends: ["leaf2:up1", "spine1:down2"], speed: 1G, cable: 1km, flood: off, learning: false}
  leaf1-spine2: {ends: ["leaf1:up2", "spine2:down1"], speed: 1G, cable: 1km, flood: off, learning: false}
  leaf2-spine2: {ends: ["leaf2:up2", "spine2:down2"], speed: 1G, cable: 1km, flood: off, learning: false}
`)), noFiles)).Must(t)
	describe := func(lab *Topology) (text string) {
		for _, s := range lab.Switches {
			text += string(Expand(s.Config))
		}
		for _, h := range lab.Hosts {
			text += fmt.Sprintln(h.Name, h.MAC, h.Addresses)
		}
		for _, l := range lab.Links {
			text += fmt.Sprintln(l.Name, l.Ends, l.MTU)
		}
		return text
	}
	a, b := describe(made), describe(hand)
	assert.True(t, a == b, "%s\n\nby hand:\n%s", a, b)
}

// A static entry of the file stands in place of the route to its station, and changes no other route.
func TestFabricWithAStaticEntryOfItsOwn(t *testing.T) {
	const fabric, own = "{leaf-spine: {leaves: 2, spines: 2, hosts: 3}, spread: flow}", 3 // the first host of leaf2
	want := slices.Clone(fabricOf(t, fabric).Switches[0].Config.FDB)
	lab := fabricOf(t, fabric+"\nswitches: {leaf1: {fdb: [{mac: \"02:00:00:00:00:04\", port: up1}]}}")
	want = slices.Delete(want, own, own+1)
	want = slices.Insert(want, 0, StaticEntry{MAC: macOf(own), VLAN: 1, Port: "up1"})
	assert.Equal(t, fmt.Sprint(lab.Switches[0].Config.FDB), fmt.Sprint(want), "static entries of leaf1")
}

// What the file says about a node or a link counts before what the fabric says; other nodes may stand beside it.
func TestFabricWithKeysOfItsOwn(t *testing.T) {
	lab := assert.Got(ParseTopology("lab.yaml", []byte(`
name: a
fabric:
  dumbbell: {hosts: 1}
  links: {speed: 1G, mtu: 9000}
  switches: {preset: roce}
  hosts: {addresses: [10.0.0.1/24]}
switches: {right: {name: other}, extra: {}}
hosts: {h2: {addresses: []}}
links:
  left-right: {speed: 100M}
  more: {ends: ["extra:p1", "left:p1"], speed: 10G}
traffic: {f: {from: h1, to: h2}}
`), noFiles)).Must(t)
	speed := func(s int, port string) int64 {
		for _, p := range lab.Switches[s].Config.Ports {
			if p.Name == port {
				return p.Speed
			}
		}
		return -1
	}
	if len(lab.Switches) != 3 || speed(0, "up") != 100e6 || speed(0, "down1") != 1e9 || speed(1, "up") != 100e6 ||
		speed(0, "p1") != 10e9 || speed(2, "p1") != 10e9 {
		t.Errorf("speeds: %d %d %d %d", speed(0, "up"), speed(0, "down1"), speed(1, "up"), speed(0, "p1"))
	}
	a, b := lab.Switches[0].Config.Name, lab.Switches[1].Config.Name
	assert.True(t, a == "left" && b == "other", "names: %s, %s", a, b)
	assert.True(t, len(lab.Hosts[0].Addresses) == 1 && len(lab.Hosts[1].Addresses) == 0,
		"addresses: %v, %v", lab.Hosts[0].Addresses, lab.Hosts[1].Addresses)
	assert.Equal(t, lab.Traffic[0].Octets, 9018, "octets of frames")
}

// Faults of a fabric have its lines, and a fault that all links share is told once.
func TestFabricFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{}", "lab.yaml:2: fabric: want one of fat-tree, leaf-spine, ring and dumbbell"},
		{"{dumbbell: {hosts: 1}, fat-tree: {k: 2}}", "lab.yaml:2: fabric: want one of"},
		{"{fattree: {k: 4}}", "lab.yaml:2: fabric.fattree: unknown key: did you mean fat-tree?"},
		{"\n  fat-tree: {k: 5}", "lab.yaml:3: fabric.fat-tree.k: 5 is odd: write an even number"},
		{"\n  fat-tree: {}", "lab.yaml:3: fabric.fat-tree: has no k: write a number from 1 to 16"},
		{"\n  fat-tree: {k: 18}", "lab.yaml:3: fabric.fat-tree.k: \"18\" is no number of k: write a number from 1"},
		{"\n  ring: {switches: 2, hosts: 1}", "lab.yaml:3: fabric.ring.switches: 2 are no ring: write 3 or more"},
		{"{leaf-spine: {leaves: 2, spines: 2}}", "lab.yaml:2: fabric.leaf-spine: has no hosts"},
		{"{leaf-spine: {leaves: 2, spines: 128, hosts: 200}}",
			"lab.yaml:2: fabric: leaf1 would have 328 ports, and a switch has at most 256"},
		{"{leaf-spine: {leaves: 200, spines: 2, hosts: 200}}", "lab.yaml:2: fabric: 40000 hosts, and there may be"},
		{"{leaf-spine: {leaves: 256, spines: 128, hosts: 16}}",
			"lab.yaml:2: fabric: 384 switches with routes to 4096 hosts are 1572864 static entries"},
		{"{dumbbell: {hosts: 1}, spread: even}", "lab.yaml:2: fabric.spread: \"even\" is unknown: write number"},
		{"\n  dumbbell: {hosts: 9}\n  links: {speed: fast}", "lab.yaml:4: switches.left.ports.down1.speed: \"fast\""},
		{"\n  dumbbell: {hosts: 9}\n  switches: {presets: roce}", "lab.yaml:4: switches.left.presets: unknown key"},
		{"\n  dumbbell: {hosts: 9}\n  switches: [a]", "lab.yaml:4: fabric.switches: want a mapping"},
		{"{dumbbell: {hosts: 1}}\nlinks: {h1: {ends: [h1, \"left:x\"]}}",
			"lab.yaml:3: links.h1.ends: the fabric gives it: remove the key"},
		{"{dumbbell: {hosts: 1}}\nhosts: {h2: {mac: \"02:00:00:00:00:09\"}}", "lab.yaml:3: hosts.h2.mac: the fabric"},
		{"{dumbbell: {hosts: 1}, hosts: {mac: \"02:00:00:00:00:09\"}}", "lab.yaml:2: fabric.hosts.mac: the fabric"},
	} {
		_, err := ParseTopology("lab.yaml", []byte("name: a\nfabric: "+tt.text+"\n"), noFiles)
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), tt.want) && !strings.Contains(err.Error(), "\n"),
			"%s: %v; want one line that begins with %q", tt.text, err, tt.want)
	}
}

// anyFabric is a fabric with loops.
func anyFabric(t *rapid.T) *plan {
	n := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
	switch rapid.SampledFrom([]string{"tree", "leaves", "ring"}).Draw(t, "shape") {
	case "tree":
		return fatTree(2 * n("k", 1, 4))
	case "leaves":
		return leafSpine(n("leaves", 2, 6), n("spines", 2, 5), n("hosts", 1, 4))
	}
	return circle(n("switches", 3, 9), n("hosts", 1, 3))
}

// From every switch the routes lead to every host: each step comes nearer. By flow, each step that does is among them.
func TestRoutesLeadToEveryHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyFabric(t)
		by := rapid.SampledFrom([]spread{spreadNumber, spreadHash, spreadFlow}).Draw(t, "spread")
		routes := p.routes(by)
		for h, end := range p.hosts {
			far := p.distances(func(s int) bool { return s == end.node })
			for s := range p.switches {
				if s == end.node {
					assert.MustEqual(t, fmt.Sprint(routes[s][h]), fmt.Sprint([]int{end.port}), "h%d: ports", h+1)
					continue
				}
				for _, way := range routes[s][h] {
					if to := p.switches[s].ports[way].to; to == none || far[to] != far[s]-1 {
						t.Fatalf("h%d: %s goes to %d, which is no nearer", h+1, p.switches[s].name, to)
					}
				}
				if want := len(p.nearer(s, far)); by == spreadFlow && len(routes[s][h]) != want ||
					by != spreadFlow && len(routes[s][h]) != 1 {
					t.Fatalf("h%d: %s has %d ways of %d", h+1, p.switches[s].name, len(routes[s][h]), want)
				}
			}
		}
	})
}

// mostOnALink is the largest number of flows that share one direction of a link, of a flow from each host to the one
// half the way round.
func mostOnALink(p *plan, by spread) (most int) {
	routes, flows := p.routes(by), map[planEnd]int{}
	for h, end := range p.hosts {
		to := (h + len(p.hosts)/2) % len(p.hosts)
		for at := end.node; at != none; {
			way := planEnd{at, routes[at][to][0]}
			flows[way]++
			most = max(most, flows[way])
			at = p.switches[way.node].ports[way.port].to
		}
	}
	return most
}

// By number, each flow of a permutation has its links to itself in a fabric that has enough of them. By hash, chance
// puts several on one link, as ECMP does.
func TestSpread(t *testing.T) {
	for name, p := range map[string]*plan{"k=4": fatTree(4), "k=8": fatTree(8), "k=16": fatTree(16),
		"leaves": leafSpine(4, 4, 4)} {
		assert.Equal(t, mostOnALink(p, spreadNumber), 1, "%s: by number, flows share a link", name)
		most := mostOnALink(p, spreadHash)
		assert.True(t, most >= 2 && most <= 8, "%s: by hash, %d flows share a link", name, most)
	}
}

// A warning of all switches of a fabric is told once, with its place in the lab's file.
func TestFabricWarnsOnce(t *testing.T) {
	lab := assert.Got(ParseTopology("lab.yaml", []byte("name: a\nfabric: {dumbbell: {hosts: 1}}\n"), noFiles)).Must(t)
	const want = "lab.yaml:2: switches.left.priorities.lossless: nothing is lossless"
	all := lab.Warnings()
	assert.True(t, len(all) == 1 && strings.HasPrefix(all[0].String(), want), "got %v, want one: %s", all, want)
}
