package dataplane

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Ports that come and go under ever new names take no more memory than so many, and no lossless frame that they have
// lost is forgotten; a port that is there keeps what it has counted before, however long ago.
func TestPortsOfManyNames(t *testing.T) {
	r := newRig(t, testConfig(2), testPort(0))
	r.count(0).LosslessDrops[lossless] = 7
	r.sw.RemovePort(0, r.now)
	assert.Equal(t, r.snapshot().LosslessDropsRemoved, 7, "lossless drops of ports that are gone")
	r.reconfigure(testConfig(2), testPort(0))
	add := func(name string) {
		c := testPort(1)
		c.Name = name
		r.reconfigure(testConfig(2), testPort(0), c)
	}
	const names = maxRemoved + 10
	for n := range uint64(names) {
		add(fmt.Sprint("q", n))
		r.count(1).LosslessDrops[Unknown] = 2
		r.sw.RemovePort(1, r.now)
		assert.MustEqual(t, r.snapshot().LosslessDropsRemoved, 2*(n+1), "lossless drops of ports that are gone")
	}
	assert.True(t, len(r.sw.removedPorts.byName) == maxRemoved && len(r.sw.removedPorts.names) == maxRemoved,
		"%d names are remembered, %d in order", len(r.sw.removedPorts.byName), len(r.sw.removedPorts.names))
	begun := r.now
	for name, lost := range map[string]uint64{"q0": 0, fmt.Sprint("q", names-1): 2} { // forgotten, and not
		r.now++
		add(name)
		p := r.snapshot().Ports[1]
		if got := p.Counters.LosslessDrops[Unknown]; got != lost || (p.Begun == begun) != (lost > 0) {
			t.Errorf("%s came back with %d lossless drops, want %d; it counts since %d, now is %d", name, got, lost,
				p.Begun, r.now)
		}
		r.sw.KeepMeasurements(name, new(Histogram), new(Histogram), 0, 0)
		assert.Equal(t, r.snapshot().Ports[1].Begun, p.Begun, "%s counts since when its sockets are gone", name)
		r.sw.RemovePort(1, r.now)
	}
	v := r.snapshot()
	assert.True(t, v.Ports[0].Counters.LosslessDrops[lossless] == 7 && v.LosslessDropsRemoved == 2*names,
		"%d lossless drops of a port that is there, %d of those that are gone",
		v.Ports[0].Counters.LosslessDrops[lossless], v.LosslessDropsRemoved)
	assert.Equal(t, testing.AllocsPerRun(100, func() { r.sw.Snapshot(v, r.now) }), 0, "allocations of a snapshot")
}

// Trunks of ever new names, and one of ever other members, are not remembered for ever either.
func TestTrunksOfManyNames(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	s := r.sw
	for n := range maxRemoved + 10 {
		c := threeToOne()
		c.Name = fmt.Sprint("t", n)
		s.setTrunks([]TrunkConfig{c})
	}
	assert.True(t, len(s.removedTrunks.byName) == maxRemoved && s.removedTrunks.byName["up"] == nil &&
		s.removedTrunks.byName[fmt.Sprint("t", maxRemoved)] != nil, "%d trunks are remembered",
		len(s.removedTrunks.byName))
	for n := range maxRemovedMembers {
		s.ports[0].cfg.Name = fmt.Sprint("q", n)
		c := threeToOne()
		c.Name, c.Members = "up", []int{n % 2, 1 - n%2, 2}
		s.setTrunks([]TrunkConfig{c})
	}
	s.setTrunks(nil)
	got, most := len(s.removedTrunks.byName["up"].Members), members+maxRemovedMembers
	assert.True(t, got <= most && got >= maxRemovedMembers, "%d members are remembered, at most %d should be", got,
		most)
}
