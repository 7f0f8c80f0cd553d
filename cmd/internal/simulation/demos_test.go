package simulation

import (
	"fmt"
	"os"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
	"time"
)

// one is three senders and a receiver at one switch, and two the same at two switches in line. %s are keys of the
// switches and of the links.
const (
	one = `name: demo
switches: {s1: {preset: roce%s}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M%[2]s}
  l2: {ends: [h2, "s1:p2"], speed: 100M%[2]s}
  l3: {ends: [h3, "s1:p3"], speed: 100M%[2]s}
  l4: {ends: [h4, "s1:p4"], speed: 100M%[2]s}
`
	two = `name: demo
switches: {s1: {preset: roce%s}, s2: {preset: roce%[1]s}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M%[2]s}
  l2: {ends: [h2, "s1:p2"], speed: 100M%[2]s}
  l3: {ends: [h3, "s1:p3"], speed: 100M%[2]s}
  l4: {ends: [h4, "s2:p4"], speed: 100M%[2]s}
  up: {ends: ["s1:up", "s2:up"], speed: 100M%[2]s}
`
	both = "traffic: {a: {incast: h4, duration: 1s}, b: {incast: h4, priority: 0, duration: 1s}}\n"
)

// claim runs a lab of a demo.
func claim(t *testing.T, o Options, text string, args ...any) *Report {
	t.Helper()
	return assert.Got(simulate(t, fmt.Sprintf(text, args...), o)).Must(t)
}

// losses adds up the frames lost in priority 3 and in others.
func (r *Report) losses() (lossless, lossy uint64) {
	for _, f := range r.Flows {
		if f.Priority == 3 {
			lossless += f.Lost
		} else {
			lossy += f.Lost
		}
	}
	return lossless, lossy
}

// demo incast: with PFC priority 3 loses nothing, over one switch and over two, and the pause comes to every sender.
// Where senders do not obey, or without flow control, the same load loses frames.
func TestDemoIncast(t *testing.T) {
	for name, text := range map[string]string{"one switch": one, "two switches": two} {
		r := claim(t, standard, text+both, "", "")
		lossless, lossy := r.losses()
		held := r.held()
		assert.True(t, r.Pass && lossless == 0 && lossy != 0 && held["h1"] != 0 && held["h2"] != 0 && held["h3"] != 0 &&
			held["h4"] == 0, "%s: pass %v, %d and %d lost, held %v", name, r.Pass, lossless, lossy, held)
		for _, h := range r.Hosts {
			for prio, n := range h.PFCReceived {
				assert.True(t, n <= 0 || prio == 3, "%s: %s got PFC for priority %d", name, h.Name, prio)
			}
		}
	}
	deaf := claim(t, Options{Seed: 1, Response: time.Hour}, one+both, ", buffer: {ring_hold: off}", "")
	lossless, _ := deaf.losses()
	assert.True(t, lossless != 0 && !deaf.Pass, "senders that do not obey: %d lost, pass %v", lossless, deaf.Pass)
	off := claim(t, standard, one+both, "", ", flow_control: off")
	lossless, _ = off.losses()
	assert.True(t, lossless != 0 && len(off.Ports) == 0, "without flow control: %d lost, %+v", lossless, off.Ports)
}

// demo host: programs that wait for acknowledgements lose nothing, and share the link. TCP itself is the kernel's.
func TestDemoHost(t *testing.T) {
	r := claim(t, standard, one+"traffic: {tcp: {incast: h4, window: 256KiB, size: 4MB, duration: 10s}}\n", "", "")
	assert.MustBeTrue(t, len(r.Completions) == 1, "%+v", r.Completions)
	c, least := r.Completions[0], int64(3*4_000_000*8*10) // ns at 100M
	assert.True(t, r.Pass && c.Finished == 3 && c.Lost == 0 && c.Max >= least && c.Mean <= c.Max &&
		c.Max <= least*11/10 && c.P50 >= c.Max*9/10, "pass %v: %+v", r.Pass, c)
}

// demo headroom: what probes find on cables of 0 to 200 km holds what comes after XOFF. Half of it does not.
func TestDemoHeadroom(t *testing.T) {
	const stopped = `name: demo
switches:
  s1:
    preset: roce
    headroom: {interval: 100ms, small_packets: 0%%}
    ports: {in: {burst: 3084}}
    buffer: {headroom: %s, private: 0, ring_hold: off, lossless: {size: 32MiB, alpha: 0.001}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:in"], speed: %s, cable: %s}
  l2: {ends: [h2, "s1:out"], speed: %[2]s}
traffic: {flow: {from: h1, to: h2, start: 4s, duration: 40ms}}
faults: {stopped: {storm: h2, start: 4s, duration: 35ms}}
`
	for _, speed := range []string{"100M", "1G"} {
		for _, cable := range []string{"0m", "100m", "10km", "200km"} {
			o := standard
			o.Measure = true
			r := claim(t, o, stopped, "auto", speed, cable)
			p := r.Ports[0]
			if lost, _ := r.losses(); !r.Pass || lost != 0 || p.Xoff == 0 || p.HeadroomPeak > p.HeadroomSize {
				t.Errorf("%s, %s: pass %v, %d lost, %+v", speed, cable, r.Pass, lost, p)
			}
			if cable != "200km" {
				continue
			}
			half := claim(t, standard, stopped, fmt.Sprintf("%dB", p.HeadroomSize/2/256*256), speed, cable)
			lost, _ := half.losses()
			assert.True(t, lost != 0, "%s, %s: half of %d holds everything", speed, cable, p.HeadroomSize)
		}
	}
}

