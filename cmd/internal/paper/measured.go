package paper

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pfcswitch/cmd/internal/plot"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

var measuredHeadroom = Study{"measured", "this project: nobody has published it",
	"with software peers the standard's headroom loses often, measured seldom, calculated wastes",
	runMeasured}

const (
	measuredLinks = 100 // of all speeds together, unless Options say otherwise
	measuredStops = 20  // of the receiver of a link
)

// A drawnLink is a link to a switch, whose sender is software.
type drawnLink struct {
	speed    int64 // bit/s
	metres   int64
	mtu      int64
	response time.Duration // the least reaction of the sender
	noise    time.Duration // the mean of what a reaction takes longer
	seed     uint64
}

var measuredSpeeds = []int64{1, 10, 25, 40, 100} // Gbit/s

// drawLink draws a link of 1 m to 10 km, whose sender reacts after 0.1 to 10 µs, and in the mean up to three times as
// late. Each power of ten is as likely as the others.
func drawLink(random *rand.Rand, gigabits int64) drawnLink {
	decades := func(from int64, n int) int64 {
		for range random.IntN(n) {
			from *= 10
		}
		return from + random.Int64N(9*from)
	}
	l := drawnLink{speed: gigabits * 1_000_000_000, metres: decades(1, 4),
		mtu: []int64{1500, 4096, 9000}[random.IntN(3)], response: time.Duration(decades(100, 2)), seed: random.Uint64()}
	l.noise = time.Duration(random.Int64N(2 * int64(l.response)))
	l.response = min(l.response, l.call())
	return l
}

// call is how long a send call of the sender lasts at most.
func (l drawnLink) call() time.Duration {
	return time.Duration(8 * headroom.SendLimit(l.speed, l.mtu+18) * 1e9 / l.speed)
}

// inputs are what the formulas know of the link.
func (l drawnLink) inputs() headroom.Inputs {
	return headroom.Inputs{Speed: l.speed, MaxFrame: l.mtu + 18, Delay: time.Duration(l.metres) * 5}
}

// A way is one to find a headroom.
type way struct {
	name    string
	size    func(l drawnLink) string // as the file has it
	measure time.Duration            // for so long before the traffic
}

var measuredWays = [...]way{
	{"standard", func(l drawnLink) string {
		in := l.inputs()
		return fmt.Sprintf("%dB", in.Packing(256, 0).Bytes(headroom.Octets(headroom.Delay(in, macctl.ModePFC).Bits())))
	}, 0},
	{"calculated", func(drawnLink) string { return "calculated" }, 0},
	{"measured", func(drawnLink) string { return "auto" }, 4 * time.Second},
}

// An outcome is what became of a headroom.
type outcome struct {
	size, used int64  // octets of the buffer
	lost       uint64 // frames
}

// unused is the share of the headroom that was never used, in percent; 0 where frames were lost.
func (o outcome) unused() float64 {
	if o.lost > 0 {
		return 0
	}
	return 100 * float64(o.size-o.used) / float64(o.size)
}

// run stops the receiver again and again, for as long as it takes until the sender has stopped.
func (l drawnLink) run(ctx context.Context, w way) (o outcome, err error) {
	const threshold = 64 << 10 // octets, more than the queue holds without headroom
	stop := 2*l.inputs().Delay + l.call() + time.Duration(threshold*8*1e9/l.speed)
	r, err := simulate(ctx, fmt.Sprintf(`name: measured
switches:
  s1:
    preset: roce
    headroom: {small_packets: 0%%, interval: 100ms}
    ports: {in: {burst: %[5]d}}
    buffer: {headroom: %[1]s, private: 0, ring_hold: off, lossless: {size: 32MiB, alpha: 0.0009765625}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:in"], speed: %[2]d, mtu: %[3]d, cable: %[4]dm}
  l2: {ends: [h2, "s1:out"], speed: %[2]d, mtu: %[3]d}
traffic: {flow: {from: h1, to: h2, start: %[6]v, duration: %[7]v}}
faults: {stopped: {storm: h2, start: %[6]v, duration: %[8]v, every: %[9]v}}
`, w.size(l), l.speed, l.mtu, l.metres, 2*(l.mtu+18+24), w.measure, measuredStops*3*stop, stop, 3*stop),
		simulation.Options{Seed: l.seed, Response: l.response, Noise: l.noise, Measure: w.measure > 0})
	if err != nil {
		return outcome{}, err
	}
	for _, p := range r.Ports {
		if p.Port == "in" {
			o = outcome{p.HeadroomSize, p.HeadroomPeak, r.Switches[0].LosslessDrops}
		}
	}
	return o, nil
}

