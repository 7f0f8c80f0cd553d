package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// upward are the ports of a fat tree of k = 4 by which a frame may take one of two ways: those of edge and aggregation
// switches to the tier above.
func upward() (names [][2]string) {
	for pod := range 4 {
		for _, tier := range []string{"e", "a"} {
			for n := range 2 {
				s := fmt.Sprintf("p%d%s%d", pod+1, tier, n+1)
				names = append(names, [2]string{s, "up1"}, [2]string{s, "up2"})
			}
		}
	}
	return names
}

// Each to each in a fat tree, by flow: nothing is lost, every flow is in order, and every way is used.
func TestECMPUsesAllWays(t *testing.T) {
	sent := map[[2]string]uint64{}
	r := onFabric(t, "fat-tree: {k: 4}\n  spread: flow", "10G", "f: {all-to-all: on, rate: 300M, duration: 2ms}",
		Options{Seed: 1, Response: -1, LookEvery: time.Millisecond,
			Look: func(_ time.Duration, snapshot func(string) *dataplane.Snapshot) {
				for _, up := range upward() {
					for _, p := range snapshot(up[0]).Ports {
						if p.Config.Name == up[1] {
							sent[up] = p.Counters.QueueSent[3]
						}
					}
				}
			}})
	assert.MustBeTrue(t, r.Pass && len(r.Flows) == 16*15, "pass %v with %d flows: %+v", r.Pass, len(r.Flows), r.Checks)
	for _, f := range r.Flows {
		assert.True(t, f.Lossless && f.Lost == 0 && f.Reordered == 0 && f.Received != 0, "%+v", f)
	}
	for _, up := range upward() {
		other := [2]string{up[0], map[string]string{"up1": "up2", "up2": "up1"}[up[1]]}
		if both := sent[up] + sent[other]; sent[up] < both/5 || both == 0 {
			t.Errorf("%s:%s has sent %d of %d frames", up[0], up[1], sent[up], both)
		}
	}
}

// By flow some flows of a permutation share a link, as by hash, and those are slower. Each run has the same ways, with
// any seed.
func TestECMPIsDeterministic(t *testing.T) {
	run := func(seed uint64) (r *Report, text string) {
		r = onFabric(t, "fat-tree: {k: 4}\n  spread: flow", "100G", "f: {permutation: on, duration: 50us}",
			Options{Seed: seed, Response: -1})
		var b strings.Builder
		assert.Must(t, api.WriteJSON(&b, r))
		return r, b.String()
	}
	first, text := run(1)
	_, again := run(1)
	assert.True(t, again == text, "%s\nand then\n%s", text, again)
	other, _ := run(2)
	for i, f := range first.Flows {
		if of := other.Flows[i]; f.Rate < 90e9 != (of.Rate < 90e9) {
			t.Errorf("%s has %d bit/s, and with another seed %d", f.Name, f.Rate, of.Rate)
		}
	}
	slow := 0
	for _, f := range first.Flows {
		if f.Rate < 90e9 {
			slow++
		}
	}
	assert.True(t, first.Pass && slow != 0 && slow != len(first.Flows), "pass %v, %d of %d flows are slow: %+v",
		first.Pass, slow, len(first.Flows), first.Checks)
}

// A link that is down takes the flows of its port elsewhere, where its switch has other ways. Frames on their way over
// it are lost, no other.
func TestECMPAroundALinkThatIsDown(t *testing.T) {
	run := func(spread string) (came, lost uint64) {
		r, err := simulate(t, "name: a\nfabric:\n  leaf-spine: {leaves: 2, spines: 2, hosts: 8}\n  spread: "+spread+
			"\n  links: {speed: 10G, cable: 10m}\n  switches: {preset: roce}\n"+
			"traffic: {f: {from: [h1, h2, h3, h4, h5, h6, h7, h8], to: [h9, h10, h11, h12, h13, h14, h15, h16], "+
			"rate: 100M, duration: 10ms}}\nfaults: {x: {flap: leaf1-spine1, start: 2ms, duration: 6ms}}\n", standard)
		assert.Must(t, err)
		for _, f := range r.Flows {
			came, lost = came+f.Received, lost+f.Lost
		}
		return came, lost
	}
	came, lost := run("flow")
	byNumber, lostByNumber := run("number")
	assert.True(t, lost <= 10 && lostByNumber >= byNumber/5,
		"by flow %d frames came and %d were lost; by number %d and %d", came, lost, byNumber, lostByNumber)
}

// A group of which one port leads to the host and the other into a circle is refused before anything runs, whichever
// the flow takes; and so is one of which a way leads back, where it came from.
func TestEachWayOfAGroupIsFollowed(t *testing.T) {
	read := func(name string) string {
		text := assert.Got(os.ReadFile(filepath.Join("../../../scripts/lab", name))).Must(t)
		return string(text)
	}
	ring := strings.Split(read("ring.yaml"), "traffic:")[0] + "traffic: {x: {from: h1, to: h4, TTLduration: 1ms}}\n"
	ring = strings.Replace(ring, "links:\n", "  h4: {mac: \"02:00:00:00:00:04\"}\nlinks:\n"+
		"  h4: {ends: [h4, \"s1:spare\"], speed: 200M}\n", 1)
	ring = strings.Replace(ring, "    fdb:\n", "    fdb:\n      - {mac: \"02:00:00:00:00:04\", PORTS}\n", 1)
	s1, others, _ := strings.Cut(ring, "PORTS")
	ring = s1 + "PORTS" + strings.ReplaceAll(others, "    fdb:\n", "    fdb:\n      - {mac: \"02:00:00:00:00:04\", "+
		"port: out}\n")
	leaves := strings.ReplaceAll(read("leaf-spine.yaml"), "{mac: &h3 \"02:00:00:00:00:03\", port: up1}",
		"{mac: &h3 \"02:00:00:00:00:03\", ports: [up1, up2]}")
	back := strings.Replace(leaves, "  spine2: *spine\n", "  spine2:\n    preset: roce\n    ports: {leaf1: *tier, "+
		"leaf2: *tier}\n    fdb: [{mac: *h3, port: leaf1}, {mac: *h4, port: leaf2}, {mac: *h1, port: leaf1}]\n", 1)
	for _, tt := range []struct{ name, text, want string }{
		{"one port", strings.NewReplacer("PORTS", "port: spare", "TTL", "").Replace(ring), ""},
		{"into a circle", strings.NewReplacer("PORTS", "ports: [spare, out]", "TTL", "").Replace(ring),
			"s2 is passed again and again: the routes form a circle"},
		{"into a circle, with a TTL", strings.NewReplacer("PORTS", "ports: [spare, out]", "TTL",
			"ttl: 9, ").Replace(ring), ""},
		{"two good ways", leaves, ""},
		{"back", back, "spine2 drops what comes by leaf1: same-port"},
	} {
		_, err := simulate(t, tt.text, standard)
		told := err != nil && strings.HasPrefix(err.Error(), "lab.yaml:") && strings.Contains(err.Error(), tt.want)
		assert.True(t, (tt.want != "" || err == nil) && (tt.want == "" || told), "%s: %v; want %q", tt.name, err,
			tt.want)
	}
}
