package paper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
)

var sharedHeadroom = Study{"dsh",
	"Shan et al.: Less is More: Dynamic and Shared Headroom Allocation in PFC-Enabled Datacenter Networks, ICDCS 2023",
	"headroom that is shared (DSH) lets a switch absorb 4 times as large a burst without PFC as static headroom (SIH)",
	runSharedHeadroom}

// The switch of the paper: 32 ports of 100G with 2 µs of cable, 16 MB, 7 lossless priorities, α = 1/16, φ = 3072
// octets, η = 56,840 octets.
const (
	dshPorts  = 32
	dshBuffer = 16_000_000
	dshGrain  = 25_000 // octets, to which the largest burst is found
	dshFirst  = 16     // grains of the first burst that is tried
	dshPaper  = 4.0
)

// etaResponse is how long a host goes on after a pause has come, where η is the paper's: 3840 octets at 100G.
const etaResponse = 307 * time.Nanosecond

// dshRatio is how much larger a burst of DSH is than one of static headroom where so many queues fill alike: in theory,
// without what leaves meanwhile. A queue of SIH stops at T = α·free. One of DSH stops at T - η.
func dshRatio(senders int) float64 {
	const alpha, eta, private = 1.0 / 16, 56_840.0, 3072.0
	n := float64(senders)
	queue := func(shared, less float64) float64 { return private + (alpha*shared-less)/(1+n*alpha) }
	reserved := dshPorts * 7 * private
	return queue(dshBuffer-reserved-dshPorts*eta, eta) / queue(dshBuffer-reserved-dshPorts*7*eta, 0)
}

// A dshSwitch is a switch with 7 lossless priorities, α = 1/16 and φ = 3072 octets.
type dshSwitch struct {
	ports    int
	speed    int64 // bit/s
	pool     int64 // octets
	eta      int64
	response time.Duration // of the hosts to PFC, the longest
	noise    bool          // a response takes a tenth of that and more, at random
}

// dshPublished is the switch of the paper.
var dshPublished = dshSwitch{dshPorts, 100_000_000_000, dshBuffer, 56_840, etaResponse, false}

// paused lets so many senders send a burst to one receiver, and returns for how long the switch held senders, in ns,
// all added up.
func (w dshSwitch) paused(ctx context.Context, seed uint64, policy string, senders int, burst int64) (ns int64,
	err error) {
	var hosts, links, from strings.Builder
	for i := range w.ports {
		fmt.Fprintf(&hosts, "  h%d: {}\n", i)
		fmt.Fprintf(&links, "  l%d: {ends: [h%[1]d, \"s1:p%[1]d\"], speed: %d, delay: 2us}\n", i, w.speed)
		if i > 0 && i <= senders {
			fmt.Fprintf(&from, "h%d, ", i)
		}
	}
	r, err := simulate(ctx, fmt.Sprintf(`name: dsh
switches:
  s1:
    priorities: {lossless: [0, 1, 2, 3, 4, 5, 6]}
    buffer: {policy: %s, headroom: %dB, private: 3072B, lossless: {size: %d, alpha: 0.0625}, ring_hold: off}
hosts:
%slinks:
%straffic:
  burst: {from: [%s], to: h0, size: %d, duration: 1s}
`, policy, w.eta, w.pool, hosts.String(), links.String(), strings.TrimSuffix(from.String(), ", "), burst/int64(senders)),
		w.options(seed))
	if err != nil {
		return 0, err
	}
	if !r.Pass {
		why := errFailed
		if slices.ContainsFunc(r.Switches, func(s demo.SwitchResult) bool { return s.LosslessDrops > 0 }) {
			why = errLost
		}
		return 0, fmt.Errorf("a burst of %d octets of %d senders: %w: %+v", burst, senders, why, r.Checks)
	}
	for _, p := range r.Ports {
		ns += p.HeldNs
	}
	return ns, nil
}

// What a run returns that fails.
var (
	errLost   = errors.New("lossless frames were lost")
	errFailed = errors.New("a check failed")
)

func (w dshSwitch) options(seed uint64) simulation.Options {
	o := simulation.Options{Seed: seed, Response: w.response}
	if w.noise {
		o.Response, o.Noise, o.Latest = w.response/10, w.response/4, w.response
	}
	return o
}

// largest returns the largest burst, in octets of payload, that the switch absorbs without holding a sender.
func (w dshSwitch) largest(ctx context.Context, seed uint64, policy string, senders int) (burst int64, err error) {
	low, high := int64(0), int64(0) // in grains; high: not found yet
	for high == 0 || high-low > 1 {
		middle := (low + high) / 2
		if high == 0 {
			middle = max(dshFirst, 2*low)
		}
		held, err := w.paused(ctx, seed, policy, senders, middle*dshGrain)
		switch {
		case err != nil:
			return 0, err
		case held == 0:
			low = middle
		default:
			high = middle
		}
	}
	return low * dshGrain, nil
}

func runSharedHeadroom(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"senders", "SIH MB", "DSH MB", "times", "paper", "difference", "in theory"}
	result.Remark = "The paper's factor is that of its abstract, for bursts beside other traffic. Here the " +
		"switch is empty before the burst, which its senders send in equal parts. So the factor is that of what is " +
		"to share, less η in each threshold of DSH: 13.5 MB with DSH, 2.6 MB with static headroom. Theory leaves " +
		"out what the receiver takes meanwhile, from both alike."
	for _, senders := range []int{2, 8, 16, 30} {
		o.Progress(fmt.Sprintf("%d senders", senders))
		static, err := dshPublished.largest(ctx, o.Seed, "dt", senders)
		if err != nil {
			return err
		}
		dynamic, err := dshPublished.largest(ctx, o.Seed, "dsh", senders)
		if err != nil {
			return err
		}
		times := float64(dynamic) / float64(max(1, static))
		result.add(fmt.Sprint(senders), mega(static), mega(dynamic), fmt.Sprintf("%.1f", times),
			fmt.Sprintf("%.1f", dshPaper), percent(times, dshPaper), fmt.Sprintf("%.1f", dshRatio(senders)))
	}
	return dshPicture(ctx, o, result)
}

func mega(octets int64) string { return fmt.Sprintf("%.2f", float64(octets)/1e6) }

// dshPicture draws for how long senders were held by bursts of different sizes.
func dshPicture(ctx context.Context, o Options, result *Result) error {
	const senders, step, steps = 16, 500_000, 18
	panel := plot.Panel{
		Title: fmt.Sprintf("time for which %d senders were held, added up, ms, over the size of the burst", senders),
		Unit:  func(octets int64) string { return fmt.Sprintf("%v MB", float64(octets)/1e6) }}
	for i := range int64(steps) {
		panel.At = append(panel.At, (i+1)*step)
	}
	for _, p := range []struct{ policy, name string }{{"dt", "SIH"}, {"dsh", "DSH"}} {
		line := plot.Series{Name: p.name}
		for _, burst := range panel.At {
			held, err := dshPublished.paused(ctx, o.Seed, p.policy, senders, burst)
			if err != nil {
				return err
			}
			line.Values = append(line.Values, float64(held)/1e6)
		}
		panel.Lines = append(panel.Lines, line)
	}
	result.panels = append(result.panels, panel)
	return nil
}
