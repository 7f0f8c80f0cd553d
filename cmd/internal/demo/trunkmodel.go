package demo

import (
	"math"
	"math/rand/v2"

	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// An outcome is how frames of one priority fared in a trunk.
type outcome struct {
	Offered   uint64 `json:"offered"`
	Green     uint64 `json:"green"`
	Yellow    uint64 `json:"yellow"`
	Red       uint64 `json:"red"`
	Delivered uint64 `json:"delivered"`
}

// An offer is a stream of frames that comes by one member, evenly spaced over the time in which its sender does not stand still.
type offer struct {
	member   int
	priority uint8
	frames   uint64
	octets   int             // of a frame, without FCS
	elapsed  int64           // time of the load, ns
	stalls   []traffic.Stall // by time
}

// at is when the frame comes that n others came before, ns since the load began; never where there are no more.
func (o *offer) at(n uint64) int64 {
	if n >= o.frames {
		return math.MaxInt64
	}
	running := o.elapsed
	for _, s := range o.stalls {
		running -= s.Time
	}
	t := int64(float64(running) * float64(n) / float64(o.frames))
	for _, s := range o.stalls {
		if t < s.At {
			break
		}
		t += s.Time
	}
	return t
}

// meterModel runs the same frames through the same meters under virtual time: speed is the uplink's, in bit/s on the wire.
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
		f := trunk.Frame{Member: o.member, Priority: o.priority, Octets: int64(o.octets + frame.FCSOctets), Metered: int64(frame.WireOctets(o.octets)),
			Waiting: areas[o.priority]}
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

// overtakenModel is by how many octets of small frames a large one in second place is overtaken, where a burst of frames comes
// to idle members. Lines send octets with FCS, as areas count them: without preamble and gap.
func overtakenModel(members int) (octets int64) {
	lines := newLines(members)
	var done int64
	for i := range 10 * largeFrame {
		if i == 1 {
			done = lines.send(largeFrame, 0)
		} else if left := lines.send(smallFrame, 0); i > 1 && left < done {
			octets += smallFrame
		}
	}
	return octets
}

// overtakenFormula is the same by formula: ((N-1)·⌊M/K⌋ - 1)·K.
func overtakenFormula(members int64) int64 {
	return ((members-1)*(largeFrame/smallFrame) - 1) * smallFrame
}

// balanceModel distributes a random mixed stream, at a share of what the members carry together, and returns what each of them
// has sent, in octets.
func balanceModel(members, frames int, load float64) []int64 {
	lines := newLines(members)
	chance := rand.New(rand.NewPCG(3, 4))
	var offered float64
	for range frames {
		n := int64(smallFrame)
		if chance.IntN(2) == 0 {
			n = largeFrame
		}
		lines.send(n, int64(offered/load/float64(members)))
		offered += float64(n)
	}
	return lines.octets
}

// lines are members that send what the distributor gives them. Time is counted in octets.
type lines struct {
	d      trunk.Distributor
	free   []int64 // when each has sent all that it has
	held   []int64
	octets []int64
	queues [][][2]int64 // of each, frames that wait: when they will have left, and their octets
}

func newLines(members int) *lines {
	return &lines{free: make([]int64, members), held: make([]int64, members), octets: make([]int64, members), queues: make([][][2]int64, members)}
}

// send distributes a frame at time now and returns when it will have left.
func (l *lines) send(octets, now int64) (left int64) {
	for m, q := range l.queues {
		for len(q) > 0 && q[0][0] <= now {
			l.held[m] -= q[0][1]
			q = q[1:]
		}
		l.queues[m] = q
	}
	m := l.d.Choose(l.held, 1<<len(l.held)-1, 0)
	l.d.Chosen(m, len(l.held))
	l.free[m] = max(l.free[m], now) + octets
	l.held[m] += octets
	l.octets[m] += octets
	l.queues[m] = append(l.queues[m], [2]int64{l.free[m], octets})
	return l.free[m]
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
