package dataplane

import (
	"fmt"
	"testing"
)

// Ports that come and go under ever new names take no more memory than so many, and no lossless frame that they have
// lost is forgotten; a port that is there keeps what it has counted before, however long ago.
func TestPortsOfManyNames(t *testing.T) {
	r := newRig(t, testConfig(2), testPort(0))
	r.count(0).LosslessDrops[lossless] = 7
	r.sw.RemovePort(0, r.now)
	if v := r.snapshot(); v.LosslessDropsGone != 7 {
		t.Errorf("%d lossless drops of ports that are gone, want 7", v.LosslessDropsGone)
	}
	r.reconfigure(testConfig(2), testPort(0))
	add := func(name string) {
		c := testPort(1)
		c.Name = name
		r.reconfigure(testConfig(2), testPort(0), c)
	}
	const names = maxRetired + 10
	for n := range uint64(names) {
		add(fmt.Sprint("q", n))
		r.count(1).LosslessDrops[Unknown] = 2
		r.sw.RemovePort(1, r.now)
		if got := r.snapshot().LosslessDropsGone; got != 2*(n+1) {
			t.Fatalf("%d lossless drops of ports that are gone, want %d", got, 2*(n+1))
		}
	}
	if len(r.sw.retired.byName) != maxRetired || len(r.sw.retired.names) != maxRetired {
		t.Errorf("%d names are remembered, %d in order", len(r.sw.retired.byName), len(r.sw.retired.names))
	}
	for name, lost := range map[string]uint64{"q0": 0, fmt.Sprint("q", names-1): 2} { // forgotten, and not
		add(name)
		if got := r.snapshot().Ports[1].Counters.LosslessDrops[Unknown]; got != lost {
			t.Errorf("%s came back with %d lossless drops, want %d", name, got, lost)
		}
		r.sw.RemovePort(1, r.now)
	}
	v := r.snapshot()
	if v.Ports[0].Counters.LosslessDrops[lossless] != 7 || v.LosslessDropsGone != 2*names {
		t.Errorf("%d lossless drops of a port that is there, %d of those that are gone",
			v.Ports[0].Counters.LosslessDrops[lossless], v.LosslessDropsGone)
	}
	if n := testing.AllocsPerRun(100, func() { r.sw.Snapshot(v, r.now) }); n != 0 {
		t.Errorf("a snapshot allocates %v times", n)
	}
}

// Trunks of ever new names, and one of ever other members, are not remembered for ever either.
func TestTrunksOfManyNames(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	s := r.sw
	for n := range maxRetired + 10 {
		c := threeToOne()
		c.Name = fmt.Sprint("t", n)
		s.setTrunks([]TrunkConfig{c})
	}
	if len(s.retiredTrunks.byName) != maxRetired || s.retiredTrunks.byName["up"] != nil ||
		s.retiredTrunks.byName[fmt.Sprint("t", maxRetired)] == nil {
		t.Errorf("%d trunks are remembered", len(s.retiredTrunks.byName))
	}
	for n := range maxRetiredMembers {
		s.ports[0].cfg.Name = fmt.Sprint("q", n)
		c := threeToOne()
		c.Name, c.Members = "up", []int{n % 2, 1 - n%2, 2}
		s.setTrunks([]TrunkConfig{c})
	}
	s.setTrunks(nil)
	if got, most := len(s.retiredTrunks.byName["up"].Members), members+maxRetiredMembers; got > most ||
		got < maxRetiredMembers {
		t.Errorf("%d members are remembered, at most %d should be", got, most)
	}
}
