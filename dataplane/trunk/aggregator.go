package trunk

// An AggregatorConfig says how frames of members are metered on their way to the uplink.
type AggregatorConfig struct {
	Members int
	// Metered is set if the members together are faster than the uplink. Without it every frame passes.
	Metered  bool
	Lossless uint8 // priorities that are coloured and counted, and never dropped; bit n = priority n
	Meters   [NumPriorities]MeterConfig
	Total    MeterConfig // of all priorities together
	RED      [NumPriorities]REDConfig
	TotalRED REDConfig
}

// A Verdict is the decision on a frame.
type Verdict uint8

// The verdicts.
const (
	Pass         Verdict = iota
	DropRED              // dropped by random early discard, of its priority or of the total
	DropMeterRed         // red by its own meter or by the total's
)

// A Frame is what the aggregator needs to know of a frame.
type Frame struct {
	Member   int
	Priority uint8
	Octets   int64  // with FCS: what the frame adds to a load
	Metered  int64  // octets that count for the meters
	Colour   Colour // the colour on arrival; Green if the trunk is colour-blind
	Lossless bool   // never dropped, whatever its colour
	Waiting  int64  // octets that wait in the area of its priority
	All      int64  // octets that wait in all areas
}

// An Aggregator decides on the frames of a trunk's members, in the order of the arbiter: first by the meter of the
// frame's priority (own), then by the total's.
//
//	own green    passes, and takes its octets from both of the total's buckets unconditionally
//	own yellow   RED of its priority may drop it; otherwise the total's meter decides: green passes, red is dropped,
//	             and the total's RED may drop yellow
//	own red      is dropped
//
// A frame of a lossless priority always passes, and always takes its octets from the total. An Aggregator is not safe
// for concurrent use.
type Aggregator struct {
	config AggregatorConfig
	meters [NumPriorities]Meter
	total  Meter
	red    [NumPriorities]RED
	all    RED
	random func() float64
	stats  AggregatorStats
}

// A Tally is a number of frames and their octets with FCS.
type Tally struct{ Frames, Octets uint64 }

// AggregatorStats only grow.
type AggregatorStats struct {
	// Colours are frames by member, priority and colour of their own meter. Without meters every frame is green.
	Colours [][NumPriorities][NumColours]Tally
	Total   [NumColours]Tally // frames metered by the total's meter, by its colour
	// RED are frames that random early discard dropped, by priority; TotalRED are those that the total's did.
	RED      [NumPriorities]Tally
	TotalRED Tally
	// MeterRed are frames that were dropped for being red, by priority, whichever meter coloured them.
	MeterRed [NumPriorities]Tally
}

// NewAggregator returns an aggregator whose buckets are full at time now. random returns numbers from 0 up to, not
// including, 1.
func NewAggregator(c AggregatorConfig, random func() float64, now int64) *Aggregator {
	a := &Aggregator{config: c, random: random, total: NewMeter(c.Total, now), all: NewRED(c.TotalRED, now)}
	for p := range a.meters {
		a.meters[p] = NewMeter(c.Meters[p], now)
		a.red[p] = NewRED(c.RED[p], now)
	}
	a.stats.Colours = make([][NumPriorities][NumColours]Tally, c.Members)
	return a
}

// Configure changes the configuration except the number of members. Buckets and averages stay.
func (a *Aggregator) Configure(c AggregatorConfig, now int64) {
	c.Members = a.config.Members
	a.config = c
	a.total.Configure(c.Total, now)
	a.all.Configure(c.TotalRED)
	for p := range a.meters {
		a.meters[p].Configure(c.Meters[p], now)
		a.red[p].Configure(c.RED[p])
	}
}

// Judge decides on a frame at time now.
func (a *Aggregator) Judge(f *Frame, now int64) Verdict {
	p := f.Priority & 7
	if !a.config.Metered {
		a.stats.Colours[f.Member][p][Green].add(f.Octets)
		return Pass
	}
	a.red[p].Observe(f.Waiting, now)
	a.all.Observe(f.All, now)
	colour := a.meters[p].Colour(f.Metered, f.Colour, now)
	a.stats.Colours[f.Member][p][colour].add(f.Octets)
	switch {
	case colour == Green || f.Lossless || a.config.Lossless&(1<<p) != 0:
		a.total.Take(f.Metered, now)
		return Pass
	case colour == Red:
		return a.dropRed(p, f)
	case a.red[p].Drops(f.Waiting, a.random):
		a.stats.RED[p].add(f.Octets)
		return DropRED
	}
	return a.judgeTotal(p, f, now)
}

// Emptied says that the last frame left the area of a priority at time now. all means that the other areas are empty
// too.
func (a *Aggregator) Emptied(priority uint8, all bool, now int64) {
	a.red[priority&7].Emptied(now)
	if all {
		a.all.Emptied(now)
	}
}

// judgeTotal decides on a frame that its own meter coloured yellow.
func (a *Aggregator) judgeTotal(p uint8, f *Frame, now int64) Verdict {
	colour := a.total.Colour(f.Metered, f.Colour, now)
	a.stats.Total[colour].add(f.Octets)
	switch {
	case colour == Green:
		return Pass
	case colour == Red:
		return a.dropRed(p, f)
	case a.all.Drops(f.All, a.random):
		a.stats.TotalRED.add(f.Octets)
		return DropRED
	}
	return Pass
}

func (a *Aggregator) dropRed(p uint8, f *Frame) Verdict {
	a.stats.MeterRed[p].add(f.Octets)
	return DropMeterRed
}

// Stats returns the counters. Colours belongs to the aggregator: the caller copies it and does not keep it.
func (a *Aggregator) Stats() *AggregatorStats { return &a.stats }

func (t *Tally) add(octets int64) {
	t.Frames++
	t.Octets += uint64(octets)
}
