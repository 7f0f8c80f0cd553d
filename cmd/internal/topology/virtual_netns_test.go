package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/dataplane/assert"
)

// unequal is an incast at 100M whose first sender offers less than its share of the link.
const unequal = `name: x
switches: {s1: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M}
  l2: {ends: [h2, "s1:p2"], speed: 100M}
  l3: {ends: [h3, "s1:p3"], speed: 100M}
  l4: {ends: [h4, "s1:p4"], speed: 100M}
traffic:
  slow: {from: h1, to: h4, priority: 3, octets: 1514, rate: 20M, duration: 3s}
  fast: {from: [h2, h3], to: h4, priority: 3, octets: 1514, duration: 3s}
`

// inLine are two switches at 100M, both of which hold senders. Those of the first share what the second gives to its
// port. The flow back is never held. It begins late, so that rates are those of full buffers: a sender that the machine
// keeps from running for a while leaves its buffer less full, and shares stay what the switches make them.
const inLine = `name: x
switches: {s1: {preset: roce}, s2: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M}
  l2: {ends: [h2, "s1:p2"], speed: 100M}
  l3: {ends: [h3, "s2:p3"], speed: 100M}
  l4: {ends: [h4, "s2:p4"], speed: 100M}
  up: {ends: ["s1:up", "s2:down"], speed: 100M}
traffic:
  in: {from: [h1, h2, h3], to: h4, priority: 3, octets: 1514, duration: 6s}
  back: {from: h4, to: h1, priority: 3, rate: 1M, start: 1s, duration: 5s}
`

// report runs the program, which has to print a report with a verdict of passed.
func (r *rig) report(args ...string) *simulation.Report {
	r.t.Helper()
	v := new(simulation.Report)
	must(r.t, json.Unmarshal([]byte(r.run(append(args, "-j")...)), v))
	assert.MustBeTrue(r.t, v.Pass, "%v: %+v", args, v.Checks)
	return v
}

// runBoth runs a file in virtual time and on real links. Nothing is lost in either.
func (r *rig) runBoth(path string) (virtual, onLinks *simulation.Report) {
	r.t.Helper()
	return r.report("sim", path), r.report("lab", "run", path)
}

// sharesOf returns the share of each flow to h4.
func sharesOf(v *simulation.Report) map[string]float64 {
	shares, sum := map[string]float64{}, 0.0
	for _, f := range v.Flows {
		if strings.HasSuffix(f.Name, ">h4") {
			shares[f.Name] = float64(f.Rate)
			sum += float64(f.Rate)
		}
	}
	for name := range shares {
		shares[name] /= sum
	}
	return shares
}

// sameInVirtualTime runs a file for real and in virtual time. The same senders are paused, and nothing is lost. Shares
// differ by 5 % at most, where the machine let every sender send. How long a sender is paused is another thing: a veth
// has no speed, so frames come there in bursts.
func sameInVirtualTime(r *rig) {
	path, name := r.file(unequal)
	virtual, onLinks := r.runBoth(path)
	r.checkNothingLeft(name)
	paused := func(v *simulation.Report, host string) float64 {
		i := slices.IndexFunc(v.Hosts, func(h simulation.Host) bool { return h.Name == host })
		return float64(v.Hosts[i].PausedNs[3]) / 3e9
	}
	a, b, behind := sharesOf(onLinks), sharesOf(virtual), onLinks.Phases[0].Behind
	for _, host := range []string{"h1", "h2", "h3"} {
		flow := host + ">h4"
		pausedThere, pausedVirtually := paused(onLinks, host), paused(virtual, host)
		r.t.Logf("%s: share %.3f, paused %.3f; in virtual time %.3f, %.3f", host, a[flow], pausedThere, b[flow],
			pausedVirtually)
		if saturated := host != "h1"; saturated != (pausedVirtually > 0.05) || saturated && pausedThere == 0 {
			r.t.Errorf("%s: paused for %.3f of the time, and %.3f in virtual time", host, pausedThere, pausedVirtually)
		}
		if d := math.Abs(a[flow] - b[flow]); d > 0.05*b[flow] && behind > 0.05 {
			r.t.Logf("not judged: a sender was %.1f %% behind", 100*behind)
		} else if d > 0.05*b[flow] {
			r.t.Errorf("%s: its share differs by %.1f %%", host, 100*d/b[flow])
		}
	}
}

