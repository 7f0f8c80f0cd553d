package acceptance

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// A change of the configuration under load costs peers that obey nothing.
func TestApplyUnderLoad(t *testing.T) {
	r := NewRig(t, 4, lab.LinkOptions{})
	buffers := func(more string) string {
		return "buffer: {lossless: {size: 512KiB" + more + "}, lossy: {size: 64KiB}}\npriorities: {lossless: [3]}\n"
	}
	r.Start(Setup{Keys: buffers(""), Each: At100M})
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	stop1 := h1.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0})
	stop3 := h3.Send(Stream{To: 2, Prio: 3})
	eventually(t, "both senders are held now and then",
		func() bool { return h1.Controls.Load() > 1 && h3.Controls.Load() > 1 })

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
		before := h2.Tally(1, 3).Frames
		if err := r.Apply(Setup{Keys: step.keys, Each: At100M, Ports: step.ports}, step.count); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		eventually(t, step.name+": frames go on", func() bool { return h2.Tally(1, 3).Frames > before+50 })
	}
	stop1()
	stop3()
	h2.Whole(h1, 3)
	h2.Whole(h3, 3)
	r.NoLosslessDrops()
}

// A configuration that cannot be put in force leaves the old one in force, whole.
func TestApplyRefused(t *testing.T) {
	r := NewRig(t, 2, lab.LinkOptions{})
	const keys = "priorities: {lossless: [3]}\n"
	r.Start(Setup{Keys: keys, Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 20e6})
	before, expanded := r.Snapshot(1).Config, string(r.Source().ConfigYAML())
	for _, tt := range []struct {
		name string
		s    Setup
		want string
	}{
		{"headroom that does not fit", Setup{Keys: keys + "buffer: {headroom: 1MiB, lossless: {size: 1MiB}}"},
			"lossless.size"},
		{"PFC and PAUSE", Setup{Keys: keys, Each: "flow_control: [pfc, pause]"}, "PFC and PAUSE exclude each other"},
		{"another cell size", Setup{Keys: keys + "buffer: {cell: 512B}"}, "restart"},
		{"other workers", Setup{Keys: keys + "workers: per-port"}, "restart"},
		{"unknown key", Setup{Keys: keys + "bufer: {}"}, "bufer"},
		{"address in the filtering database behind no port",
			Setup{Keys: keys + `fdb: [{mac: "02:00:00:00:00:09", vlan: 1, port: p9}]`}, "p9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := r.Apply(tt.s, 2)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
	must(t, r.Lab.Link(r.Host(2), "eth1", r.Node, "p3", lab.LinkOptions{}))
	must(t, r.Node.AddAddr("p3", "192.0.2.1/24"))
	if err := r.Apply(Setup{Keys: keys}, 3); err == nil ||
		!strings.Contains(err.Error(), "has the address 192.0.2.1/24") {
		t.Errorf("a port more whose interface is in use: error %v, want one about its address", err)
	}
	if after := r.Snapshot(1).Config; after != before {
		t.Errorf("the port has another configuration:\n was %+v\n is  %+v", before, after)
	}
	if got := string(r.Source().ConfigYAML()); got != expanded {
		t.Errorf("the switch says that another configuration is in force:\n%s", got)
	}
	time.Sleep(20 * time.Millisecond)
	stop()
	h2.Whole(h1, 3)
	if n := len(r.Events(dataplane.EventConfig, 1)); n != 0 {
		t.Errorf("%d events say that a configuration came in force", n)
	}
}

// A change that needs new sockets interrupts a port and is over.
func TestApplyReopens(t *testing.T) {
	r := NewRig(t, 2, lab.LinkOptions{})
	const keys = "priorities: {lossless: [3]}\n"
	r.Start(Setup{Keys: keys, Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 20e6})
	for _, each := range []string{"speed: 200M", "speed: none", "speed: 100M, mtu: 1600",
		"speed: 100M, ring: {other: 64}", "flow_control: pause", At100M} {
		must(t, r.Apply(Setup{Keys: keys, Each: each}, 2))
		before := h2.Tally(1, 3).Frames
		eventually(t, each+": frames go on", func() bool { return h2.Tally(1, 3).Frames > before+50 })
	}
	stop()
	t.Log(h1.Sent[3].Load(), h2.Tally(1, 3).Frames)
}

// Rings that have to grow are replaced under load: the port stays up and its peer obeys, so that nothing is lost.
func TestApplyGrowsRings(t *testing.T) {
	r := NewRig(t, 3, lab.LinkOptions{})
	const keys = "priorities: {lossless: [3]}\n"
	r.Start(Setup{Keys: keys, Each: At100M})
	h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
		r.Station(3, macctl.ModePFC, 100e6)
	stop1, stop3 := h1.Send(Stream{To: 2, Prio: 3}), h3.Send(Stream{To: 2, Prio: 3})
	for i, each := range []string{"speed: 100M, ring: {outage: 500ms}", "speed: 100M, mtu: 2000, ring: {outage: 600ms}",
		"speed: 200M, ring: {outage: 800ms}", "speed: 200M, ring: {outage: 800ms, small: 40000}", At100M} {
		slots, ups := r.Snapshot(1).RingSlots, len(r.Events(dataplane.EventPortUp, 1))
		before := h2.Tally(1, 3).Frames
		must(t, r.Apply(Setup{Keys: keys, Each: each}, 3))
		if got := r.Snapshot(1).RingSlots; i < 4 && i != 1 && got <= slots || i == 4 && got != slots {
			t.Errorf("%s: %d slots, were %d", each, got, slots)
		}
		if got := len(r.Events(dataplane.EventPortUp, 1)); got != ups {
			t.Errorf("%s: the port went down and up", each)
		}
		eventually(t, each+": frames go on", func() bool { return h2.Tally(1, 3).Frames > before+50 })
	}
	stop1()
	stop3()
	h2.Whole(h1, 3)
	h2.Whole(h3, 3)
	r.NoLosslessDrops()
}
