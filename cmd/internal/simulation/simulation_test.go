package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/dataplane/assert"
)

// simulate runs a topology that is written as text.
func simulate(t *testing.T, text string, o Options) (*Report, error) {
	t.Helper()
	lab, err := config.ParseTopology("lab.yaml", []byte(text), os.ReadFile)
	if err != nil {
		return nil, err
	}
	return RunTopology(t.Context(), lab, o)
}

// standard is a run with the response of the standard.
var standard = Options{Seed: 1, Response: -1}

func example(t *testing.T, name string, o Options) *Report {
	t.Helper()
	return assert.Got(Run(t.Context(), filepath.Join("../../../scripts/lab", name), o)).Must(t)
}

// held returns the ns for which the hosts were paused, by name.
func (r *Report) held() map[string]int64 {
	all := map[string]int64{}
	for _, h := range r.Hosts {
		all[h.Name] = h.PausedNs[3] + h.PausedAllNs
	}
	return all
}

// Every example passes, with its senders held and nothing lost; the ring alone locks up.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../scripts/lab/*.yaml")
	assert.MustBeTrue(t, err == nil && len(files) != 0, "%v %v", files, err)
	senders := map[string][]string{"incast.yaml": {"h1", "h2", "h3"}, "leaf-spine.yaml": {"h1", "h2"},
		"trunk.yaml": {"h1"}, "ring.yaml": {"h1", "h2", "h3"}, "machines.yaml": {"h1", "h4"}}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "hosts.yaml" { // for programs: it has no traffic
			continue
		}
		r := example(t, name, standard)
		if ring := name == "ring.yaml"; r.Pass == ring || r.Deadlock != ring || (len(r.Cycle) == 3) != ring {
			t.Errorf("%s: pass %v, deadlock %v: %+v", name, r.Pass, r.Deadlock, r.Cycle)
		}
		for host, ns := range r.held() {
			sends := slices.Contains(senders[name], host)
			assert.True(t, sends == (ns > 0), "%s: %s was paused for %d ns", name, host, ns)
		}
	}
}

// The shares of an incast are equal: three senders of 200M into 200M, of which half is lossy.
func TestSharesOfIncast(t *testing.T) {
	r := example(t, "incast.yaml", standard)
	for _, f := range r.Flows {
		if want := int64(200_000_000 / 6); f.Lossless && (f.Rate < want*95/100 || f.Rate > want*105/100) {
			t.Errorf("%s: %d bit/s, want %d", f.Name, f.Rate, want)
		}
		assert.True(t, f.Lossless || f.Lost != 0, "%s: no lossy frame was lost: the link was not full", f.Name)
	}
	for _, s := range r.Switches {
		for _, h := range s.Headroom {
			assert.True(t, h.Peak <= h.Configured, "%s: %+v", s.Name, h)
		}
	}
}

// A deadlock is told as a cycle of waits, by names.
func TestDeadlockReport(t *testing.T) {
	r := example(t, "ring.yaml", Options{Seed: 1, Response: -1, Stall: 20 * time.Millisecond})
	var text bytes.Buffer
	assert.Must(t, r.Text(&text))
	for _, want := range []string{"Each waits for the next", "s1:out holds", "paused by s2:in", "s2:out holds",
		"paused by s3:in", "s3:out holds", "paused by s1:in", "none has moved for 20ms", "FAIL"} {
		assert.True(t, strings.Contains(text.String(), want), "the report lacks %q:\n%s", want, text.String())
	}
	for i, w := range r.Cycle {
		next := r.Cycle[(i+1)%len(r.Cycle)]
		by, _, _ := strings.Cut(w.By, ":")
		assert.True(t, strings.HasPrefix(next.Port, by+":") && w.Frames != 0 && w.Priority == 3,
			"%+v is followed by %+v", w, next)
	}
}

// The same file and seed give the same report, octet for octet, with any number of CPUs; another seed gives another.
func TestReportIsDeterministic(t *testing.T) {
	document := func(seed uint64, cpus int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))
		r := example(t, "incast.yaml", Options{Seed: seed, Response: -1})
		var b bytes.Buffer
		assert.Must(t, errors.Join(r.Text(&b), api.WriteJSON(&b, r)))
		return b.String()
	}
	first := document(1, 1)
	again := document(1, 2)
	assert.True(t, again == first, "%s\nand then\n%s", first, again)
	other := document(2, 1)
	assert.True(t, other != first, "the seed changes nothing")
}

const pair = `name: pair
switches: {s1: {preset: roce}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100G, cable: 10m}
  l2: {ends: [h2, "s1:p2"], speed: 10G}
`

