package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// apply puts a configuration of the first n ports in force.
func (r *rig) apply(s setup, n int) error {
	r.t.Helper()
	s.ns = r.sw.Path()
	c, _, err := config.Parse("test.yaml", []byte(s.yaml(r, n)))
	if err != nil {
		return err
	}
	_, err = r.d.Apply(context.Background(), c)
	return err
}

// A change of the configuration under load costs peers that obey nothing.
func TestApplyUnderLoad(t *testing.T) {
	r := newRig(t, 4, lab.LinkOptions{})
	buffers := func(more string) string {
		return "buffer: {lossless: {size: 512KiB" + more + "}, lossy: {size: 64KiB}}\npriorities: {lossless: [3]}\n"
	}
	r.start(setup{keys: buffers(""), each: at100M})
	h1, h2, h3 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6),
		r.station(3, macctl.ModePFC, 100e6)
	stop1 := h1.send(stream{to: 2, prio: 3}, stream{to: 2, prio: 0})
	stop3 := h3.send(stream{to: 2, prio: 3})
	eventually(t, "both senders are held now and then",
		func() bool { return h1.controls.Load() > 1 && h3.controls.Load() > 1 })

	for _, step := range []struct {
		name  string
		keys  string
		ports map[int]string
		count int // of ports; 0: all four
	}{
		{name: "smaller alpha", keys: buffers(", alpha: 0.125")},
		{name: "larger alpha", keys: buffers(", alpha: 8")},
		{name: "alpha as it was", keys: buffers("")},
		{name: "one queue's alpha and headroom", keys: buffers(""),
			ports: map[int]string{1: "priorities: {3: {alpha: 0.5, headroom: 60KiB, private: 0B, xon: 8KiB}}"}},
		{name: "larger headroom everywhere", keys: strings.Replace(buffers(""), "lossy:", "headroom: 40KiB, lossy:",
			1)},
		{name: "calculated headroom", keys: buffers("")},
		{name: "static policy", keys: strings.Replace(buffers(""), "lossy:", "policy: static, xoff: 32KiB, lossy:", 1)},
		{name: "dynamic policy", keys: buffers("")},
		{name: "weights and ECN", keys: buffers("") +
			"queues: {3: {weight: 90}, 0: {weight: 10}}\necn: {3: {kmin: 4KiB, kmax: 64KiB, pmax: 10%}}\n"},
		{name: "one more lossless priority", keys: strings.Replace(buffers(""), "[3]", "[3, 4]", 1)},
		{name: "and none but 3", keys: buffers("")},
		{name: "remaining pause times", keys: buffers("") + "pause: {quanta: remaining}\n"},
		{name: "short pause times", keys: buffers("") + "pause: {quanta: 2000}\n"},
		{name: "without a port", keys: buffers(""), count: 3},
		{name: "with it again", keys: buffers("")},
		{name: "filtering database by learning",
			keys: buffers("") + "fdb: [{mac: \"02:00:00:00:00:02\", vlan: 1, port: p2}]\nageing: 10s\n"},
		{name: "another port's keys", keys: buffers(""),
			ports: map[int]string{4: "flow_control: pause, pvid: 7, storm: 1M"}},
		{name: "larger pools", keys: strings.NewReplacer("512KiB", "4MiB", "64KiB", "1MiB").Replace(buffers(""))},
	} {
		if step.count == 0 {
			step.count = 4
		}
		before := h2.tally(1, 3).frames
		if err := r.apply(setup{keys: step.keys, each: at100M, ports: step.ports}, step.count); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		eventually(t, step.name+": frames go on", func() bool { return h2.tally(1, 3).frames > before+50 })
	}
	stop1()
	stop3()
	h2.whole(h1, 3)
	h2.whole(h3, 3)
	r.noLosslessDrops()
}

