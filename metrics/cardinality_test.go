package metrics

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// crowded returns a switch with ports, and trunks with members, on which everything was counted.
func crowded(ports int, mode macctl.Mode, trunks, members int) Config {
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	zero := func() uint64 { return 0 }
	turns := headroom.Distribution{Samples: 5, Min: 1, Median: 2, P99: 3, P999: 4, Max: time.Second}
	found := measured()
	found.RoundTrips, found.Idle, found.Busy = turns, turns, turns
	found.Reactions, found.ReactionsIdle, found.ReactionsBusy = turns, turns, turns
	return Config{KernelBacklog: zero, MissingFrames: zero, SlowReaders: zero,
		Snapshot: func(v *dataplane.Snapshot) {
			for i := range ports {
				v.Ports = append(v.Ports, worstPort(name(i), mode))
				b := buffer.PortSnapshot{Port: i, Name: name(i)}
				if mode == macctl.ModePause {
					b.Mode = macctl.ModePause
				}
				for q := range b.Ingress {
					b.Ingress[q].Lossless = mode == macctl.ModePFC || mode == macctl.ModePause && q == 0
				}
				v.Buffer.Ports = append(v.Buffer.Ports, b)
			}
			for i := range trunks {
				t := dataplane.TrunkSnapshot{Uplink: "up",
					Config: dataplane.TrunkConfig{Name: fmt.Sprintf("t%d", i),
						Flow: trunk.FlowConfig{Mode: macctl.ModePFC}}}
				for m := range members {
					t.Members = append(t.Members, dataplane.TrunkMember{Port: name(m)})
				}
				v.Trunks = append(v.Trunks, t)
			}
		},
		Ports: func() (all []Port) {
			for i := range ports {
				all = append(all, Port{Name: name(i), Headroom: found, LLDP: &LLDP{},
					Calculated: headroom.Calculate(headroom.Inputs{Speed: 1e9, MaxFrame: 1518}, macctl.ModePFC)})
			}
			return all
		},
		Watchdog: func() (all []deadlock.Status) {
			for i := range ports {
				switch mode {
				case macctl.ModePFC:
					for q := range dataplane.NumPriorities {
						all = append(all, deadlock.Status{Name: name(i), Queue: uint8(q)})
					}
				case macctl.ModePause:
					all = append(all, deadlock.Status{Name: name(i), Queue: deadlock.All})
				}
			}
			return all
		}}
}

func worstPort(name string, mode macctl.Mode) dataplane.PortSnapshot {
	p := dataplane.PortSnapshot{Config: dataplane.PortConfig{Name: name, Mode: mode, Lossless: 0xff, TAP: true,
		Delay: 1}}
	for prio := range p.Counters.Drops {
		for r := range p.Counters.Drops[prio] {
			p.Counters.Drops[prio][r], p.Counters.LosslessDiscarded[prio][r] = 1, 1
		}
		p.Counters.LosslessDrops[prio] = 1
	}
	for q := range p.HeadroomUse {
		p.HeadroomUse[q].LeastLeft.Used, p.HeadroomUse[q].WaitedForPool = 1, 1
	}
	return p
}

// The number of series is a sum over ports, trunks and their members. Each adds a bounded number.
func TestCardinality(t *testing.T) {
	b := assert.Got(os.ReadFile("README.md")).Must(t)
	readme := strings.Join(strings.Fields(string(b)), " ")
	count := func(ports int, mode macctl.Mode, trunks, members int) int {
		return testutil.CollectAndCount(checkedCollector{NewCollector(crowded(ports, mode, trunks, members))})
	}
	for _, tt := range []struct {
		what      string
		one, more int    // series of one, and with ten more
		want      int    // that each adds
		said      string // by the README
	}{
		{"port with PFC", count(1, macctl.ModePFC, 0, 0), count(11, macctl.ModePFC, 0, 0), 773,
			"A port adds 773 series at most"},
		{"port with PAUSE", count(1, macctl.ModePause, 0, 0), count(11, macctl.ModePause, 0, 0), 274, ""},
		{"port without flow control", count(1, macctl.ModeOff, 0, 0), count(11, macctl.ModeOff, 0, 0), 549, ""},
		{"trunk", count(0, macctl.ModeOff, 1, 0), count(0, macctl.ModeOff, 11, 0), 55, "a trunk 55 and"},
		{"member of a trunk", count(0, macctl.ModeOff, 1, 1), count(0, macctl.ModeOff, 1, 11), 82,
			"each of its members 82"},
	} {
		assert.True(t, tt.said == "" || strings.Contains(readme, tt.said), "the README does not say: %s", tt.said)
		if got := (tt.more - tt.one) / 10; got != tt.want || tt.more-tt.one != 10*got {
			t.Errorf("a %s adds %d series, want %d", tt.what, got, tt.want)
		}
	}
}

// Exactly the outcomes of measurement frames have series, from the start.
func TestOutcomes(t *testing.T) {
	var got []string
	for _, line := range lines(t, text(t, crowded(1, macctl.ModePFC, 0, 0)), "headroom_messages_total") {
		_, label, _ := strings.Cut(line, `outcome="`)
		outcome, _, _ := strings.Cut(label, `"`)
		got = append(got, outcome)
	}
	want := slices.Sorted(slices.Values(outcomes))
	slices.Sort(got)
	assert.True(t, slices.Equal(got, want), "got %v, want %v", got, want)
}
