package acceptance

import (
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// A bystander is a flow that has nothing to do with a storm.
type bystander struct {
	name     string
	from, to *Station
	prio     uint8
}

// window measures the rates of flows, in frames a second, for a while.
func window(flows []bystander) []float64 {
	const length = 300 * time.Millisecond
	rates := make([]float64, len(flows))
	begun := time.Now()
	for i, f := range flows {
		rates[i] = -float64(f.to.Tally(f.from.N, f.prio).Frames)
	}
	time.Sleep(length)
	passed := time.Since(begun).Seconds()
	for i, f := range flows {
		rates[i] = (rates[i] + float64(f.to.Tally(f.from.N, f.prio).Frames)) / passed
	}
	return rates
}

// A flow between other hosts, without a gap, and another priority to the very host that storms lose nothing and keep
// their rate within 5 %, in the median of interleaved pairs with and without the storm: seven, and where a busy machine
// scatters those too far, up to 21. What a storm costs stays in the median, however many there are. The rates are low,
// so that the race detector, or another program beside it, leaves the CPU that they need.
func TestBystandersOfAStorm(t *testing.T) {
	const speed = 20e6
	for _, tt := range []struct {
		mode   macctl.Mode
		action string
	}{{macctl.ModePFC, "forward"}, {macctl.ModePFC, "drop"}, {macctl.ModePause, "drop"}} {
		t.Run(tt.mode.String()+" "+tt.action, func(t *testing.T) {
			r := Start(t, 4, Setup{Keys: Lossless3 + "watchdog: {period: 10ms, count: 3, recovery: 50ms, action: " +
				tt.action + "}", Each: "speed: 20M, ring: {outage: 400ms}" + flow(tt.mode)})
			h1, h2 := r.Station(1, tt.mode, speed), r.Station(2, tt.mode, speed)
			h3, h4 := r.Station(3, tt.mode, speed), r.Station(4, tt.mode, speed)
			flows := []bystander{{"between other hosts", h3, h4, 3}}
			streams := []Stream{{To: 2, Prio: 3, Rate: speed / 10}}
			if tt.mode == macctl.ModePFC { // PAUSE stops every priority of its port
				flows = append(flows, bystander{"another priority to the same host", h1, h2, 0})
				streams = append(streams, Stream{To: 2, Prio: 0, Rate: 3 * speed / 10})
			}
			stops := []func(){h3.Send(Stream{To: 4, Prio: 3}), h1.Send(streams...)}
			ratios := pairs(t, r, h2, flows)
			for _, stop := range stops {
				stop()
			}
			eventually(t, "the last storm is over", func() bool { return r.watch(2).State == deadlock.Operational })
			for i, f := range flows {
				f.to.Whole(f.from, f.prio)
				median := middle(ratios[i])
				t.Logf("%s: %.3f of its rate in the storm, %.3f to %.3f", f.name, median, slices.Min(ratios[i]),
					slices.Max(ratios[i]))
				assert.True(t, kept(ratios[i]), "%s: %.3f of its rate in the storm, want 0.95 to 1.05", f.name, median)
			}
			r.NoLosslessDrops()
		})
	}
}

// pairs returns, for each flow, the ratio of its rates with and without a storm, in pairs whose order alternates.
func pairs(t *testing.T, r *Rig, storming *Station, flows []bystander) (ratios [][]float64) {
	ratios = make([][]float64, len(flows))
	calm := func() []float64 { return window(flows) }
	storm := func() []float64 {
		before := r.watch(2).Detected
		end := storming.storm()
		eventually(t, "the storm is found", func() bool { return r.watch(2).Detected > before })
		rates := window(flows)
		end()
		storming.pause(0)
		return rates
	}
	window(flows) // until the flows flow
	for i := 0; i < 7 || i < 21 && (i%2 == 0 || !allKept(ratios)); i++ {
		var with, without []float64
		if i%2 == 0 {
			without, with = calm(), storm()
		} else {
			with, without = storm(), calm()
		}
		for k := range flows {
			ratios[k] = append(ratios[k], with[k]/without[k])
		}
	}
	return ratios
}

// middle is the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// kept tells whether a flow keeps its rate within 5 %.
func kept(ratios []float64) bool { return math.Abs(middle(ratios)-1) <= 0.05 }

func allKept(flows [][]float64) bool {
	return !slices.ContainsFunc(flows, func(r []float64) bool { return !kept(r) })
}
