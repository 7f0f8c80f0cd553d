package labrun

import (
	"context"
	"fmt"
	"math"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
)

// leastSpeed is the speed in bit/s below which no link is scaled: a full frame then takes 12 ms.
const leastSpeed = 1_000_000

// calibrate scales all speeds and rates so that the traffic has no more frame-hops in a second than the machine carries
// now in demo incast. It takes two seconds.
func (r *run) calibrate(ctx context.Context, file string) error {
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
		return fmt.Errorf("%s: the traffic has %.0f frame-hops a second, and this machine carries %.0f now: the "+
			"slowest link would have less than 1 Mbit/s: end other programs, or write fewer flows or lower rates",
			file, wanted, carried)
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
	for i := range r.plan.Flows {
		f := &r.plan.Flows[i]
		share := min(1, float64(r.plan.Ports[f.From].Speed)/from[f.From])
		if f.Lossless {
			share = min(share, float64(r.plan.Ports[f.To].Speed)/to[f.To])
		}
		sum += share * r.asked(i) / float64(8*(f.Octets+24)) * float64(hops(r.topology, f.From, f.To))
	}
	return sum
}

// asked is the rate in bit/s of flow i.
func (r *run) asked(i int) float64 {
	f := &r.plan.Flows[i]
	switch speed := float64(r.plan.Ports[f.From].Speed); {
	case f.Size > 0:
		return min(speed, float64(8*f.Size)/r.length.Seconds())
	case f.Rate > 0:
		return float64(f.Rate)
	default:
		return speed
	}
}

// hops is how many links lie between two hosts on a shortest way.
func hops(t *config.Topology, from, to string) int {
	reached, last := map[string]bool{from: true}, []string{from}
	for n := 1; len(last) > 0; n++ {
		var next []string
		for _, node := range last {
			for i := range t.Links {
				for k, end := range t.Links[i].Ends {
					other := t.Links[i].Ends[1-k].Node
					if end.Node != node || reached[other] {
						continue
					}
					if other == to {
						return n
					}
					reached[other], next = true, append(next, other)
				}
			}
		}
		last = next
	}
	return 1 // the plan has found a way
}