// sameHoldsInVirtualTime: the buffers of the same ports hold their peers, and flows that are held have the same shares
// within 5 %, however slow the machine is.
func sameHoldsInVirtualTime(r *rig) {
	path, _ := r.file(inLine)
	virtual, onLinks := r.runBoth(path)
	holding := func(v *simulation.Report) (all []string) {
		for _, p := range v.Ports {
			if p.Xoff > 0 {
				all = append(all, fmt.Sprintf("%s:%s %d", p.Switch, p.Port, p.Priority))
			}
		}
		slices.Sort(all)
		return all
	}
	want := []string{"s1:p1 3", "s1:p2 3", "s2:down 3", "s2:p3 3"}
	if a, b := holding(onLinks), holding(virtual); !slices.Equal(a, want) || !slices.Equal(b, want) {
		r.t.Errorf("on links %v hold, in virtual time %v, want %v", a, b, want)
	}
	const seeds = 5 // by the phase of one run, shares differ by more than one percent
	a, b := sharesOf(onLinks), map[string]float64{}
	for seed := range seeds {
		for flow, share := range sharesOf(r.report("sim", path, "--seed", fmt.Sprint(seed))) {
			b[flow] += share / seeds
		}
	}
	r.t.Logf("shares %v, in virtual time %v; a sender was %.1f %% behind", a, b, 100*onLinks.Phases[0].Behind)
	for name := range b {
		d := math.Abs(a[name]/b[name] - 1)
		assert.True(r.t, d <= 0.05, "%s: its share differs by %.1f %%", name, 100*d)
	}
	steps := map[string]int{}
	for _, h := range onLinks.Holds {
		steps[h.By+" holds "+h.Held] = h.Step
	}
	for hold, after := range map[string]string{"s1:p1 holds h1": "s2:down holds s1:up",
		"s1:p2 holds h2": "s2:down holds s1:up"} {
		assert.True(r.t, steps[after] != 0 && steps[hold] == steps[after]+1, "%s in step %d, and %s in step %d", hold,
			steps[hold], after, steps[after])
	}
	assert.True(r.t, len(onLinks.Flows) == 4 && onLinks.Flows[3].Name == "h4>h1" && onLinks.Flows[3].Received != 0,
		"%+v, want the flows of the file in its order", onLinks.Flows)
}

// slowedInVirtualTime: with DCQCN senders are notified and slow down, on links and in virtual time, and are paused for
// less than half of the time that they are without.
func slowedInVirtualTime(r *rig) {
	const text = `name: x
switches: {s1: {preset: roce, buffer: {lossless: {size: 1MiB}}}}
hosts: {h1: {}, h2: {}, h3: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 300M}
  l2: {ends: [h2, "s1:p2"], speed: 300M}
  l3: {ends: [h3, "s1:p3"], speed: 300M}
traffic:
  f: {incast: h3, cc: dcqcn, duration: 2s}
`
	path, _ := r.file(strings.Replace(text, "cc: dcqcn", "cc: off", 1))
	plain := r.report("sim", path)
	paused := func(v *simulation.Report) (ns int64) {
		for _, h := range v.Hosts {
			ns += h.PausedNs[3]
		}
		return ns
	}
	path, _ = r.file(text)
	virtual, onLinks := r.runBoth(path)
	for name, v := range map[string]*simulation.Report{"virtual time": virtual, "links": onLinks} {
		r.t.Logf("%s: %+v, paused for %d ns; without DCQCN %d", name, v.Controls, paused(v), paused(plain))
		assert.True(r.t, paused(v)*2 <= paused(plain) && len(v.Controls) == 2,
			"%s: senders were paused for %d ns, without DCQCN for %d", name, paused(v), paused(plain))
		for i, c := range v.Controls {
			if c.Name != []string{"h1>h3", "h2>h3"}[i] || c.Received == 0 || c.Sent < c.Received || c.Marked < c.Sent ||
				c.Rate <= 0 || c.Rate >= 300_000_000 {
				r.t.Errorf("%s: %+v", name, c)
			}
		}
	}
}

