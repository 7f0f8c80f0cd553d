package topology

import (
	"context"
	"encoding/json"
	"math"
	"os/exec"
	"strconv"
	"time"

	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/traffic"
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

// A shareOfRun is what a sender got of a run.
type shareOfRun struct {
	rate   float64 // share of all that arrived while the senders were sending
	paused float64 // share of the time
}

// sameInVirtualTime runs a file for real and in virtual time. The same senders are paused, and nothing is lost. Shares
// differ by 5 % at most, where the machine let every sender send. How long a sender is paused is another thing: a veth
// has no speed, so frames come there in bursts.
func sameInVirtualTime(r *rig) {
	path, name := r.file(unequal)
	v, err := simulation.Run(r.t.Context(), path, simulation.Options{Seed: 1, Response: -1})
	must(r.t, err)
	if !v.Pass {
		r.t.Fatalf("virtual time: %+v", v.Checks)
	}
	virtual := map[string]shareOfRun{}
	sum := 0.0
	for _, f := range v.Flows {
		sum += float64(f.Rate)
	}
	for i, f := range v.Flows {
		// hosts and flows are both h1, h2, h3
		virtual[v.Hosts[i].Name] = shareOfRun{float64(f.Rate) / sum, float64(v.Hosts[i].PausedNs[3]) / 3e9}
	}
	r.up(path, name)
	onLinks, behind := r.shares(path)
	r.checkLossless(r.state(name).Nodes[0])
	r.run("lab", "down", path)
	for _, host := range []string{"h1", "h2", "h3"} {
		a, b := onLinks[host], virtual[host]
		r.t.Logf("%s: share %.3f, paused %.3f; in virtual time %.3f, %.3f", host, a.rate, a.paused, b.rate, b.paused)
		if saturated := host != "h1"; saturated != (b.paused > 0.05) || saturated && a.paused == 0 {
			r.t.Errorf("%s: paused for %.3f of the time, and %.3f in virtual time", host, a.paused, b.paused)
		}
		if d := math.Abs(a.rate - b.rate); d > 0.05*b.rate && behind > 0.05 {
			r.t.Logf("not judged: a sender was %.1f %% behind", 100*behind)
		} else if d > 0.05*b.rate {
			r.t.Errorf("%s: its share differs by %.1f %%", host, 100*d/b.rate)
		}
	}
}

// shares runs the load of unequal on real links, and returns what each sender got, and how far a sender was behind at
// most.
func (r *rig) shares(path string) (shares map[string]shareOfRun, behind float64) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	inside := func(node string, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, r.program, append([]string{"lab", "exec", path, node, r.program}, args...)...)
	}
	start := time.Now().Add(2 * time.Second)
	at := func(d time.Duration) string { return strconv.FormatInt(start.Add(d).UnixNano(), 10) }
	type result struct {
		host string
		out  []byte
		err  error
	}
	answers := make(chan result, 4)
	run := func(host string, args ...string) {
		go func() {
			out, err := inside(host, append(args, "eth0", "--speed", "100M", "-j")...).Output()
			answers <- result{host, out, err}
		}()
	}
	run("h4", "sink", "--expect", "3", "--from", at(0), "--until", at(3*time.Second))
	for host, flow := range map[string]string{"h1": "3:octets=1514,rate=20M", "h2": "3:octets=1514",
		"h3": "3:octets=1514"} {
		run(host, "send", "--flow", flow, "--seconds", "3", "--start", at(0))
	}
	paused, sources, rates, sum := map[string]float64{}, map[string]string{}, map[string]float64{}, 0.0
	for range 4 {
		a := <-answers
		must(r.t, a.err)
		if a.host == "h4" {
			var sink traffic.SinkReport
			must(r.t, json.Unmarshal(a.out, &sink))
			for _, f := range sink.Flows {
				if !f.Finished || f.Lost+f.Reordered+f.Duplicated != 0 {
					r.t.Errorf("%s: %+v", f.Source, f)
				}
				rates[f.Source] = float64(f.WindowBits)
				sum += float64(f.WindowBits)
			}
			continue
		}
		var sender traffic.SendReport
		must(r.t, json.Unmarshal(a.out, &sender))
		sources[a.host], behind = sender.Source, max(behind, sender.Behind)
		paused[a.host] = float64(sender.Paused[3]) / float64(sender.Elapsed)
	}
	shares = map[string]shareOfRun{}
	for host, source := range sources {
		shares[host] = shareOfRun{rates[source] / max(1, sum), paused[host]}
	}
	if len(shares) != 3 || sum == 0 {
		r.t.Fatalf("%+v, want three senders", shares)
	}
	return shares, behind
}
