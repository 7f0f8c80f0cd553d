package paper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/dataplane"
)

var headroomUse = Study{"headroom-use",
	"Shan et al.: Less is More: Dynamic and Shared Headroom Allocation in PFC-Enabled Datacenter Networks, ICDCS 2023",
	"at a load of 90 % three quarters of the headroom stay unused for 99 % of the time", runHeadroomUse}

// The fabric: four leaves with four hosts each, and four spines.
const (
	useLeaves, useSpines = 4, 4
	useTime              = 2 * time.Millisecond
	useWarmUp            = useTime / 10
	useLook              = 2 * time.Microsecond
	usePaper             = 0.25 // of the headroom is used at most, for 99 % of the time
)

// A use is which share of its headroom a switch used at the moments of a run, sorted; of all switches, each for itself.
type use struct {
	shares []float64
	lost   bool
	xoffs  uint64
}

// at returns the share that is not exceeded for a part of the time.
func (u *use) at(part float64) float64 { return u.shares[int(part*float64(len(u.shares)-1))] }

// useOf runs the fabric with a load, as a share of the links of the hosts.
func useOf(ctx context.Context, seed uint64, load float64) (*use, error) {
	var names []string
	for i := range useLeaves {
		names = append(names, fmt.Sprintf("leaf%d", i+1))
	}
	for i := range useSpines {
		names = append(names, fmt.Sprintf("spine%d", i+1))
	}
	u := &use{}
	look := func(at time.Duration, s func(string) *dataplane.Snapshot) {
		if at < useWarmUp || at > useTime {
			return
		}
		for _, name := range names {
			b := &s(name).Buffer.Lossless
			u.shares = append(u.shares, float64(b.Used.Headroom.Now)/float64(b.HeadroomSize))
		}
	}
	r, err := simulate(ctx, fmt.Sprintf(`name: headroom_use
fabric:
  leaf-spine: {leaves: %d, spines: %d, hosts: 4}
  links: {speed: 100G, delay: 2us}
  switches: {preset: roce, buffer: {headroom: 56840B, private: 3072B, lossless: {size: 4MB, alpha: 0.0625}}}
traffic:
  search: {poisson: web-search, load: %v%%, window: 256KiB, duration: %v}
`, useLeaves, useSpines, 100*load, useTime), simulation.Options{Seed: seed, Look: look, LookEvery: useLook,
		Response: etaResponse})
	if err != nil {
		return nil, err
	}
	slices.Sort(u.shares)
	for _, s := range r.Switches {
		u.lost = u.lost || s.LosslessDrops > 0
	}
	for _, p := range r.Ports {
		u.xoffs += p.Xoff
	}
	return u, nil
}

func runHeadroomUse(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"load", "XOFFs", "median used", "99 % of the time", "paper", "most", "lost"}
	result.Remark = fmt.Sprintf("The paper gives its figure at 90 %%, with switches of 7 lossless priorities and "+
		"senders that slow down. Here one priority is lossless, so that no headroom is counted that could never be "+
		"used; a sender does not slow down, but has 256 KiB on its way at most; and the fabric has %d hosts for %v.",
		useLeaves*4, useTime)
	panel := plot.Panel{Title: "headroom of a switch in use, % of its size, over the part of the time",
		Unit: func(v int64) string { return fmt.Sprintf("%v %%", float64(v)/10) }}
	for i := range int64(1001) {
		panel.At = append(panel.At, i)
	}
	for _, load := range []float64{0.3, 0.6, 0.9} {
		o.Progress(fmt.Sprintf("load of %.0f %%", 100*load))
		u, err := useOf(ctx, o.Seed, load)
		if err != nil {
			return err
		}
		paper, lost := "-", "no"
		if load == 0.9 {
			paper = fmt.Sprintf("up to %.0f %%", 100*usePaper)
		}
		if u.lost {
			lost = "yes"
		}
		share := func(part float64) string { return fmt.Sprintf("%.2f %%", 100*u.at(part)) }
		result.add(fmt.Sprintf("%.0f %%", 100*load),
			fmt.Sprint(u.xoffs), share(0.5), share(0.99), paper, share(1), lost)
		line := plot.Series{Name: fmt.Sprintf("load %.0f %%", 100*load)}
		for _, i := range panel.At {
			line.Values = append(line.Values, 100*u.at(float64(i)/1000))
		}
		panel.Lines = append(panel.Lines, line)
	}
	result.panels = append(result.panels, panel)
	return nil
}
