package paper

import (
	"context"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/deadlock"
)

var deadlockCounters = Study{"deadlock-counters", "the PFC deadlock patent: fast and slow detection",
	"N blocked looks in a row are a deadlock, XOFF is ignored for a while, and too many turn PFC off",
	runDeadlockCounters}

// A receiver stops for good at counterStop, and goes on at counterFree.
const (
	counterPeriod    = 10 * time.Millisecond
	counterN         = 5
	counterRecovery  = 200 * time.Millisecond
	counterSlow      = time.Second
	counterThreshold = 2
	counterStop      = 100 * time.Millisecond
	counterFree      = 4300 * time.Millisecond
	counterEnd       = 5200 * time.Millisecond
)

// A transition is one of the watched queue. at counts from the begin of the traffic.
type transition struct {
	kind deadlock.Kind
	at   time.Duration
}

// counterTheory returns the transitions by the patent's rules, where every look and every frame comes at once.
func counterTheory() (all []transition) {
	add := func(k deadlock.Kind, at time.Duration) { all = append(all, transition{k, at}) }
	period, detections, before := time.Duration(0), 0, 0 // of slow detection; before: at the begin of the period
	closed := false
	for at := counterStop; period < counterFree; {
		detects, ends := at+counterN*counterPeriod, period+counterSlow
		if detects < min(ends, counterFree) && !closed {
			detections++
			add(deadlock.Detected, detects)
			if at = detects + counterRecovery; at < ends {
				add(deadlock.Recovered, at)
				continue
			}
		}
		period = ends
		switch {
		case closed:
			add(deadlock.Reopened, ends)
			at, closed = ends, false
		case detections-before > counterThreshold && ends > counterSlow: // the first period stores the baseline
			add(deadlock.Recurring, ends)
			closed = true
		case at >= ends:
			add(deadlock.Recovered, at)
		}
		before = detections
	}
	return all
}

// counterRun returns the transitions of the queue of a switch whose peer stops.
func counterRun(ctx context.Context, seed uint64) (all []transition, err error) {
	tell := func(_ string, e deadlock.Event) {
		if e.Kind != deadlock.Armed && e.Kind != deadlock.Disarmed {
			all = append(all, transition{e.Kind, time.Duration(e.At)})
		}
	}
	_, err = simulate(ctx, fmt.Sprintf(`name: counters
switches:
  s1:
    preset: roce
    watchdog: {action: forward, period: %v, count: %d, recovery: %v, slow: {period: %v, threshold: %d}}
hosts: {h1: {}, h2: {}}
links: {l1: {ends: [h1, "s1:in"], speed: 100G}, l2: {ends: [h2, "s1:out"], speed: 100G}}
traffic: {flow: {from: h1, to: h2, rate: 100M, duration: %v}}
faults: {stopped: {storm: h2, start: %v, duration: %v}}
`, counterPeriod, counterN, counterRecovery, counterSlow, counterThreshold, counterEnd, counterStop,
		counterFree-counterStop), simulation.Options{Seed: seed, Watchdog: tell})
	return all, err
}

func runDeadlockCounters(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"event", "ms", "by the rules", "difference ms", "detections", "of the slow period"}
	result.Remark = fmt.Sprintf("A look each %v, N = %d, recovery %v, slow period %v, threshold %d. The receiver "+
		"stops at %v and goes on at %v. The patent has no figures: the rules are those of its text, where frames come "+
		"without gaps. Here a queue is armed by the next frame or XOFF, which adds up.",
		counterPeriod, counterN, counterRecovery, counterSlow, counterThreshold, counterStop, counterFree)
	got, err := counterRun(ctx, o.Seed)
	if err != nil {
		return err
	}
	want := counterTheory()
	lines := [3]plot.Series{{Name: "detections"}, {Name: "of the slow period"}, {Name: "XOFF is ignored"}}
	panels := [2]plot.Panel{{Title: "detections, in all and of the slow period"},
		{Title: "XOFF of the peer is ignored: 1"}}
	const grid = 5 * time.Millisecond
	at, n, before, ignored := time.Duration(0), 0, 0, 0.0
	until := func(end time.Duration) {
		for ; at < end; at += grid {
			if at%counterSlow == 0 {
				before = n
			}
			for i, v := range []float64{float64(n), float64(n - before), ignored} {
				lines[i].Values = append(lines[i].Values, v)
			}
			panels[0].At = append(panels[0].At, int64(at))
		}
	}
	for i, g := range got {
		until(g.at)
		if g.kind == deadlock.Detected {
			n++
		}
		ignored = 0
		if g.kind == deadlock.Detected || g.kind == deadlock.Recurring {
			ignored = 1
		}
		rule, difference := "-", "-"
		if i < len(want) && want[i].kind == g.kind {
			rule, difference = ms(want[i].at), ms(g.at-want[i].at)
		}
		result.add(g.kind.String(), ms(g.at), rule, difference, fmt.Sprint(n), fmt.Sprint(n-before))
	}
	until(counterEnd)
	panels[1].At = panels[0].At
	panels[0].Lines, panels[1].Lines = lines[:2], lines[2:]
	for _, p := range panels {
		p.Unit = plot.Duration
		result.panels = append(result.panels, p)
	}
	return nil
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%.2f", float64(d.Round(10*time.Microsecond))/1e6)
}