// A configuration that cannot be put in force leaves the old one in force, whole.
func TestApplyRefused(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	const keys = "priorities: {lossless: [3]}\n"
	r.start(setup{keys: keys, each: at100M})
	h1, h2 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6)
	stop := h1.send(stream{to: 2, prio: 3, rate: 20e6})
	before, expanded := r.snapshot(1).Config, string(config.Expand(r.d.cfg))
	for _, tt := range []struct {
		name string
		s    setup
		want string
	}{
		{"headroom that does not fit", setup{keys: keys + "buffer: {headroom: 1MiB, lossless: {size: 1MiB}}"},
			"lossless.size"},
		{"PFC and PAUSE", setup{keys: keys, each: "flow_control: [pfc, pause]"}, "PFC and PAUSE exclude each other"},
		{"another cell size", setup{keys: keys + "buffer: {cell: 512B}"}, "restart"},
		{"other workers", setup{keys: keys + "workers: per-port"}, "restart"},
		{"unknown key", setup{keys: keys + "bufer: {}"}, "bufer"},
		{"address in the filtering database behind no port",
			setup{keys: keys + `fdb: [{mac: "02:00:00:00:00:09", vlan: 1, port: p9}]`}, "p9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := r.apply(tt.s, 2)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
	must(t, r.lab.Link(r.host(2), "eth1", r.sw, "p3", lab.LinkOptions{}))
	must(t, r.sw.AddAddr("p3", "192.0.2.1/24"))
	if err := r.apply(setup{keys: keys}, 3); err == nil ||
		!strings.Contains(err.Error(), "has the address 192.0.2.1/24") {
		t.Errorf("a port more whose interface is in use: error %v, want one about its address", err)
	}
	if after := r.snapshot(1).Config; after != before {
		t.Errorf("the port has another configuration:\n was %+v\n is  %+v", before, after)
	}
	if got := string(config.Expand(r.d.cfg)); got != expanded {
		t.Errorf("the switch says that another configuration is in force:\n%s", got)
	}
	time.Sleep(20 * time.Millisecond)
	stop()
	h2.whole(h1, 3)
	if n := len(r.events(dataplane.EventConfig, 1)); n != 0 {
		t.Errorf("%d events say that a configuration came in force", n)
	}
}

// A change that needs new sockets interrupts a port and is over.
func TestApplyReopens(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	const keys = "priorities: {lossless: [3]}\n"
	r.start(setup{keys: keys, each: at100M})
	h1, h2 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6)
	stop := h1.send(stream{to: 2, prio: 3, rate: 20e6})
	for _, each := range []string{"speed: 200M", "speed: none", "speed: 100M, mtu: 1600",
		"speed: 100M, ring: {other: 64}", "flow_control: pause", at100M} {
		must(t, r.apply(setup{keys: keys, each: each}, 2))
		before := h2.tally(1, 3).frames
		eventually(t, each+": frames go on", func() bool { return h2.tally(1, 3).frames > before+50 })
	}
	stop()
	t.Log(h1.sent[3].Load(), h2.tally(1, 3).frames)
}

// Rings that have to grow are replaced under load: the port stays up and its peer obeys, so that nothing is lost.
func TestApplyGrowsRings(t *testing.T) {
	r := newRig(t, 3, lab.LinkOptions{})
	const keys = "priorities: {lossless: [3]}\n"
	r.start(setup{keys: keys, each: at100M})
	h1, h2, h3 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6),
		r.station(3, macctl.ModePFC, 100e6)
	stop1, stop3 := h1.send(stream{to: 2, prio: 3}), h3.send(stream{to: 2, prio: 3})
	for i, each := range []string{"speed: 100M, ring: {outage: 500ms}", "speed: 100M, mtu: 2000, ring: {outage: 600ms}",
		"speed: 200M, ring: {outage: 800ms}", "speed: 200M, ring: {outage: 800ms, small: 40000}", at100M} {
		slots, ups := r.snapshot(1).RingSlots, len(r.events(dataplane.EventPortUp, 1))
		before := h2.tally(1, 3).frames
		must(t, r.apply(setup{keys: keys, each: each}, 3))
		if got := r.snapshot(1).RingSlots; i < 4 && i != 1 && got <= slots || i == 4 && got != slots {
			t.Errorf("%s: %d slots, were %d", each, got, slots)
		}
		if got := len(r.events(dataplane.EventPortUp, 1)); got != ups {
			t.Errorf("%s: the port went down and up", each)
		}
		eventually(t, each+": frames go on", func() bool { return h2.tally(1, 3).frames > before+50 })
	}
	stop1()
	stop3()
	h2.whole(h1, 3)
	h2.whole(h3, 3)
	r.noLosslessDrops()
}
