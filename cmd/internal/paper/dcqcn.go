package paper

import (
	"context"
	"fmt"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/dataplane"
)

var congestionControl = Study{"dcqcn",
	"Zhu et al.: Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015",
	"PFC alone shares by port; with DCQCN shares are even and pauses rare; without PFC it loses frames",
	runCongestionControl}

const (
	controlTime = 200 * time.Millisecond
	controlLook = time.Millisecond
)

// A controlCase says what slows down the senders. Without PFC they send in a lossy priority.
type controlCase struct{ pfc, dcqcn bool }

func (c controlCase) String() string {
	return map[controlCase]string{{true, false}: "PFC alone", {true, true}: "PFC and DCQCN",
		{false, true}: "DCQCN alone", {false, false}: "neither"}[c]
}

var controlCases = []controlCase{{true, false}, {true, true}, {false, true}, {false, false}}

// A controlled is what came of four senders of 10G into one: three behind another switch, and the last, near one.
type controlled struct {
	near, far  float64 // bit/s: the near sender's, and the mean of the far ones
	xoffs      uint64
	sent, lost uint64
	p50        time.Duration // latency of the far senders, mean of their medians
	waiting    []float64     // kB that wait in the receiver's switch, every controlLook
}

func (c controlCase) run(ctx context.Context, seed uint64) (*controlled, error) {
	priority, cc := 0, "off"
	if c.pfc {
		priority = 3
	}
	if c.dcqcn {
		cc = "dcqcn"
	}
	const settings = "{preset: roce, ecn: {0: {kmin: 64KiB, kmax: 256KiB, pmax: 10%}, 3: {kmin: 64KiB, kmax: 256KiB, " +
		"pmax: 10%}}, buffer: {headroom: 32KiB, lossless: {size: 1MiB}, lossy: {size: 1MiB}}}"
	found := &controlled{}
	r, err := simulate(ctx, fmt.Sprintf(`name: dcqcn
switches: {s1: %s, s2: %[1]s}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}, h5: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 10G, cable: 10m}
  l2: {ends: [h2, "s1:p2"], speed: 10G, cable: 10m}
  l3: {ends: [h3, "s1:p3"], speed: 10G, cable: 10m}
  up: {ends: ["s1:up", "s2:up"], speed: 10G, cable: 10m}
  l4: {ends: [h4, "s2:p4"], speed: 10G, cable: 10m}
  l5: {ends: [h5, "s2:p5"], speed: 10G, cable: 10m}
traffic: {all: {from: [h1, h2, h3, h4], to: h5, priority: %d, cc: %q, duration: %v}}
`, settings, priority, cc, controlTime), simulation.Options{Seed: seed, LookEvery: controlLook,
		Look: func(at time.Duration, s func(string) *dataplane.Snapshot) {
			if at <= controlTime {
				found.waiting = append(found.waiting, waiting(&s("s2").Buffer))
			}
		}})
	if err != nil {
		return nil, err
	}
	for _, f := range r.Flows {
		found.sent, found.lost = found.sent+f.Sent, found.lost+f.Lost
		if f.Name == "h4>h5" {
			found.near = float64(f.Rate)
			continue
		}
		found.far += float64(f.Rate) / 3
		found.p50 += time.Duration(f.Latency.P50) / 3
	}
	for _, p := range r.Ports {
		found.xoffs += p.Xoff
	}
	return found, nil
}

// waiting returns how many kB wait in a switch.
func waiting(b *buffer.Snapshot) float64 {
	u := &b.Lossless.Used
	return float64(u.Private.Now+u.Shared.Now+u.Headroom.Now+b.Lossy.Used.Shared.Now) / 1000
}

func runCongestionControl(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"senders", "near Mbit/s", "each far", "near / far", "paper", "XOFFs", "lost", "median µs"}
	result.Remark = "The paper's figures are those of 40G and of its testbed; its claims stand here instead: a " +
		"sender alone at its port gets as much as all behind another port together, 3 times what each of those does; " +
		"with DCQCN all get the same. DCQCN begins at the link's speed and halves, so it takes some 60 ms until the " +
		"link is full again: that is why mean rates are below a fair share, 2468 Mbit/s of payload. With neither, " +
		"frames that come in step share a full queue unevenly."
	panel := plot.Panel{Title: "what waits in the receiver's switch, kB, over time",
		Unit: func(ns int64) string { return time.Duration(ns).String() }}
	for _, c := range controlCases {
		o.Progress(c.String())
		f, err := c.run(ctx, o.Seed)
		if err != nil {
			return err
		}
		paper := "-"
		switch {
		case c.pfc && c.dcqcn:
			paper = "1"
		case c.pfc:
			paper = "3"
		}
		result.add(c.String(), fmt.Sprintf("%.0f", f.near/1e6), fmt.Sprintf("%.0f", f.far/1e6),
			fmt.Sprintf("%.2f", f.near/f.far), paper, fmt.Sprint(f.xoffs),
			fmt.Sprintf("%.2f %%", 100*float64(f.lost)/float64(f.sent)), fmt.Sprint(f.p50.Microseconds()))
		panel.Lines = append(panel.Lines, plot.Series{Name: c.String(), Values: f.waiting})
	}
	for i := range panel.Lines[0].Values {
		panel.At = append(panel.At, int64(i+1)*int64(controlLook))
	}
	result.panels = append(result.panels, panel)
	return nil
}
