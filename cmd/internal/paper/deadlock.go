package paper

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
)

var deadlockThreshold = Study{"deadlock",
	"Hu et al.: Deadlocks in Datacenter Networks: Why Do They Form, and How to Avoid Them, HotNets 2016",
	"a routing loop of n links of B locks up above a load of nB/TTL: a circle of waits alone is not enough",
	runDeadlock}

const (
	lockSpeed = 1_000_000_000 // B, bit/s
	lockTime  = 300 * time.Millisecond
	lockStall = 40 * time.Millisecond
	lockGrain = 100 // parts of the bound, to which the threshold is found
)

// A circle is switches of which each sends to the next. With a TTL one host sends frames that circle until it ends.
// Without, each host sends to the one behind the next, and each link of the circle carries two flows.
type circle struct{ switches, ttl int }

// bound is the load, in bit/s of each sender, up to which the links of the circle carry all.
func (c circle) bound() float64 {
	if c.ttl == 0 {
		return lockSpeed / 2
	}
	return lockSpeed * float64(c.switches) / float64(c.ttl)
}

func (c circle) String() string {
	if c.ttl == 0 {
		return fmt.Sprintf("ring of %d", c.switches)
	}
	return fmt.Sprintf("loop of %d, TTL %d", c.switches, c.ttl)
}

// run loads the circle with a part of its bound.
func (c circle) run(ctx context.Context, seed uint64, part float64) (*simulation.Report, error) {
	var switches, hosts, links, traffic strings.Builder
	mac := func(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i+1) }
	rate := int64(c.bound() * part)
	for i := range c.switches {
		fmt.Fprintf(&switches, "  s%d:\n    preset: roce\n"+
			"    buffer: {headroom: 16KiB, private: 0, lossless: {size: 250kB}}\n"+
			"    ports: {host: {}, out: {flood: off, learning: false}, in: {flood: off, learning: false}}\n"+
			"    fdb:\n", i)
		for k := range c.switches {
			port := "out"
			if k == i {
				port = "host"
			}
			fmt.Fprintf(&switches, "      - {mac: %q, port: %s}\n", mac(k), port)
		}
		fmt.Fprintf(&switches, "      - {mac: %q, port: out}\n", mac(c.switches)) // of nobody's host: it is not there
		fmt.Fprintf(&hosts, "  h%d: {mac: %q}\n", i, mac(i))
		next := (i + 1) % c.switches
		fmt.Fprintf(&links, "  h%d: {ends: [h%[1]d, \"s%[1]d:host\"], speed: %[2]d}\n  r%[1]d: {ends: "+
			"[\"s%[1]d:out\", \"s%[3]d:in\"], speed: %[2]d, cable: 100m}\n", i, lockSpeed, next)
		if c.ttl == 0 {
			fmt.Fprintf(&traffic, "  f%d: {from: h%[1]d, to: h%d, rate: %d, duration: %v}\n", i, (i+2)%c.switches, rate,
				lockTime)
		}
	}
	if c.ttl > 0 {
		fmt.Fprintf(&hosts, "  gone: {mac: %q}\n", mac(c.switches))
		fmt.Fprintf(&links, "  gone: {ends: [gone, \"s0:gone\"], speed: %d}\n", lockSpeed)
		fmt.Fprintf(&traffic, "  loop: {from: h0, to: gone, rate: %d, ttl: %d, duration: %v}\n", rate, c.ttl, lockTime)
	}
	return simulate(ctx, fmt.Sprintf("name: circle\nswitches:\n%shosts:\n%slinks:\n%straffic:\n%s", switches.String(),
		hosts.String(), links.String(), traffic.String()), simulation.Options{Seed: seed, Stall: lockStall})
}

// threshold returns the least part of the bound, in lockGrain, at which the circle locks up, between low, at which it
// must not, and high, at which it must.
func (c circle) threshold(ctx context.Context, seed uint64, low, high int) (int, error) {
	locks := func(part int) (bool, error) {
		r, err := c.run(ctx, seed, float64(part)/lockGrain)
		return err == nil && r.Deadlock, err
	}
	for part, want := range map[int]bool{low: false, high: true} {
		if locked, err := locks(part); err != nil || locked != want {
			return 0, cmp.Or(err, fmt.Errorf("%v, at %d %% of its bound: deadlock %v: the threshold is not between "+
				"%d and %d %%", c, part, locked, low, high))
		}
	}
	for high-low > 1 {
		middle := (low + high) / 2
		locked, err := locks(middle)
		switch {
		case err != nil:
			return 0, err
		case locked:
			high = middle
		default:
			low = middle
		}
	}
	return high, nil
}

func runDeadlock(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"circle", "locks up at Mbit/s", "paper", "difference",
		"who waits for whom, at twice the bound"}
	result.Remark = fmt.Sprintf("A ring has no TTL. Its bound follows from the same thought: each of its links "+
		"carries two flows. Just above a bound the buffers, of some 200 kB, take longer to fill than the %v of a run.",
		lockTime)
	panel := plot.Panel{
		Title: "time after which nothing moved, ms, over the load in % of the bound; no line: it went on",
		Unit:  func(part int64) string { return fmt.Sprintf("%d %%", part) }}
	for part := int64(80); part <= 200; part += 20 {
		panel.At = append(panel.At, part)
	}
	for _, c := range []circle{{3, 0}, {2, 8}, {2, 16}, {4, 16}, {4, 32}} {
		o.Progress(c.String())
		part, err := c.threshold(ctx, o.Seed, lockGrain*4/5, lockGrain*6/5)
		if err != nil {
			return err
		}
		line := plot.Series{Name: c.String(), First: len(panel.At)}
		var cycle []string
		for i, at := range panel.At {
			r, err := c.run(ctx, o.Seed, float64(at)/100)
			if err != nil {
				return err
			}
			if r.Deadlock {
				line.First = min(line.First, i)
				line.Values = append(line.Values, max(0, float64(r.Lasted-int64(lockStall))/1e6))
			}
			cycle = cycle[:0]
			for _, w := range r.Cycle {
				cycle = append(cycle, w.Port)
			}
		}
		panel.Lines = append(panel.Lines, line)
		load := c.bound() * float64(part) / lockGrain
		result.add(c.String(), fmt.Sprintf("%.1f", load/1e6), fmt.Sprintf("%.1f", c.bound()/1e6),
			percent(load, c.bound()), strings.Join(cycle, " > "))
	}
	result.panels = append(result.panels, panel)
	return nil
}
