package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
)

// machineGaps names the measurement in results.
const machineGaps = "machine-gaps"

// cpuGaps are the times in which a thread that only reads the clock did not run: what a thread meets that wants a CPU
// all the time. A thread that sleeps and is woken may fare better or worse.
type cpuGaps struct {
	Watched int64             `json:"watched_ns"` // by all spinners together
	Steps   [gapSteps]gapStep `json:"steps"`
	Longest int64             `json:"longest_ns"`
}

// A gapStep holds the gaps from its bound up to that of the next step.
type gapStep struct {
	Count uint64 `json:"count"`
	Sum   int64  `json:"sum_ns"`
}

// Bounds of the steps: four in each doubling, from 1 µs to about 1 s. A shorter gap is what reading the clock takes.
const (
	gapLeast = 1000.0
	gapSteps = 80
)

func gapBound(step int) float64 { return gapLeast * math.Pow(2, float64(step)/4) }

func (g *cpuGaps) add(ns int64) {
	if ns < gapLeast {
		return
	}
	step := min(int(4*math.Log2(float64(ns)/gapLeast)), gapSteps-1)
	g.Steps[step].Count++
	g.Steps[step].Sum += ns
	g.Longest = max(g.Longest, ns)
}

func (g *cpuGaps) merge(o *cpuGaps) {
	g.Watched += o.Watched
	g.Longest = max(g.Longest, o.Longest)
	for i := range g.Steps {
		g.Steps[i].Count += o.Steps[i].Count
		g.Steps[i].Sum += o.Steps[i].Sum
	}
}

// lateShare returns the share of all moments after which the machine does not run a thread for longer than ns: of a
// gap of g these are the first g - ns.
func (g *cpuGaps) lateShare(ns float64) float64 {
	sum := 0.0
	for _, s := range g.Steps {
		if s.Count == 0 {
			continue
		}
		if mean := float64(s.Sum) / float64(s.Count); mean > ns {
			sum += float64(s.Count) * (mean - ns)
		}
	}
	return sum / float64(max(1, g.Watched))
}

// wait returns the quantile of the time that such a thread waits for its CPU from a random moment, in ns.
func (g *cpuGaps) wait(quantile float64) float64 {
	low, high := 0.0, float64(g.Longest)
	for range 60 {
		if middle := (low + high) / 2; g.lateShare(middle) > 1-quantile {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// spinCommand makes this program a spinner: "spin CPU NANOSECONDS".
const spinCommand = "spin"

// spin reads the clock on one CPU and prints the gaps as JSON.
func spin(args []string, out io.Writer) (status int) {
	var cpu int
	var length int64
	if _, err := fmt.Sscan(strings.Join(args, " "), &cpu, &length); err != nil {
		fmt.Fprintln(os.Stderr, "usage: bench spin CPU NANOSECONDS")
		return 2
	}
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		fmt.Fprintf(os.Stderr, "bind to CPU %d: %v\n", cpu, err)
		return 1
	}
	debug.SetGCPercent(-1)
	var g cpuGaps
	start := time.Now()
	for last := int64(0); last < length; {
		now := int64(time.Since(start))
		g.add(now - last)
		last = now
	}
	g.Watched = int64(time.Since(start))
	if err := json.NewEncoder(out).Encode(&g); err != nil {
		return 1
	}
	return 0
}

// machineGaps spins on every CPU at once while nothing else is measured and idle switches wait, and returns how long
// such a thread waits from a random moment.
func (b *bench) machineGaps() ([]value, error) {
	spinners, errs := make([]cpuGaps, runtime.NumCPU()), make([]error, runtime.NumCPU())
	var running sync.WaitGroup
	for cpu := range spinners {
		running.Go(func() { errs[cpu] = b.spinner(cpu, &spinners[cpu]) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var all cpuGaps
	for i := range spinners {
		all.merge(&spinners[i])
	}
	b.gaps.merge(&all)
	return []value{{p50, all.wait(.5) / 1e3}, {p99, all.wait(.99) / 1e3}, {p999, all.wait(.999) / 1e3},
		{highest, float64(all.Longest) / 1e3}}, nil
}

// spinner runs this program as a spinner on a CPU. The runtime's own signals, which stop a long loop every 10 ms, are
// off.
func (b *bench) spinner(cpu int, g *cpuGaps) error {
	out, err := b.local(b.opt.seconds+patience, []string{"GODEBUG=asyncpreemptoff=1"},
		lab.Self, spinCommand, fmt.Sprint(cpu), fmt.Sprint(int64(b.opt.seconds)))
	if err == nil {
		err = json.Unmarshal(out, g)
	}
	return err
}

// fields returns the histogram as the keys of a JSON object, without the steps that are empty.
func (g *cpuGaps) fields() map[string]any {
	type step struct {
		From  float64 `json:"from_us"`
		To    float64 `json:"to_us"`
		Count uint64  `json:"count"`
		Sum   float64 `json:"sum_us"`
	}
	steps := []step{}
	for i, s := range g.Steps {
		if s.Count > 0 {
			steps = append(steps, step{gapBound(i) / 1e3, gapBound(i+1) / 1e3, s.Count, float64(s.Sum) / 1e3})
		}
	}
	return map[string]any{"what": "gap-histogram", "switch": dutMachine, "watched_s": float64(g.Watched) / 1e9,
		"longest_us": float64(g.Longest) / 1e3, "steps": steps}
}