func runMeasured(ctx context.Context, o Options, result *Result) error {
	result.Columns = []string{"Gbit/s", "links", "headroom", "median kB", "links with loss", "frames lost",
		"median unused"}
	result.Remark = "Cables of 1 m to 10 km, frames of 1518 to 9018 octets, senders that react after 0.1 to 10 µs " +
		"and at random up to some times later, each held 20 times by a receiver that stops. Standard is the delay " +
		"value of IEEE 802.1Q with the true cable. Calculated adds a send call of the peer and a burst of two " +
		"frames. Measured is what the probes of both ends have found in 4 s before the traffic. All have room for " +
		"full frames."
	var all [len(measuredWays)][]outcome
	random := rand.New(rand.NewPCG(o.Seed, 0))
	for _, gigabits := range measuredSpeeds {
		var got [len(measuredWays)][]outcome
		for n := range max(1, cmp.Or(o.Links, measuredLinks)/len(measuredSpeeds)) {
			o.Progress(fmt.Sprintf("%dG, link %d", gigabits, n+1))
			l := drawLink(random, gigabits)
			for i, w := range measuredWays {
				v, err := l.run(ctx, w)
				if err != nil {
					return fmt.Errorf("%+v, %s: %w", l, w.name, err)
				}
				got[i] = append(got[i], v)
			}
		}
		for i, w := range measuredWays {
			result.addOutcomes(fmt.Sprint(gigabits), w, got[i])
			all[i] = append(all[i], got[i]...)
		}
	}
	panel := plot.Panel{Title: "headroom that was never used, % of its size, over the links, least first; 0: " +
		"used up, or frames lost", Unit: func(v int64) string { return fmt.Sprintf("%d %%", v) }}
	for at := range int64(101) {
		panel.At = append(panel.At, at)
	}
	for i, w := range measuredWays {
		result.addOutcomes("all", w, all[i])
		slices.SortFunc(all[i], func(a, b outcome) int { return cmp.Compare(a.unused(), b.unused()) })
		line := plot.Series{Name: fmt.Sprintf("%s, loss on %d", w.name, lossy(all[i]))}
		for _, at := range panel.At {
			line.Values = append(line.Values, all[i][int(at)*(len(all[i])-1)/100].unused())
		}
		panel.Lines = append(panel.Lines, line)
	}
	result.panels = append(result.panels, panel)
	return nil
}

// lossy is how many of the links lost frames.
func lossy(of []outcome) (links int) {
	for _, v := range of {
		if v.lost > 0 {
			links++
		}
	}
	return links
}

// addOutcomes adds the row of a way to find a headroom.
func (r *Result) addOutcomes(gigabits string, w way, of []outcome) {
	var sizes []int64
	var unused []float64
	var lost uint64
	for _, v := range of {
		sizes, unused = append(sizes, v.size), append(unused, v.unused())
		lost += v.lost
	}
	slices.Sort(sizes)
	slices.Sort(unused)
	r.add(gigabits, fmt.Sprint(len(of)), w.name, kilo(float64(sizes[len(of)/2])), fmt.Sprint(lossy(of)),
		fmt.Sprint(lost), fmt.Sprintf("%.1f %%", unused[len(of)/2]))
}