// demo deadlock: the watchdog breaks a ring of switches, circling frames and a storm, and without it all stands still.
// Frames that circle it discards with action drop alone; forward lets them circle on, until their TTL ends.
func TestDemoDeadlock(t *testing.T) {
	ring := assert.Got(os.ReadFile("../../../scripts/lab/ring.yaml")).Must(t)
	text := strings.ReplaceAll(string(ring), "2s", "1s")
	circling := text[:strings.Index(text, "traffic:")] + "traffic: {x: {from: h1, to: h4, ttl: 64, duration: 100ms}}\n"
	circling = strings.Replace(circling, "links:\n", "  h4: {mac: \"02:00:00:00:00:04\"}\nlinks:\n"+
		"  h4: {ends: [h4, \"s1:spare\"], speed: 200M}\n", 1)
	circling = strings.ReplaceAll(circling, "    fdb:\n", "    fdb:\n      - {mac: \"02:00:00:00:00:04\", port: out}\n")
	labs := map[string]string{"ring": text, "circling frames": circling,
		"storm": fmt.Sprintf(one, "", "") + "traffic: {a: {incast: h4, duration: 1s}}\nfaults: {x: {storm: h4}}\n"}
	for name, lab := range labs {
		for _, action := range []string{"", "drop", "forward"} {
			watchdog := ""
			if action != "" {
				watchdog = ", watchdog: {action: " + action + ", period: 10ms, count: 2}"
			}
			lab := strings.ReplaceAll(strings.ReplaceAll(lab, "preset: roce\n", "preset: roce"+
				strings.Replace(strings.TrimPrefix(watchdog, ","), " ", "\n    ", 1)+"\n"), "preset: roce}",
				"preset: roce"+watchdog+"}")
			r := claim(t, standard, "%s", lab)
			discarded := uint64(0)
			for _, s := range r.Switches {
				discarded += s.Discarded
			}
			assert.True(t, r.Deadlock == (action == "") && (discarded > 0) == (action == "drop"),
				"%s, watchdog %q: deadlock %v; %d frames were discarded", name, action, r.Deadlock, discarded)
		}
	}
}

// demo trunk: members that offer more than the uplink carries are held, lose nothing, and share it; what is lossy loses
// what is too much.
func TestDemoTrunk(t *testing.T) {
	const trunk = `name: demo
switches:
  s1:
    preset: roce
    trunks: {up: {uplink: up, members: [m1, m2, m3], flow_control: pfc}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  m1: {ends: [h1, "s1:m1"], speed: 50M}
  m2: {ends: [h2, "s1:m2"], speed: 50M}
  m3: {ends: [h3, "s1:m3"], speed: 50M}
  up: {ends: [h4, "s1:up"], speed: 100M}
traffic: {a: {incast: h4, priority: %d, duration: 1s}}
`
	r := claim(t, standard, trunk, 3)
	lossless, _ := r.losses()
	for _, f := range r.Flows {
		assert.True(t, f.Rate >= 31e6 && f.Rate <= 35e6, "%s: %d bit/s, want a third of 100M", f.Name, f.Rate)
	}
	if held := r.held(); !r.Pass || lossless != 0 || held["h1"] == 0 || held["h2"] == 0 || held["h3"] == 0 {
		t.Errorf("pass %v, %d lost, held %v", r.Pass, lossless, held)
	}
	_, lossy := claim(t, standard, trunk, 0).losses()
	assert.True(t, lossy != 0, "150M went through 100M without a loss")
}

// demo dcqcn: with marks and CNPs senders are paused seldom, and what waits is little.
func TestDemoDCQCN(t *testing.T) {
	run := func(cc string) (held int64, p50 int64) {
		r := claim(t, standard, one+"traffic: {a: {incast: h4, cc: "+cc+", duration: 2s}}\n",
			", ecn: {3: {kmin: 4KiB, kmax: 32KiB, pmax: 10%}}", "")
		lost, _ := r.losses()
		assert.True(t, r.Pass && lost == 0, "%s: pass %v, %d lost", cc, r.Pass, lost)
		for _, ns := range r.held() {
			held += ns
		}
		return held, r.Flows[0].Latency.P50
	}
	plain, wait := run("off")
	slowed, less := run("dcqcn")
	assert.True(t, plain != 0 && slowed*10 <= plain && less*4 <= wait,
		"held %v by PFC alone, %v with DCQCN; latency %d and %d ns", time.Duration(plain), time.Duration(slowed), wait,
		less)
}
