package simulation

import (
	"fmt"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// onFabric runs traffic on a fabric whose links all have the same speed.
func onFabric(t *testing.T, shape, speed, traffic string, o Options) *Report {
	t.Helper()
	r := assert.Got(simulate(t, "name: a\nfabric:\n  "+shape+"\n  links: {speed: "+speed+", cable: 10m}\n  switches: "+
		"{preset: roce}\ntraffic: {"+traffic+"}", o)).Must(t)
	return r
}

// A fat tree carries a permutation at 90 %: every flow has its links to itself. By hash some flows share a link, and
// get a part of it. Nothing is lost.
func TestPermutationInAFatTree(t *testing.T) {
	for spread, shared := range map[string]bool{"number": false, "hash": true} {
		r := onFabric(t, "fat-tree: {k: 4}\n  spread: "+spread, "100G",
			"f: {permutation: on, rate: 90G, duration: 200us}", standard)
		slow := 0
		for _, f := range r.Flows {
			if f.Rate < 88e9 {
				slow++
			}
		}
		assert.True(t, r.Pass && len(r.Flows) == 16 && (slow > 0) == shared,
			"%s: pass %v, %d flows, %d of them slow", spread, r.Pass, len(r.Flows), slow)
	}
}

// In a ring of five, where each host sends to the one behind the next, every switch waits for the next.
func TestRingOfFiveDeadlocks(t *testing.T) {
	r := onFabric(t, "ring: {switches: 5, hosts: 1}", "1G", "f: {permutation: on, duration: 300ms}",
		Options{Seed: 1, Response: -1, Stall: 80 * time.Millisecond})
	assert.True(t, r.Deadlock && len(r.Cycle) == 5, "deadlock %v: %+v", r.Deadlock, r.Cycle)
}

// The filtering databases hold all stations: once the switches have learned them, each frame crosses three links.
func TestNothingIsFlooded(t *testing.T) {
	for _, n := range []int{3, 40} {
		run := func(duration string) (hops, sent uint64) {
			r := onFabric(t, fmt.Sprintf("dumbbell: {hosts: %d}", n), "1G",
				"f: {permutation: on, priority: 0, rate: 2M, duration: "+duration+"}", standard)
			for _, f := range r.Flows {
				sent += f.Sent
			}
			return r.Hops, sent
		}
		hops, sent := run("10ms")
		more, moreSent := run("100ms")
		assert.True(t, more-hops == 3*(moreSent-sent) && moreSent != sent,
			"%d hosts at each switch: %d hops of %d frames", n, more-hops, moreSent-sent)
	}
}

// The file of the largest fabric is one.
func TestFatTreeFile(t *testing.T) {
	lab := assert.Got(config.LoadTopology("../../../scripts/fat-tree.yaml")).Must(t)
	if len(lab.Hosts) != 1024 || len(lab.Switches) != 320 || len(lab.Traffic[0].Pairs()) != 1024 ||
		Length(lab) != 10*time.Millisecond {
		t.Errorf("%d hosts, %d switches, %d pairs, %v", len(lab.Hosts), len(lab.Switches),
			len(lab.Traffic[0].Pairs()), Length(lab))
	}
}