// One flow: what arrives when, by hand.
func TestOneFlow(t *testing.T) {
	r, err := simulate(t, pair+"traffic: {f: {from: h1, to: h2, priority: 0, octets: 1000, rate: 1G, start: 1ms, "+
		"duration: 10ms}}", standard)
	assert.Must(t, err)
	f := r.Flows[0]
	const wire = (1000 + 24) * 8 // bits
	want := uint64(1_000_000_000 / 100 / wire)
	assert.True(t, r.Pass && f.Sent >= want && f.Sent <= want+1 && f.Received == f.Sent && !f.Lossless,
		"%+v, want %d frames", f, want)
	if want := int64(wire/100 + 50 + wire/10); f.Latency.Max < want || f.Latency.Max > want+2 {
		t.Errorf("a latency of %d ns, want %d", f.Latency.Max, want)
	}
	assert.True(t, r.Seconds == 0.011 && r.Speed == 10e9, "%v s, %d bit/s", r.Seconds, r.Speed)
}

// A loop that the switches find shuts a port and loses nothing; their probes count as frames that have come and gone.
func TestLoopThatIsShut(t *testing.T) {
	r, err := simulate(t, "name: a\nswitches: {s1: {preset: roce}, s2: {preset: roce}}\nhosts: {h1: {}, h2: {}}\n"+
		"links:\n  l1: {ends: [h1, \"s1:p1\"]}\n  l2: {ends: [h2, \"s2:p1\"]}\n  m1: {ends: [\"s1:m1\", \"s2:m1\"]}\n"+
		"  m2: {ends: [\"s1:m2\", \"s2:m2\"]}\ntraffic: {f: {from: h1, to: h2, duration: 2ms}}", standard)
	assert.True(t, err == nil && r.Pass && r.Flows[0].Received != 0, "%+v, %v", r, err)
}

// A host that takes long to obey fills more headroom; with PAUSE the whole port is held.
func TestResponseAndPause(t *testing.T) {
	peak := func(response time.Duration) (most int64) {
		r, err := simulate(t, strings.ReplaceAll(pair, "100G", "10G")+"  l3: {ends: [h3, \"s1:p3\"], speed: 10G}\n"+
			"traffic: {f: {incast: h2, duration: 20ms}}", Options{Seed: 1, Response: response})
		assert.MustBeTrue(t, err != nil, "h3 is no node, and yet %+v", r)
		text := strings.Replace(pair, "h2: {}", "h2: {}, h3: {}", 1)
		r, err = simulate(t, strings.ReplaceAll(text, "100G", "10G")+"  l3: {ends: [h3, \"s1:p3\"], speed: 10G}\n"+
			"traffic: {f: {incast: h2, duration: 20ms}}", Options{Seed: 1, Response: response})
		assert.MustBeTrue(t, err == nil && r.Pass && len(r.Ports) != 0, "%v %v", r, err)
		for _, p := range r.Ports {
			most = max(most, p.HeadroomPeak)
		}
		return most
	}
	quick, slow := peak(0), peak(20*time.Microsecond)
	assert.True(t, slow >= quick+10_000, "%d octets of headroom at once, %d after 20 µs", quick, slow)
	text := strings.NewReplacer("100G", "10G, flow_control: pause", "10G", "1G, flow_control: pause").Replace(pair)
	r, err := simulate(t, text+"traffic: {f: {from: h1, to: h2, duration: 5ms}}", standard)
	assert.True(t, err == nil && r.Pass && r.held()["h1"] != 0 && r.Ports[0].Priority == -1 &&
		r.Ports[0].FramesSent != 0, "%+v, %v", r, err)
}

