package topology

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// Two machines, each with one part of a lab: what leads from one part to the other is a tunnel. PFC passes it, so that
// a lossless priority loses nothing where both ends are full. No packet is in fragments.
func TestMachines(t *testing.T) {
	r := newRig(t)
	text := assert.Got(os.ReadFile("../../../scripts/lab/machines.yaml")).Must(t)
	path, name := r.file(string(text))
	l := labtest.New(t, "machines")
	addresses := map[string]string{"left": "192.0.2.1", "right": "192.0.2.2"}
	machines, nodes := map[string]*rig{}, map[string]*lab.Node{}
	for part := range addresses {
		nodes[part] = labtest.Node(t, l, part)
		machines[part] = r.withTest(t)
		machines[part].enter = nodes[part].Enter(false)
	}
	must(t, l.Link(nodes["left"], "under", nodes["right"], "under", lab.LinkOptions{}))
	left, right := machines["left"], machines["right"]
	left.runRefused(":7: parts.left.address: this machine has not 192.0.2.1 but []", "lab", "up", "--part=left", path)
	for part, address := range addresses {
		must(t, nodes[part].AddAddr("under", address+"/24"))
	}
	left.runRefused(":8: parts.right.address: this machine has not 192.0.2.2 but [192.0.2.1]", "lab", "up", "--part",
		"right", path)
	left.runRefused(":6: parts: there is no middle: take one of left, right", "lab", "up", "--part", "middle", path)
	large, _ := r.file(strings.ReplaceAll(string(text), "1446", "1447"))
	left.runRefused(":18: links.up.mtu: 1447 octets are 1501 in a VXLAN tunnel with a VLAN tag, and under to "+
		"192.0.2.2 carries 1500: write mtu: 1446 here", "lab", "up", "--part", "left", large)
	path, name = r.file(string(text))

	for part, m := range machines {
		t.Cleanup(func() {
			_ = r.command("lab", "down", "--part", part, path).Run() // where the test ended early
			r.checkNothingLeft(name + "." + part)
		})
		assert.Contains(t, m.run("lab", "up", "--part", part, path), "lab down --part "+part+" "+path, "lab up says")
	}
	left.runRefused("is up already: pfcswitch lab down --part left "+path, "lab", "up", "--part", "left", path)
	r.runRefused("lab "+name+" is not up: of its parts, left and right are up: --part left, and so on", "lab", "down",
		path)

	r.partOf, r.octets = map[string]string{"h1": "left", "h3": "right", "h4": "right"}, 1464
	r.checkTraffic(path, []flow{{"h1", "h3", ""}, {"h4", "h3", ""}})
	state := r.state(name + ".left")
	checkTunnelPFC(t, r, *state.Node("s1"))
	for part := range machines {
		for _, n := range r.state(name + "." + part).Nodes {
			if n.Kind == "switch" {
				r.checkLossless(n)
			}
		}
		n := fragments(t, nodes[part])
		assert.True(t, n == "0", "%s has sent %s fragments", part, n)
	}
	left.run("lab", "down", "--part", "left", path)
	r.checkNothingLeft(name + ".left")
	assert.Contains(t, right.run("lab", "exec", name+".right", "h3", "ip", "-br", "link"), "eth0",
		"the other part is gone too")
	r.runRefused("lab "+name+" is not up: of its parts, right is up: --part right", "lab", "down", path)
	right.run("lab", "down", name+".right")
	r.checkNothingLeft(name + ".right")
}

// checkTunnelPFC wants that PFC has come through the tunnel, and that its ends say that all kinds of frames pass.
func checkTunnelPFC(t *testing.T, r *rig, n Node) {
	t.Helper()
	reply := assert.Got(api.NewClient(n.Socket).Show(t.Context(), "pfc")).Must(t)
	var received uint64
	for _, p := range reply.(*api.PFC).Ports {
		if p.Port == "up" {
			received = p.Priorities[3].ReceivedFrames
		}
	}
	t.Logf("%d PFC frames came through the tunnel", received)
	assert.True(t, received != 0, "no PFC came through the tunnel")
	var answer api.LinkCheck
	must(t, json.Unmarshal([]byte(r.run("linkcheck", "up", "-s", n.Socket, "-j")), &answer))
	t.Logf("linkcheck:\n%s", answer.Text())
	passed := map[string]bool{}
	for _, c := range answer.Checks {
		passed[c.Check] = c.Verdict == api.LinkPass && c.Out == "pass" && c.Back == "pass"
	}
	assert.True(t, answer.Peer != nil && passed["pfc"], "linkcheck: PFC does not pass: %+v", answer.Checks)
}

// fragments is how many fragments of IPv4 packets a machine has made.
func fragments(t *testing.T, n *lab.Node) string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(labtest.Run(t, n, "cat", "/proc/net/snmp")) {
		if f := strings.Fields(line); f[0] == "Ip:" {
			rows = append(rows, f)
		}
	}
	for i, title := range rows[0] {
		if title == "FragCreates" {
			return rows[1][i]
		}
	}
	t.Fatal("the kernel does not count fragments")
	return ""
}
