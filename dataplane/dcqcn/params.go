package dcqcn

// Params are the values of notification and reaction points.
type Params struct {
	Interval int64 // ns: least time between two CNPs of a flow, N
	Decay    int64 // ns without a CNP after which α falls, K; more than Interval
	Timer    int64 // ns: a round of the timer, T
	Octets   int64 // a round of the byte counter, B
	Additive int64 // bit/s that the target gains in a round of additive increase, R_AI
	Hyper    int64 // bit/s, of hyper increase, R_HAI
	Least    int64 // bit/s, below which no rate is cut
}

// Priority is that of CNPs, and DSCP their codepoint, as RoCE networks have them.
const (
	Priority = 6
	DSCP     = 48
)

// published are the values for links of 40 Gbit/s. N, K, R_AI and R_HAI stand in config.txt of the authors' simulator
// (github.com/bobzhuyb/ns3-rdma), as do g and F. T and B are those of the paper's testbed. Least is our own: 4,000
// flows at it fill the link. The simulator's is 100 Mbit/s, and some of its rules differ: see sim/README.md.
var published = Params{Interval: 50_000, Decay: 55_000, Timer: 55_000, Octets: 10_000_000, Additive: 40_000_000,
	Hyper: 200_000_000, Least: 10_000_000}

const (
	publishedSpeed = 40_000_000_000 // bit/s
	gainShift      = 8              // g = 1/256
	fastRounds     = 5              // F, section 3.1: rounds of fast recovery
)

// For returns the values for links of a speed in bit/s; below 1000 it counts as 1000. Rates are the same shares of the
// link as the published ones. On a slower link times are longer, so that as many octets pass in them: all then happens
// as at 40 Gbit/s, only slower. On a faster link times stay, since the delay of the way does, and more octets pass.
func For(speed int64) Params {
	p := published
	speed = max(speed, 1000)
	for _, rate := range []*int64{&p.Additive, &p.Hyper, &p.Least} {
		*rate = max(1, speed/(publishedSpeed / *rate))
	}
	if speed > publishedSpeed {
		p.Octets = speed / 1000 * (p.Octets / 1000) / (publishedSpeed / 1_000_000)
		return p
	}
	for _, time := range []*int64{&p.Interval, &p.Decay, &p.Timer} {
		*time = *time * (publishedSpeed / 1000) / (speed / 1000)
	}
	return p
}