// What cannot be simulated is refused before anything runs, with file, line, key and what to do.
func TestRefused(t *testing.T) {
	const flow = "traffic: {f: {from: h1, to: h2, duration: 1ms}}"
	for _, tt := range []struct{ name, text, want string }{
		{"no traffic", pair, "lab.yaml:1: traffic: there is none"},
		{"no speed", strings.Replace(pair, "10G", "none", 1) + flow, "switches.s1.ports.p2.speed: "},
		{"a host's stack", strings.Replace(pair, "preset: roce", "preset: roce, ports: {t: {kind: tap}}", 1) + flow,
			"ports.t.kind: tap: virtual time has no host's stack"},
		{"hosts joined", strings.Replace(pair, "h2: {}", "h2: {}, h3: {}, h4: {}", 1) + "  l3: {ends: [h3, h4]}\n" +
			flow, "lab.yaml:7: links.l3.ends: h3:eth0: a host in virtual time has one link"},
		{"one address twice", strings.Replace(pair, "h1: {}, h2: {}",
			"h1: {mac: \"02:00:00:00:00:01\"}, h2: {mac: \"02:00:00:00:00:01\"}", 1) + flow,
			"lab.yaml:3: hosts.h2.mac: h1 has the same address"},
		{"a loop", "name: a\nswitches: {s1: {preset: roce}, s2: {preset: roce}}\nhosts: {h1: {}, h2: {}}\nlinks:\n" +
			"  l1: {ends: [h1, \"s1:p1\"]}\n  l2: {ends: [h2, \"s2:p1\"]}\n" +
			"  m1: {ends: [\"s1:m1\", \"s2:m1\"], loop: off}\n  m2: {ends: [\"s1:m2\", \"s2:m2\"], loop: off}\n" + flow,
			"lab.yaml:4: links: flooded frames circulate"},
		{"no way", strings.Replace(pair, "speed: 10G", "speed: 10G, flood: off, learning: false", 1) + flow,
			"lab.yaml:7: traffic.f: no frame would come from h1 to h2: s1 drops what comes by p1"},
		{"no path", strings.Replace(strings.Replace(pair, "{s1: {preset: roce}}", "{s1: {preset: roce}, s2: {}}", 1),
			"s1:p2", "s2:p2", 1) + flow, "lab.yaml:7: traffic.f: no frame would come from h1 to h2: "},
		{"a speed of 0", strings.Replace(pair, "10G", "0", 1) + flow,
			`switches.s1.ports.p2.speed: "0" is out of range: write 1M to 800G`},
		{"an unknown host", pair + "traffic: {f: {from: h1, to: h9, duration: 1ms}}",
			`lab.yaml:7: traffic.f.to: "h9" is no host: `},
		{"another priority", strings.Replace(pair, "preset: roce", "preset: roce, priorities: {trust: port}", 1) + flow,
			"traffic.f: no frame would come from h1 to h2: s1 gives what comes by p1 priority 0"},
		{"no marks", strings.Replace(pair, "preset: roce", "priorities: {lossless: [3]}", 1) +
			"traffic: {f: {from: h1, to: h2, cc: dcqcn}}",
			"lab.yaml:7: traffic.f.cc: no switch marks frames of priority 3"},
		{"a pool", strings.Replace(pair, "preset: roce", "preset: roce, buffer: {lossy: {size: 1000GiB}}", 1) + flow,
			"size"},
	} {
		_, err := simulate(t, tt.text, standard)
		assert.True(t, err != nil && strings.Contains(err.Error(), tt.want) &&
			strings.HasPrefix(err.Error(), "lab.yaml:"), "%s: %v, want %q", tt.name, err, tt.want)
	}
}

// Frames of flows with a size that a TTL ends are no fault, as those of other flows are none.
func TestSizeWithTTL(t *testing.T) {
	r := onFabric(t, "leaf-spine: {leaves: 2, spines: 1, hosts: 1}", "10G",
		"f: {from: h1, to: h2, size: 100kB, ttl: 1, duration: 1ms}", standard)
	if c := r.Completions; !r.Pass || len(c) != 1 || c[0].Sent == 0 || c[0].Lost != c[0].Sent || c[0].Finished != 0 {
		t.Errorf("pass %v: %+v", r.Pass, c)
	}
}

// Of many ports the text shows those with pauses, and says how many others there are.
func TestRowsOfManyPorts(t *testing.T) {
	r := &Report{}
	for i := range 50 {
		r.Ports = append(r.Ports, Port{Switch: "s", Port: fmt.Sprint("p", i), SharedPeak: 1000,
			FramesSent: uint64(max(0, i-46))})
	}
	for n, want := range map[int][2]int{10: {10, 0}, mostRows: {mostRows, 0}, 50: {3, 47}} {
		part := Report{Ports: r.Ports[:n]}
		if shown, hidden := part.rows(); len(shown) != want[0] || hidden != want[1] {
			t.Errorf("of %d rows %d are shown and %d hidden, want %v", n, len(shown), hidden, want)
		}
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "\n47 more without a pause") ||
		!strings.Contains(text.String(), "s:p49") || strings.Contains(text.String(), "s:p46") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// An interrupt ends a run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := standard
	o.Progress = func(string) { cancel() }
	r, err := Run(ctx, "../../../scripts/lab/incast.yaml", o)
	assert.True(t, err != nil && strings.Contains(err.Error(), "interrupted"), "%v, %v", r, err)
}

// A frame that is nowhere fails the run: the checks can fail.
func TestChecksFail(t *testing.T) {
	r := example(t, "incast.yaml", standard)
	assert.MustBeTrue(t, !r.Failed(), "the run fails by itself")
	lossless := 0
	for _, c := range r.Checks {
		if c.Topic == demo.TopicLoss && strings.HasSuffix(c.Name, "frames lost") {
			lossless++
		}
	}
	assert.True(t, lossless == 3, "%d checks of lossless flows, want 3", lossless)
	text := strings.NewReplacer("preset: roce", "preset: roce, buffer: {ring_hold: off, headroom: 2KiB}").Replace(pair)
	r = assert.Got(simulate(t, text+"traffic: {f: {from: h1, to: h2, duration: 5ms}}", standard)).Must(t)
	assert.True(t, r.Failed() && r.Flows[0].Lost != 0 && r.Switches[0].LosslessDrops != 0,
		"too little headroom: %+v, %+v", r.Flows, r.Switches)
}
