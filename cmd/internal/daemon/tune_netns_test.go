package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// reports makes the interface of p1 report a speed, as a NIC does.
func (r *rig) reports(speed int64) {
	r.d.mu.Lock()
	r.d.inspect = func(ns, name string) (port.Link, error) {
		l, err := port.Inspect(ns, name)
		if name == "p1" {
			l.Speed = speed
		}
		return l, err
	}
	r.d.mu.Unlock()
	r.d.poke()
}

// tells waits for the one event of port p1 that has all these words. It comes after the change that it is about.
func (r *rig) tells(words ...string) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("an event with %q", words), func() bool {
		n := 0
		for _, e := range r.events(dataplane.EventPort, 1) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e.Text, w) }) {
				n++
			}
		}
		return n == 1
	})
}

// A port with speed: auto follows its link; one without goes its own way, and a link that says nothing changes nothing.
func TestSpeedFollowsTheLink(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.start(setup{keys: "priorities: {lossless: [3]}\nbuffer: {lossless: {size: 8MiB}}"})
	speed := func(want int64) {
		t.Helper()
		eventually(t, "the port follows its link", func() bool { return r.snapshot(1).Config.Speed == want })
	}
	r.reports(100e6)
	speed(100e6)
	if got := r.snapshot(2).Config.Speed; got != 1e9 {
		t.Errorf("the other port's speed is %d", got)
	}
	r.tells("100 Mbit/s")
	r.reports(0)
	r.reports(200e6)
	speed(200e6)
	r.passes(1, 2)
	must(t, r.apply(setup{keys: "priorities: {lossless: [3]}\nbuffer: {lossless: {size: 256KiB}}", each: "ring: {outage: 1ms}"}, 2))
	r.reports(100e9)
	r.tells("stays at 200 Mbit/s", "buffer.lossless.size")
	speed(200e6)
	r.passes(1, 2)
}

// An interface that gets another address keeps its port, which takes the address over.
func TestAddressChanges(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.start(setup{})
	want := [6]byte{2, 0, 0, 0, 7, 7}
	ip(t, r.sw, "link", "set", "p1", "address", "02:00:00:00:07:07")
	eventually(t, "the port has the address", func() bool { return r.snapshot(1).Config.MAC == want })
	r.tells("02:00:00:00:07:07")
	must(t, r.apply(setup{}, 2))
	if got := r.snapshot(1).Config.MAC; got != want {
		t.Errorf("a new configuration has brought back the address %x", got)
	}
}