// windowsInVirtualTime: senders with windows share a link as their windows are, 3 to 1, on links and in virtual time,
// and nobody is paused: what waits is never more than the windows.
func windowsInVirtualTime(r *rig) {
	path, _ := r.file(strings.NewReplacer("preset: roce", "preset: roce, buffer: {lossless: {size: 2MiB}}", "  slow: "+
		"{from: h1, to: h4, priority: 3, octets: 1514, rate: 20M,", "  large: {from: h1, to: h4, window: 270kB,",
		"  fast: {from: [h2, h3], to: h4, priority: 3, octets: 1514,", "  small: {from: h2, to: h4, window: 90kB,").
		Replace(unequal))
	virtual, onLinks := r.runBoth(path)
	for what, v := range map[string]*simulation.Report{"virtual time": virtual, "links": onLinks} {
		shares := sharesOf(v)
		r.t.Logf("%s: %v, %+v", what, shares, v.Hosts)
		assert.True(r.t, len(shares) == 2 && math.Abs(shares["h1>h4"]/0.75-1) <= 0.05, "%s: shares %v", what, shares)
		for _, p := range v.Ports { // a switch that stood still may have held them for its rings
			assert.Equal(r.t, p.Xoff, 0, "%s: how often the buffer of port %s wanted its peer held", what, p.Port)
		}
	}
}

// sizes are flows of random sizes and some of one size between four hosts.
const sizes = `
traffic:
  search: {poisson: hadoop, load: 30%, duration: 2s}
  some: {from: [h1, h2], to: h4, size: 200kB, duration: 2s}
`

// sizesInVirtualTime: real links carry the flows of virtual time, each with all of its frames, and say how long each
// took. How many end in time is a matter of the machine; a flow that has ended has lost nothing.
func sizesInVirtualTime(r *rig) {
	links, _, _ := strings.Cut(unequal, "traffic:")
	path, _ := r.file(links + sizes)
	virtual, onLinks := r.runBoth(path)
	assert.MustEqual(r.t, len(onLinks.Completions), len(virtual.Completions), "rows of flows with a size")
	for i, v := range virtual.Completions {
		c := onLinks.Completions[i]
		r.t.Logf("%+v; in virtual time %+v", c, v)
		if c.Traffic != v.Traffic || c.Least != v.Least || c.Most != v.Most || c.Flows != v.Flows || c.Lost != 0 ||
			c.Sent > v.Sent && v.Finished == v.Flows || c.Finished > 0 && (c.Mean <= 0 || c.Max < c.P50) {
			r.t.Errorf("%+v, want the flows of %+v", c, v)
		}
	}
}

// faultsInVirtualTime: a slow host, one that holds its peer again and again, and a link that goes down do on real links
// what they do in virtual time: the same ports are held by the hosts, and a link that was down has lost frames. For how
// long, and how many, is a matter of the machine.
func faultsInVirtualTime(r *rig) {
	path, name := r.file(strings.Replace(inLine, "duration: 6s}\n  back: {from: h4, to: h1, priority: 3, rate: 1M, "+
		"start: 1s, duration: 5s}", "duration: 2s}\n  too: {from: h1, to: [h2, h3], duration: 2s}", 1) + `faults:
  tired: {slow: h4, rate: 10M}
  bad: {storm: h3, start: 200ms, duration: 300ms, every: 800ms}
`)
	virtual, onLinks := r.runBoth(path)
	for what, v := range map[string]*simulation.Report{"virtual time": virtual, "links": onLinks} {
		for _, port := range []string{"s2:p4", "s2:p3"} {
			i := slices.IndexFunc(v.Ports, func(p simulation.Port) bool {
				return p.Switch+":"+p.Port == port && p.Priority == 3
			})
			r.t.Logf("%s: %s is held for %d ms", what, port, v.Ports[i].PausedNs/1e6)
			assert.True(r.t, v.Ports[i].PausedNs > 0, "%s: %s is not held", what, port)
		}
	}
	r.checkNothingLeft(name)
	path, name = r.file(strings.Replace(inLine, "duration: 6s", "duration: 2s", 1) +
		"faults: {loose: {flap: up, start: 500ms, duration: 200ms, every: 700ms}}\n")
	virtual, onLinks = r.runBoth(path)
	for what, v := range map[string]*simulation.Report{"virtual time": virtual, "links": onLinks} {
		s, lost := v.Switches[0], v.Flows[0].Lost+v.Flows[1].Lost
		r.t.Logf("%s: %d frames lost, %d of them waited", what, lost, s.Discarded)
		assert.True(r.t, lost > 0 && s.Discarded > 0 && s.LosslessDrops == 0, "%s: %d lost, %+v", what, lost, s)
	}
	r.checkNothingLeft(name)
}

