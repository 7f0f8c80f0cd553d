package paper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
)

var pauseSpreading = Study{"spreading",
	"Guo et al.: RDMA over Commodity Ethernet at Scale, SIGCOMM 2016",
	"one receiver that sends pauses without end may stop a whole network; a watchdog at the switches confines it",
	runSpreading}

// A fat tree of k = 4 with 16 hosts at 1G. Each host sends to the one half the way round, and a little to host 1.
const (
	spreadTime   = 100 * time.Millisecond
	spreadVictim = "h1"
	spreadDetect = 10 * time.Millisecond // of the watchdog
	spreadMinor  = 0.1                   // of the run, up to which a host does not count as held
)

// A spreadCase is what is wrong with the receiver.
type spreadCase struct {
	name     string
	fault    string // an entry of faults; empty: none
	watchdog bool
	paper    string // share of their rate that others keep
}

var spreadCases = []spreadCase{
	{"none", "", false, "-"},
	{"slow", "{slow: h1, rate: 100M}", false, "-"},
	{"slow", "{slow: h1, rate: 100M}", true, "-"},
	{"stopped", "{storm: h1}", false, "0 %"},
	{"stopped", "{storm: h1}", true, "100 %"},
}

func (c *spreadCase) run(ctx context.Context, o Options) (*simulation.Report, error) {
	watchdog, faults := "off", ""
	if c.watchdog {
		watchdog = fmt.Sprintf("{action: drop, restore: quiet, period: 1ms, count: %d, recovery: 10ms}",
			spreadDetect/time.Millisecond)
	}
	if c.fault != "" {
		faults = "faults:\n  receiver: " + c.fault + "\n"
	}
	return simulate(ctx, fmt.Sprintf(`name: spreading
fabric:
  fat-tree: {k: 4}
  links: {speed: 1G, cable: 10m}
  switches: {preset: roce, buffer: {headroom: 16KiB, lossless: {size: 256KiB}}, watchdog: %s}
traffic:
  half: {permutation: on, rate: 500M, duration: %v}
  incast: {incast: %s, rate: 25M, duration: %[2]v}
%[4]s`, watchdog, spreadTime, spreadVictim, faults), simulation.Options{Seed: o.Seed})
}

// A spread is what became of the hosts other than the receiver.
type spread struct {
	rate      float64 // bit/s of the flows to them, all together
	hosts     int     // that were held
	ports     int     // of switches that were held
	longest   int64   // ns for which one of the hosts was held
	discarded uint64  // frames, by the watchdog
	steps     int     // from the receiver to the last that was held
	lost      uint64  // frames for which there was no room
}

func spreadOf(r *simulation.Report) (s spread) {
	for _, f := range r.Flows {
		if !strings.HasSuffix(f.Name, ">"+spreadVictim) {
			s.rate += float64(f.Rate)
		}
	}
	for _, h := range r.Holds {
		switch host := !strings.Contains(h.Held, ":"); {
		case h.Share < spreadMinor:
			continue
		case host:
			s.hosts++
			s.longest = max(s.longest, h.Ns)
		default:
			s.ports++
		}
		s.steps = max(s.steps, h.Step)
	}
	for _, w := range r.Switches {
		s.discarded += w.Discarded
		s.lost += w.LosslessDrops
	}
	return s
}

func runSpreading(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"receiver", "watchdog", "others' rate", "paper", "hosts held", "switch ports held",
		"steps", "longest ms", "discarded"}
	result.Remark = fmt.Sprintf("The paper has no figures of this kind: it says that all stops, or nothing does. "+
		"Rates are those of the whole "+
		"%v, of which buffers bridge a part: that is why not all is lost without a watchdog, and"+
		" nothing with one, which needs %v to see a queue that stands still. Behind a receiver that is only"+
		" slow, queues two switches away stand still for longer than that too, and the watchdog takes them "+
		"for locked up. Held: for more than a tenth of the time.",
		spreadTime, spreadDetect)
	free := 0.0
	panel := plot.Panel{
		Title: "hosts and ports of switches that were held for longer than that, in % of the time",
		Unit:  func(share int64) string { return fmt.Sprintf("%d %%", share) }}
	for share := int64(0); share < 100; share++ {
		panel.At = append(panel.At, share)
	}
	for i := range spreadCases {
		c := &spreadCases[i]
		o.Progress(c.name)
		r, err := c.run(ctx, o)
		if err != nil {
			return err
		}
		s := spreadOf(r)
		if c.fault == "" {
			free = s.rate
		}
		watchdog := "off"
		if c.watchdog {
			watchdog = "drop"
		}
		result.add(c.name, watchdog, fmt.Sprintf("%.1f %%", 100*s.rate/free), c.paper, fmt.Sprint(s.hosts),
			fmt.Sprint(s.ports), fmt.Sprint(s.steps), fmt.Sprintf("%.1f", float64(s.longest)/1e6),
			fmt.Sprint(s.discarded))
		line := plot.Series{Name: c.name + ", watchdog " + watchdog}
		for _, share := range panel.At {
			n := 0
			for _, h := range r.Holds {
				if 100*h.Share > float64(share) {
					n++
				}
			}
			line.Values = append(line.Values, float64(n))
		}
		panel.Lines = append(panel.Lines, line)
	}
	result.panels = append(result.panels, panel)
	return nil
}
