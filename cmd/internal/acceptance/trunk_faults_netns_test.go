package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/tshark"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A running trunk refuses what contradicts itself or the speeds of its links, says where and what to do, and carries on
// as it was. The faults that a file shows by itself are golden files of package config.
func TestTrunkRefusesWhatCannotBe(t *testing.T) {
	good := threeToOne(", meters: {0: {cir: 400M, pir: 600M}}")
	r := Start(t, 4, Setup{Keys: good, Each: "ring: {outage: 400ms}"}) // veth: 1 Gbit/s
	h1, h4 := r.Station(1, macctl.ModePFC, 50e6), r.Station(4, macctl.ModePFC, 50e6)
	stop := h1.Send(Stream{To: 4, Prio: 3})
	all := ", meters: {0: {cir: 100M}, 1: {cir: 100M}, 2: {cir: 100M}, 3: {cir: 100M}, 4: {cir: 100M}, 5: {cir: " +
		"100M}, 6: {cir: 100M}, 7: {cir: 100M}}"
	for _, bad := range []struct{ name, keys, want string }{
		{"more committed than the uplink carries", threeToOne(", meters: {0: {cir: 600M}, 1: {cir: 500M}}"),
			"trunks.up.meters: the committed rates are 1.1G together, above the 1G of uplink p4"},
		{"all eight set, and less", threeToOne(all),
			"trunks.up.meters: the committed rates of all eight priorities are 800M together, below the 1G of uplink " +
				"p4: raise one by 200M"},
		{"peak burst below a frame", threeToOne(", meters: {0: {pbs: 64B}}"),
			"trunks.up.meters.0.pbs: 64B is below one frame"},
		{"total's burst below a frame", threeToOne(", meters: {total: {cbs: 1KiB}}"),
			"trunks.up.meters.total.cbs: 1KiB is below one frame"},
		{"a member in two trunks", strings.Replace(good, "trunks: {", "trunks: {other: {uplink: p3, members: [p2]}, ",
			1), "p2 is in trunk other already"},
		{"a member twice", strings.Replace(good, "[p1, p2, p3]", "[p1, p2, p1]", 1),
			"trunks.up.members[2]: port p1 is in trunk up already"},
		{"no room above a watermark", "buffer: {lossless: {size: 8MiB}}\n" +
			threeToOne(", watermarks: {priority: {3: {high: 64MiB, low: 1KiB}}}"),
			"trunks.up.watermarks.priority.3.high: 64MiB leaves too little"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			err := r.Apply(Setup{Keys: bad.keys, Each: "ring: {outage: 400ms}"}, 4)
			assert.True(t, err != nil && strings.Contains(err.Error(), bad.want) &&
				strings.HasPrefix(err.Error(), "test.yaml:"), "got %v\nwant %s", err, bad.want)
			v := r.trunk()
			if m := v.Config.Aggregate.Meters[0]; m.CIR != 400e6 || m.PIR != 600e6 || len(v.Members) != 3 {
				t.Errorf("the trunk has changed: %+v", v.Config)
			}
			h4.GoesOn(1, 20)
		})
	}
	stop()
	h4.Whole(h1, 3)
	r.NoLosslessDrops()
}

// A switch that starts without one of a trunk's interfaces says so and carries what it can; with the interface the
// trunk is whole.
func TestTrunkWaitsForItsPorts(t *testing.T) {
	for _, missing := range []int{2, 4} {
		t.Run(PortName(missing), func(t *testing.T) {
			r := NewRig(t, 4)
			IP(t, r.Node, "link", "del", PortName(missing))
			var there []int
			for n := 1; n <= 4; n++ {
				if n != missing {
					there = append(there, n)
				}
			}
			r.Start(Setup{Keys: threeToOne(", watermarks: {priority: {3: {high: 64KiB, low: 32KiB}}}"), Each: At100M,
				Ready: there})
			assert.True(t, r.State(missing) != "", "the missing interface is not reported")
			h1, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(3, macctl.ModePFC, 100e6)
			stops := []func(){h1.Send(Stream{To: 4, Prio: 3, Rate: 20e6}), h3.Send(Stream{To: 4, Prio: 3, Rate: 20e6})}
			if missing == 4 {
				eventually(t, "frames for an uplink that is missing are dropped, and counted", func() bool {
					return r.Snapshot(1).Counters.Drops[3][dataplane.DropPortDown] > 50 &&
						r.Snapshot(3).Counters.Drops[3][dataplane.DropPortDown] > 50
				})
			}
			r.Link(missing)
			r.WaitUp(missing, true)
			h4 := r.Station(4, macctl.ModePFC, 100e6)
			stops = append(stops, h4.Send(Stream{To: 1, Prio: 0, Rate: 20e6}))
			got := map[int]*Station{1: h1, 3: h3}
			if missing == 2 {
				got[2] = r.Station(2, macctl.ModePFC, 100e6)
				stops = append(stops, got[2].Send(Stream{To: 4, Prio: 3, Rate: 20e6}))
			}
			eventually(t, "frames go both ways by every port that has a host", func() bool {
				for n, s := range got {
					if h4.Tally(n, 3).Frames < 50 || s.Tally(4, 0).Frames < 50 {
						return false
					}
				}
				return true
			})
			for _, stop := range stops {
				stop()
			}
			eventually(t, "nobody is held, when all that waited has left", func() bool {
				held := r.trunk().Held
				return held.Priorities == 0 && held.Uplink == 0
			})
			r.NoLosslessDrops()
		})
	}
}