// A host's flows share its link: two at once, to two sinks, and a third after them. The lab that was up stays up. Hosts
// have the flow control of their ports, also off and PAUSE.
func runsInALab(r *rig) {
	links, _, _ := strings.Cut(unequal, "traffic:")
	path, name := r.file(strings.NewReplacer(`"s1:p2"], `, `"s1:p2"], flow_control: off, `, `"s1:p3"], `,
		`"s1:p3"], flow_control: pause, `).Replace(links) + "traffic:\n  a: {from: h1, to: [h2, h3], duration: 500ms}\n" +
		"  b: {from: h1, to: h4, priority: 5, start: 600ms, duration: 200ms}\n")
	keeper := r.up(path, name).Keeper
	for range 2 {
		v := r.report("lab", "run", path)
		frames := map[string]uint64{}
		for _, f := range v.Flows {
			frames[f.Name] = f.Received
		}
		assert.True(r.t, len(frames) == 3 && !v.Flows[2].Lossless && v.Flows[2].Priority == 5 && frames["h1>h4"] != 0,
			"%+v", v)
		most := uint64(100_000_000/8*6/10) / 1542 // of the first two, with a burst and what is late
		if n := frames["h1>h2"] + frames["h1>h3"]; n > most || frames["h1>h2"]*10 < frames["h1>h3"]*9 ||
			frames["h1>h3"]*10 < frames["h1>h2"]*9 {
			r.t.Errorf("%v: want at most %d of two flows, and as many of each", frames, most)
		}
	}
	assert.Equal(r.t, r.state(name).Keeper, keeper, "the lab came up again")
	r.run("lab", "down", path)
}

// locksUp: a ring that locks up ends with a report of who waits for whom, as in virtual time.
func locksUp(r *rig) {
	text := assert.Got(os.ReadFile("../../../scripts/lab/ring.yaml")).Must(r.t)
	slow := strings.ReplaceAll(string(text), "speed: 200M", "speed: 20M") // which any machine can fill
	path, _ := r.file(slow)
	out, err := r.command("lab", "run", path, "-j").Output()
	code := new(exec.ExitError)
	assert.MustBeTrue(r.t, errors.As(err, &code) && code.ExitCode() == 1, "%v, want exit status 1", err)
	var v simulation.Report
	must(r.t, json.Unmarshal(out, &v))
	by := map[string]string{}
	for _, w := range v.Cycle {
		by[w.Port] = w.By
	}
	want := map[string]string{"s1:out": "s2:in", "s2:out": "s3:in", "s3:out": "s1:in"}
	assert.True(r.t, v.Deadlock && maps.Equal(by, want), "deadlock %v, who waits for whom: %v, want %v", v.Deadlock, by,
		want)
}

