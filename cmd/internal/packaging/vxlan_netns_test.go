package packaging

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// askLink asks the other end of a port what passes, and wants PFC to, in both directions.
func askLink(t *testing.T, node *lab.Node, port, socket string) {
	t.Helper()
	p := run(t, node, nil, "linkcheck", port, "-s", socket, "-j")
	select {
	case <-p.Ended():
	case <-time.After(30 * time.Second):
		t.Fatalf("linkcheck does not end: %s", p.Output())
	}
	var r api.LinkCheck
	if err := json.Unmarshal([]byte(p.Output()), &r); err != nil {
		t.Fatalf("linkcheck: %v: %s", err, p.Output())
	}
	t.Logf("linkcheck of %s:\n%s", port, r.Text())
	pfc := slices.IndexFunc(r.Checks, func(c api.LinkTest) bool { return c.Check == "pfc" })
	if r.Peer == nil || pfc < 0 || r.Checks[pfc].Verdict != api.LinkPass || r.Checks[pfc].Out != "pass" ||
		r.Checks[pfc].Back != "pass" {
		t.Errorf("linkcheck of %s: PFC does not pass, by peer %v: %+v", port, r.Peer, r.Checks)
	}
}

// Two machines, joined by the tunnel that containerlab makes between them, with the switches' own files: PFC passes it,
// as linkcheck says, so that a lossless priority loses nothing where both ends of it are full.
func TestTunnel(t *testing.T) {
	l := labtest.New(t, "tunnel")
	left, right := labtest.Node(t, l, "left"), labtest.Node(t, l, "right")
	h1, h3, h4 := labtest.Node(t, l, "h1"), labtest.Node(t, l, "h3"), labtest.Node(t, l, "h4")
	cable(t, l, left, "under", right, "under")
	ends := map[*lab.Node]struct{ own, other string }{left: {"192.0.2.1", "192.0.2.2"},
		right: {"192.0.2.2", "192.0.2.1"}}
	for node, at := range ends {
		must(t, node.AddAddr("under", at.own+"/24"))
		for _, command := range []string{
			"link add eth3 mtu 1450 type vxlan id 100 local " + at.own + " remote " + at.other +
				" dev under dstport 14789",
			"link set eth3 up",
		} {
			labtest.Run(t, node, append([]string{"ip"}, strings.Fields(command)...)...)
		}
	}
	small := lab.LinkOptions{MTU: 1450}
	must(t, l.Link(left, "eth1", h1, "eth1", small))
	must(t, l.Link(left, "eth2", labtest.Node(t, l, "h2"), "eth1", small))
	must(t, l.Link(right, "eth1", h3, "eth1", small))
	must(t, l.Link(right, "eth2", h4, "eth1", small))

	dir := labtest.TempDir(t)
	start := func(node *lab.Node, name string) (*lab.Process, *api.Client) {
		text, err := os.ReadFile(filepath.Join(root, "scripts/clab/two-hosts", name+".yaml"))
		must(t, err)
		socket := filepath.Join(dir, name+".sock")
		path := write(t, filepath.Join(dir, name+".yaml"), string(text)+"api: {socket: "+socket+"}\n")
		proc := run(t, node, nil, "run", "-c", path)
		waitFor(t, proc, socket)
		return proc, api.NewClient(socket)
	}
	s1, c1 := start(left, "s1")
	s2, c2 := start(right, "s2")
	if held := checkTraffic(t, h3, "eth1", 1, map[*lab.Node]string{h1: "eth1", h4: "eth1"}); held == 0 {
		t.Error("no sender was held")
	}
	askLink(t, left, "eth3", filepath.Join(dir, "s1.sock"))
	reply, err := c1.Show(t.Context(), "pfc")
	must(t, err)
	through := uint64(0) // PFC that came out of the tunnel
	for _, p := range reply.(*api.PFC).Ports {
		if p.Port == "eth3" {
			through = p.Priorities[3].ReceivedFrames
		}
	}
	if through == 0 {
		t.Error("no PFC came through the tunnel")
	}
	t.Logf("%d PFC frames came through the tunnel", through)
	for _, c := range []*api.Client{c1, c2} {
		reply, err := c.Show(t.Context(), "ports")
		must(t, err)
		if n := reply.(*api.Ports).LosslessDropsSinceStart; n != 0 {
			events, err := c.Show(t.Context(), "events")
			must(t, err)
			t.Errorf("%d lossless frames were lost:\n%s", n, events.Text())
		}
	}
	stop(t, s1)
	stop(t, s2)
}
