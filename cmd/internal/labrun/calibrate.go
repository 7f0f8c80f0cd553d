package labrun

import (
	"context"
	"fmt"
	"math"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/topology"
)

// leastSpeed is the speed in bit/s below which no link is scaled: a full frame then takes 12 ms.
const leastSpeed = 1_000_000

// calibrate scales all speeds and rates so that no more frames cross links in a second than demo.Calibrate finds, which
// takes two seconds and finds seven links of 1 Gbit/s at most.
func (r *run) calibrate(ctx context.Context, file string) error {
	if err := topology.CheckDown(r.topology.Name); err != nil {
		return err
	}
	r.progress("calibration: how many frames does this machine carry?")
	c, carried, err := demo.Calibrate(ctx, "lab")
	if err != nil {
		return err
	}
	r.calibration = &c
	wanted := r.frameHops()
	if r.scale = scaleFor(carried, wanted); r.scale == 1 {
		return nil
	}
	if speed := r.scale * float64(r.plan.Slowest); speed < leastSpeed {
		return fmt.Errorf("%s: in a second the traffic's frames cross %.0f links, and this machine carries %.0f "+
			"now: the slowest link would have less than 1 Mbit/s: end other programs, or write fewer flows or lower "+
			"rates", file, wanted, carried)
	}
	return r.read(file)
}

// scaleFor is the factor, of two digits, by which wanted is at most carried; 1 where it is.
func scaleFor(carried, wanted float64) float64 {
	if wanted <= carried {
		return 1
	}
	scale := carried / wanted
	digits := math.Pow(10, 1-math.Floor(math.Log10(scale)))
	return math.Floor(scale*digits) / digits
}

// frameHops is how many frames a second cross links if all flows send at once as fast as they may. Flows without a rate
// share the link of their host. Lossless ones share that of their receiver too, whose pauses keep them there.
func (r *run) frameHops() (sum float64) {
	from, to := map[string]float64{}, map[string]float64{}
	for i := range r.plan.Flows {
		f := &r.plan.Flows[i]
		from[f.From] += r.asked(i)
		if f.Lossless {
			to[f.To] += r.asked(i)
		}
	}
	hops := hopsBetween(r.topology)
	for i := range r.plan.Flows {
		f := &r.plan.Flows[i]
		share := min(1, float64(r.plan.Ports[f.From].Speed)/from[f.From])
		if f.Lossless {
			share = min(share, float64(r.plan.Ports[f.To].Speed)/to[f.To])
		}
		sum += share * r.asked(i) / float64(8*(f.Octets+24)) * float64(hops(f.From, f.To))
	}
	return sum
}

// asked is the rate in bit/s of flow i. Of the many flows of poisson few send at a time: theirs is the mean over the
// run.
func (r *run) asked(i int) float64 {
	f := &r.plan.Flows[i]
	switch speed := float64(r.plan.Ports[f.From].Speed); {
	case f.Poisson != "":
		return min(speed, float64(8*f.Size)/r.length.Seconds())
	case f.Rate > 0:
		return float64(f.Rate)
	default:
		return speed
	}
}

// hopsBetween returns how many links lie between two hosts on a shortest way.
func hopsBetween(t *config.Topology) func(from, to string) int {
	next := map[string][]string{}
	for i := range t.Links {
		a, b := t.Links[i].Ends[0].Node, t.Links[i].Ends[1].Node
		next[a], next[b] = append(next[a], b), append(next[b], a)
	}
	known := map[string]map[string]int{} // by the host where the way begins
	return func(from, to string) int {
		if known[from] == nil {
			known[from] = distances(next, from)
		}
		return max(1, known[from][to])
	}
}

// distances returns how many links away each node is.
func distances(next map[string][]string, from string) map[string]int {
	away := map[string]int{from: 0}
	for reached := []string{from}; len(reached) > 0; reached = reached[1:] {
		for _, node := range next[reached[0]] {
			if _, known := away[node]; !known {
				away[node] = away[reached[0]] + 1
				reached = append(reached, node)
			}
		}
	}
	return away
}