// heldLong: frames that are held for seconds behind those for a slow receiver are not lost, also where their own
// receiver has waited for them in vain. The report says who held whom.
func heldLong(r *rig) {
	path, _ := r.file(`name: x
switches: {s1: {preset: roce}, s2: {preset: roce, buffer: {lossless: {size: 256KiB}}}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 10M}
  l2: {ends: [h2, "s1:p2"], speed: 10M}
  up: {ends: ["s1:up", "s2:down"], speed: 10M}
  l3: {ends: [h3, "s2:p3"], speed: 1M}
  l4: {ends: [h4, "s2:p4"], speed: 10M}
traffic:
  full: {from: h1, to: h3, octets: 1514, duration: 500ms}
  victim: {from: h2, to: h4, octets: 1514, rate: 100K, duration: 500ms}
`)
	v := r.report("lab", "run", path)
	assert.True(r.t, v.Flows[1].Received != 0 && v.Lasted >= 1e9, "%+v", v)
	if !slices.ContainsFunc(v.Holds, func(h simulation.Hold) bool {
		return h.By == "s2:down" && h.Held == "s1:up" && h.Priority == 3 && h.Share > 0.1
	}) {
		r.t.Errorf("%+v, want that s2 held s1", v.Holds)
	}
}

// refusedRuns: a run that cannot be says why, with file, line and key where the file is at fault, and changes nothing.
func refusedRuns(r *rig) {
	path, name := r.file(pair)
	programs := "PATH=" + os.Getenv("PATH")
	refused := func(want, file, text string) {
		r.t.Helper()
		if text != "" {
			must(r.t, os.WriteFile(file, []byte("name: "+name+"\n"+text), 0o644))
		}
		cmd := r.command("lab", "run", file)
		cmd.Env = append(cmd.Env, programs)
		out, err := cmd.CombinedOutput()
		assert.True(r.t, fmt.Sprint(err) == "exit status 2" && strings.Contains(string(out), want),
			"lab run: %v, %s; want status 2 and %q", err, out, want)
	}
	_, links, _ := strings.Cut(pair, "\n")
	flow := "traffic: {f: {from: h1, to: h2, duration: 100ms}}\n"
	refused(path+":1: traffic: there is none", path, "")
	refused("no such file", "no-such-lab.yaml", "")
	refused(path+":4: switches.s1.ports.p1.speed: none: a link with traffic needs a speed", path,
		strings.Replace(links, `"s1:p1"]`, `"s1:p1"], speed: none`, 1)+flow)
	refused(path+":5: traffic.f: h2 has a host NIC", path, strings.Replace(links, "h2: {}",
		"h2: {nic: true, addresses: [10.0.0.2/24]}", 1)+flow)
	refused("traffic.f: no frame would come from h1 to h2", path, strings.Replace(links, `"s1:p2"]`,
		`"s1:p2"], flood: off, learning: false`, 1)+flow)
	was := programs
	programs = "PATH=" + r.t.TempDir()
	refused(path+":6: faults.x.flap: ip, which takes the link down, is not there", path, links+flow+
		"faults: {x: {flap: l1}}\n")
	programs = was
	r.checkNothingLeft(name)

	must(r.t, os.WriteFile(path, []byte("name: "+name+"\n"+links+flow), 0o644))
	r.up(path, name)
	other := path + ".other.yaml"
	refused(other+":1: name: lab "+name+" is up with another file, "+path+": take it down", other, links+flow)
	refused("its nodes or links have changed since lab "+name+" came up", path,
		strings.Replace(links, "h2: {}", "h2: {}, h3: {}", 1)+flow)
	r.run("lab", "down", name)
}

// An interrupt takes down what the run brought up.
func interruptedRun(r *rig) {
	path, name := r.file(strings.ReplaceAll(unequal, "duration: 3s", "duration: 60s"))
	cmd := r.command("lab", "run", path)
	var out strings.Builder
	cmd.Stderr = &out
	must(r.t, cmd.Start())
	eventually(r.t, "senders and sinks run", func() bool {
		s, ok := readState(r.statePath(name))
		return ok && len(s.Nodes) > 0 && len(r.endpoints()) >= 4
	})
	must(r.t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); fmt.Sprint(err) != "exit status 2" || !strings.Contains(out.String(), "interrupted") {
		r.t.Errorf("%v: %s", err, out.String())
	}
	r.checkNothingLeft(name)
	eventually(r.t, "senders and sinks have ended", func() bool { return len(r.endpoints()) == 0 })
}

// endpoints returns the command lines of senders and sinks of this program.
func (r *rig) endpoints() (all []string) {
	return append(r.processes("--start"), r.processes("--until")...)
}