// Two trunks and a bridge in one switch: each carries its own, and no frame gets from one to another.
func TestTrunksBesideABridge(t *testing.T) {
	r := Start(t, 6, Setup{Keys: Lossless3 + "fdb: []\ntrunks: {first: {uplink: p2, members: [p1]}, second: " +
		"{uplink: p3, members: [p4]}}\n", Each: At100M, Ports: map[int]string{5: "storm: off", 6: "storm: off"}})
	var hosts []*Station
	for n := 1; n <= 6; n++ {
		hosts = append(hosts, r.Station(n, macctl.ModePFC, 100e6))
	}
	pairs := map[int]int{1: 2, 2: 1, 3: 4, 4: 3, 5: 6, 6: 5}
	for from := range pairs {
		// To nobody: a trunk does not look. The bridge floods it, and only to its own ports.
		defer hosts[from-1].Send(Stream{To: 7, Prio: 0, Rate: 5e6, Frames: 300})()
	}
	for from, to := range pairs {
		hosts[to-1].Whole(hosts[from-1], 0)
	}
	for from := range pairs {
		for to := 1; to <= 6; to++ {
			got := hosts[to-1].Tally(from, 0).Frames
			assert.True(t, got == 0 || pairs[from] == to, "%d frames of h%d came to h%d", got, from, to)
		}
	}
}

// What meters and RED drop is in a capture, once each, with its reason, however many workers there are.
func TestCaptureShowsWhatATrunkDrops(t *testing.T) {
	tshark.Need(t)
	for _, workers := range []string{"auto", "per-port"} {
		t.Run(workers, func(t *testing.T) {
			r := Start(t, 4, Setup{Keys: threeToOne(", meters: {0: {cir: 10M, pir: 20M, cbs: 16KiB, pbs: 16KiB}, 1: "+
				"{cir: 1M}}, red: {1: {low: 0, high: 1MiB, probability: 50%}}") +
				"capture: {memory: 64MiB}\nworkers: " + workers, Each: At100M + ", loop: off"})
			k := r.startCapture(r.ServeControl(), api.CaptureRequest{Snap: 96})
			h1, h2, h3 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6),
				r.Station(3, macctl.ModePFC, 100e6)
			h1.Send(Stream{To: 4, Prio: 0, Rate: 60e6, Frames: 1500})
			h2.Send(Stream{To: 4, Prio: 1, Rate: 40e6, Frames: 1500})
			h3.Send(Stream{To: 4, Prio: 3, Rate: 10e6, Frames: 200})
			for _, s := range []*Station{h1, h2, h3} {
				s.Finish()
			}
			eventually(t, "every frame has come, or found its ring full", func() bool {
				for n, frames := range map[int]uint64{1: 1500, 2: 1500, 3: 200} {
					c := r.Snapshot(n).Counters
					for _, drops := range c.Drops {
						frames -= drops[dataplane.DropRing]
					}
					if c.ReceivedFrames != frames {
						return false
					}
				}
				return true
			})
			r.Settle()
			k.end()
			frames := tshark.Fields(t, k.path, captureFields...)
			for _, want := range []struct {
				member   int
				priority string
				reason   dataplane.DropReason
			}{{1, "0", dataplane.DropMeterRed}, {2, "1", dataplane.DropRED}} {
				var counted, captured uint64
				for _, drops := range r.Snapshot(want.member).Counters.Drops {
					counted += drops[want.reason]
				}
				for _, l := range frames {
					if tshark.First(l, "frame.comment") == "dropped: "+want.reason.String() &&
						tshark.First(l, "frame.interface_name") == "p4" &&
						tshark.First(l, "frame.packet_flags_direction") == directionOut &&
						tshark.First(l, "vlan.priority") == want.priority {
						captured++
					}
				}
				assert.True(t, captured == counted && counted >= 100,
					"%v: the capture shows %d frames, %d were counted", want.reason, captured, counted)
			}
			dropped := func(l map[string][]string) bool {
				return strings.HasPrefix(tshark.First(l, "frame.comment"), "dropped") &&
					tshark.First(l, "vlan.priority") == "3"
			}
			assert.True(t, !slices.ContainsFunc(frames, dropped), "a lossless frame was dropped")
			assert.Equal(t, fmt.Sprint(k.tally.Missing), "0", "frames are missing in the file")
		})
	}
}
