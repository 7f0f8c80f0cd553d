package demo

import (
	"math"
	"math/rand/v2"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// An outcome has the colours of one priority's frames in a trunk.
type outcome struct {
	Offered   uint64 `json:"offered"`
	Green     uint64 `json:"green"`
	Yellow    uint64 `json:"yellow"`
	Red       uint64 `json:"red"`
	Delivered uint64 `json:"delivered"`
}

// An offer is an evenly spaced stream of frames from one member.
type offer struct {
	member   int
	priority uint8
	frames   uint64
	octets   int   // of a frame, without FCS
	elapsed  int64 // time of the load, ns
}

// at is the arrival of frame n, from 0, in ns since the load began; never after the last frame.
func (o *offer) at(n uint64) int64 {
	if n >= o.frames {
		return math.MaxInt64
	}
	return int64(float64(o.elapsed) * float64(n) / float64(o.frames))
}

// meterModel runs the same frames through the same meters under virtual time: speed is the uplink's, in bit/s on the
// wire.
func meterModel(c trunk.AggregatorConfig, offers []offer, speed int64) (all [trunk.NumPriorities]outcome) {
	a := trunk.NewAggregator(c, rand.New(rand.NewPCG(1, 2)).Float64, 0)
	var areas [trunk.NumPriorities]int64
	var queue []offer // what waits for the uplink, one entry a frame
	sent := make([]uint64, len(offers))
	times := make([]int64, len(offers)) // of the frames that come next
	for i := range offers {
		times[i] = offers[i].at(0)
	}
	free := int64(0) // when the uplink has sent what it has begun
	for {
		next, at := -1, int64(math.MaxInt64)
		for i, t := range times {
			if t < at {
				next, at = i, t
			}
		}
		if next < 0 {
			return count(a, offers, all)
		}
		for len(queue) > 0 && free <= at {
			free += int64(frame.WireOctets(queue[0].octets)) * 8 * 1_000_000_000 / speed
			areas[queue[0].priority] -= int64(queue[0].octets + frame.FCSOctets)
			queue = queue[1:]
		}
		free = max(free, at)
		o := offers[next]
		sent[next]++
		times[next] = o.at(sent[next])
		f := trunk.Frame{Member: o.member, Priority: o.priority, Octets: int64(o.octets + frame.FCSOctets),
			Metered: int64(frame.WireOctets(o.octets)), Waiting: areas[o.priority]}
		for _, waiting := range areas {
			f.All += waiting
		}
		if a.Judge(&f, at) == trunk.Pass {
			all[o.priority].Delivered++
			areas[o.priority] += f.Octets
			queue = append(queue, o)
		}
	}
}

func count(a *trunk.Aggregator, offers []offer, all [trunk.NumPriorities]outcome) [trunk.NumPriorities]outcome {
	for _, o := range offers {
		colours := &a.Stats().Colours[o.member][o.priority]
		all[o.priority].Offered += o.frames
		all[o.priority].Green += colours[trunk.Green].Frames
		all[o.priority].Yellow += colours[trunk.Yellow].Frames
		all[o.priority].Red += colours[trunk.Red].Frames
	}
	return all
}

// The frames of the mixed stream, octets with FCS.
const (
	largeFrame = 1522
	smallFrame = 64
)

// overtakenFormula is by how many octets of small frames a large one in second place is overtaken, where a burst of
// frames comes to idle members: ((N-1)·⌊M/K⌋ - 1)·K.
func overtakenFormula(members int64) int64 {
	return ((members-1)*(largeFrame/smallFrame) - 1) * smallFrame
}

// imbalance is how far the member that carried the most or the least is from the mean.
func imbalance[T int64 | uint64](octets []T) (worst float64) {
	var sum float64
	for _, n := range octets {
		sum += float64(n)
	}
	mean := max(1, sum/float64(len(octets)))
	for _, n := range octets {
		worst = max(worst, max(float64(n)-mean, mean-float64(n))/mean)
	}
	return worst
}
