package simulation

import (
	_ "embed"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sim"
)

//go:embed sizes.txt
var sizesFile string

// A distribution is points of a cumulative distribution of flow sizes, which rises evenly between them.
type distribution []struct{ octets, millionths int64 }

// whole is the share of all flows.
const whole = 1_000_000

// distributionOf returns the distribution with a name, one of config.Distributions.
func distributionOf(name string) (d distribution) {
	for line := range strings.Lines(sizesFile) {
		var of string
		var octets, millionths int64
		if n, _ := fmt.Sscan(line, &of, &octets, &millionths); n == 3 && of == name {
			d = append(d, struct{ octets, millionths int64 }{octets, millionths})
		}
	}
	return d
}

// draw returns a size for a random number.
func (d distribution) draw(r uint64) int64 {
	at := int64(r % whole)
	for i := 1; i < len(d); i++ {
		if a, b := d[i-1], d[i]; at < b.millionths {
			return a.octets + (b.octets-a.octets)*(at-a.millionths)/(b.millionths-a.millionths)
		}
	}
	return d[len(d)-1].octets
}

func (d distribution) mean() (octets int64) {
	for i := 1; i < len(d); i++ {
		octets += (d[i].octets + d[i-1].octets) / 2 * (d[i].millionths - d[i-1].millionths)
	}
	return octets / whole
}

// exponential returns an exponentially distributed number with a mean of 1<<32 for a random number: its negative
// logarithm. It counts in integers, so that all machines get the same.
func exponential(r uint64) uint64 {
	r |= 1
	zeros := bits.LeadingZeros64(r)
	x, fraction := r<<zeros, uint64(0) // x/2^63, in [1, 2), and its binary logarithm, bit by bit
	for range 32 {
		high, _ := bits.Mul64(x, x)
		fraction <<= 1
		if x = high << 1; high>>63 != 0 {
			fraction, x = fraction|1, high
		}
	}
	const ln2 = 2977044472 // · 2^32
	high, low := bits.Mul64(uint64(zeros+1)<<32-fraction, ln2)
	return high<<32 | low>>32
}

// times returns a·b/2^32.
func times(a, b uint64) int64 {
	high, low := bits.Mul64(a, b)
	return int64(high<<32 | low>>32)
}

// payload is what a frame carries of so many octets: all but its header with tag.
const headers = frame.HeaderOctets + frame.TagOctets

func payload(octets int) int64 { return int64(octets - headers) }

// mostFlows bounds the flows of an entry with poisson and of those before it.
const mostFlows = 1 << 20

func (f *fabric) tooManyFlows(t *config.LabTraffic) error {
	return f.topology.Errorf("traffic."+t.Name, "more than %d flows: write a shorter duration or a smaller load",
		mostFlows)
}

// gap is the mean time between two flows of a host, in ns.
func (f *fabric) gap(t *config.LabTraffic, d distribution, from string) float64 {
	mean := d.mean() * int64(frame.WireOctets(t.Octets)) / payload(t.Octets)
	return float64(mean*8) * 1e9 / (float64(f.speeds[from]) * t.Load)
}

// addPoisson adds the flows of an entry with poisson: each host of From begins flows at random times, each to a random
// host of To.
func (f *fabric) addPoisson(entry int, t *config.LabTraffic) error {
	d := distributionOf(t.Poisson)
	random := rand.New(rand.NewPCG(f.seed, 1<<32+uint64(entry)))
	for _, from := range t.From {
		gap := uint64(f.gap(t, d, from)) // rounded: every machine does it alike
		for at := int64(0); ; {
			if at += times(exponential(random.Uint64()), gap); at >= int64(t.Duration) {
				break
			}
			to := t.To[random.IntN(len(t.To))]
			size := d.draw(random.Uint64())
			if to == from {
				continue
			}
			if len(f.flows) > mostFlows {
				return f.tooManyFlows(t)
			}
			if err := f.addFlow(t, from, to, int64(t.Start)+at, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFlow adds a flow of so many payload octets; 0: until the entry ends. Its frames have equal length.
func (f *fabric) addFlow(t *config.LabTraffic, from, to string, start, size int64) error {
	c := sim.FlowConfig{From: f.hosts[from], To: f.hosts[to], Priority: t.Priority, Octets: t.Octets, Rate: t.Rate,
		Start: start, Stop: int64(t.Start + t.Duration), DCQCN: t.DCQCN, TTL: t.TTL}
	if size > 0 {
		frames := (size + payload(t.Octets) - 1) / payload(t.Octets)
		c.Frames = uint64(frames)
		c.Octets = max(sim.MinOctets, headers+int((size+frames-1)/frames))
	}
	if t.Window > 0 {
		c.Window = uint64(max(1, t.Window/payload(c.Octets)))
	}
	if err := f.AddFlow(c); err != nil {
		return f.topology.Errorf("traffic."+t.Name, "%v: correct it", err)
	}
	f.flows = append(f.flows, labFlow{LabTraffic: t, from: from, to: to, size: size})
	return nil
}
