package trunk

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// fixed is a random source that always returns the same number.
func fixed(n float64) func() float64 { return func() float64 { return n } }

// patent is an aggregator for hand-computed sequences: no rate earns anything at time 0.
func patent(change func(c *AggregatorConfig), random float64) *Aggregator {
	c := AggregatorConfig{Members: 2, Metered: true, Lossless: 1 << 3,
		Total: MeterConfig{CIR: 1000, PIR: 2000, CBS: 3000, PBS: 5000}}
	for p := range c.Meters {
		c.Meters[p] = MeterConfig{CIR: 100, PIR: 200, CBS: 1000, PBS: 2500}
		c.RED[p] = REDConfig{Low: 100, High: 1000, Probability: 0.5}
	}
	c.RED[3] = REDConfig{}
	c.TotalRED = REDConfig{Low: 2000, High: 9000, Probability: 0.5}
	if change != nil {
		change(&c)
	}
	return NewAggregator(c, fixed(random), 0)
}

func TestJudgeInThePatentsOrder(t *testing.T) {
	type step struct {
		f               Frame
		want            Verdict
		committed, peak int64 // what the total's buckets hold then
	}
	prio := func(p uint8, octets int64) Frame { return Frame{Priority: p, Octets: octets, Metered: octets} }
	queued := func(p uint8, octets, waiting, all int64) Frame {
		return Frame{Priority: p, Octets: octets, Metered: octets, Waiting: waiting, All: all}
	}
	for name, tt := range map[string]struct {
		change func(c *AggregatorConfig)
		random float64
		steps  []step
	}{
		"own green takes from the total untested, down to -PBS": {nil, 0.9, []step{
			{prio(0, 1000), Pass, 2000, 4000}, {prio(1, 1000), Pass, 1000, 3000}, {prio(2, 1000), Pass, 0, 2000},
			{prio(4, 1000), Pass, -1000, 1000}, {prio(5, 1000), Pass, -2000, 0}, {prio(6, 1000), Pass, -3000, -1000},
		}},
		"own yellow: the total green, then yellow, then red": {nil, 0.9, []step{
			{prio(0, 1001), Pass, 1999, 3999},
			{prio(1, 1999), Pass, 0, 2000},
			{prio(2, 1500), Pass, 0, 500}, // the total's yellow, its RED keeps: nothing waits
			{prio(4, 1500), DropMeterRed, 0, 500},
			// its own bucket is charged before the total's; green passes all the same
			{prio(4, 1000), Pass, -1000, -500},
		}},
		"own red is dropped and takes nothing": {nil, 0.9, []step{
			{prio(0, 2501), DropMeterRed, 3000, 5000},
			{prio(0, 2499), Pass, 501, 2501},
			{prio(0, 1), Pass, 500, 2500}, // the committed bucket of its own meter is whole: nothing of it was yellow's
		}},
		"RED of the priority is asked of yellow, before the total": {nil, 0.4, []step{
			{queued(0, 1000, 1<<30, 1<<30), Pass, 2000, 4000}, // green is not asked
			{queued(0, 500, 100, 0), DropRED, 2000, 4000},
			{queued(0, 500, 99, 0), Pass, 1500, 3500},
			{queued(1, 1001, 1001, 0), DropRED, 1500, 3500},
		}},
		"RED of the total is asked of its yellow": {nil, 0.4, []step{
			{queued(0, 2500, 0, 5000), Pass, 500, 2500}, // the total's green
			{queued(1, 1001, 0, 1999), Pass, 500, 1499},
			{queued(2, 1001, 0, 2000), DropRED, 500, 498},
		}},
		"a lossless priority is never dropped, and always takes": {nil, 0, []step{
			{queued(3, 1000, 1<<30, 1<<30), Pass, 2000, 4000},
			{queued(3, 1001, 1<<30, 1<<30), Pass, 999, 2999},
			{queued(3, 60_000, 1<<30, 1<<30), Pass, -5000, -5000},
		}},
		"members no faster than the uplink: nothing is asked": {func(c *AggregatorConfig) { c.Metered = false }, 0,
			[]step{{queued(0, 60_000, 1<<30, 1<<30), Pass, 3000, 5000}}},
		"colour-aware": {nil, 0.9, []step{
			{Frame{Octets: 500, Metered: 500, Colour: Yellow}, Pass, 3000, 4500}, // yellow for both meters
			{Frame{Octets: 500, Metered: 500, Colour: Red}, DropMeterRed, 3000, 4500},
			{Frame{Octets: 500, Metered: 500, Colour: Green}, Pass, 2500, 4000},
		}},
	} {
		a := patent(tt.change, tt.random)
		for i, s := range tt.steps {
			got := a.Judge(&s.f, 0)
			if committed, peak := a.total.tokens(0); got != s.want || committed != s.committed || peak != s.peak {
				t.Errorf("%s: frame %d:\n got %v, the total holds %d and %d\nwant %v, %d and %d", name, i, got,
					committed, peak, s.want, s.committed, s.peak)
			}
		}
	}
}

// Metered octets may differ from counted ones: octets on the wire, or those of the IP packet. A lossless frame passes
// whatever its colour, even if its priority is lossy elsewhere in the switch.
func TestJudgePassesLosslessFrames(t *testing.T) {
	a := patent(nil, 0)
	f := Frame{Priority: 4, Octets: 9000, Metered: 9000, Waiting: 500, Lossless: true}
	for i := range 5 {
		assert.Equal(t, a.Judge(&f, 0), Pass, "frame %d", i)
	}
	f.Lossless = false
	assert.Equal(t, a.Judge(&f, 0), DropMeterRed, "the same frame, lossy")
}

func TestJudgeMetersOtherOctets(t *testing.T) {
	a := patent(nil, 0.9)
	assert.Equal(t, a.Judge(&Frame{Octets: 64, Metered: 2501}, 0), DropMeterRed, "verdict")
	assert.Equal(t, a.Stats().MeterRed[0], Tally{1, 64}, "counted")
}

// Every frame is counted once by its own colour, and either passes or counts as one kind of drop. In no interval does
// more of a lossy priority pass than its peak rate and burst allow.
func TestJudgeConservesFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := AggregatorConfig{Members: 3, Metered: true, Lossless: rapid.Uint8().Draw(t, "lossless"),
			Total: drawProfile(t)}
		for p := range c.Meters {
			c.Meters[p] = drawProfile(t)
			if c.Lossless>>p&1 == 0 {
				c.RED[p] = REDConfig{Low: 1000, High: 5000, Probability: 0.3,
					Averaged: rapid.Bool().Draw(t, "averaged"), TypicalNs: 1000}
			}
		}
		c.TotalRED = REDConfig{Low: 1000, High: 20_000, Probability: 0.3}
		a := NewAggregator(c, xorshift(rapid.Uint64Range(1, 1<<60).Draw(t, "seed")), 0)
		var offered, passed [NumPriorities]float64
		verdicts, now := map[Verdict]uint64{}, int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "frames") {
			now += rapid.Int64Range(0, 100_000).Draw(t, "ns")
			f := Frame{Member: rapid.IntRange(0, 2).Draw(t, "member"),
				Priority: rapid.Uint8Range(0, 7).Draw(t, "priority"),
				Octets:   rapid.Int64Range(64, 1522).Draw(t, "octets"),
				Waiting:  rapid.Int64Range(0, 6000).Draw(t, "waiting"), All: 15_000}
			f.Metered = f.Octets + 20
			v := a.Judge(&f, now)
			verdicts[v]++
			offered[f.Priority]++
			if v == Pass {
				passed[f.Priority] += float64(f.Metered)
			}
			lossless := c.Lossless>>f.Priority&1 == 1
			assert.MustBeTrue(t, !lossless || v == Pass,
				"a frame of lossless priority %d was dropped: %v", f.Priority, v)
			m := c.Meters[f.Priority]
			limit := float64(m.PIR)/8e9*float64(now) + float64(m.PBS)
			assert.MustBeTrue(t, lossless || passed[f.Priority] <= limit*(1+1e-12),
				"priority %d: %.0f octets passed by %d ns, limit %.0f", f.Priority, passed[f.Priority], now, limit)
		}
		wantCounted(t, a.Stats(), offered, verdicts)
	})
}

func wantCounted(t *rapid.T, s *AggregatorStats, offered [NumPriorities]float64, verdicts map[Verdict]uint64) {
	var red, random uint64
	for p := range offered {
		var n uint64
		for m := range s.Colours {
			for _, tally := range s.Colours[m][p] {
				n += tally.Frames
			}
		}
		assert.MustBeTrue(t, float64(n) == offered[p], "priority %d: %d frames coloured of %.0f", p, n, offered[p])
		red += s.MeterRed[p].Frames
		random += s.RED[p].Frames
	}
	if random += s.TotalRED.Frames; red != verdicts[DropMeterRed] || random != verdicts[DropRED] {
		t.Fatalf("%d red and %d at random, want %v", red, random, verdicts)
	}
}

// The same frames, times and random numbers lead to the same verdicts.
func TestJudgeIsDeterministic(t *testing.T) {
	run := func() (all []Verdict) {
		a := overloaded(true)
		for i := range 5000 {
			f := Frame{Member: i % 3, Priority: uint8(i % 8), Octets: 1518, Metered: 1538,
				Waiting: int64(i % 977 * 2000), All: int64(i * 100)}
			all = append(all, a.Judge(&f, int64(i)*7000))
		}
		return all
	}
	first, second := run(), run()
	assert.True(t, slices.Equal(first, second), "%v\nand then %v", first, second)
}

func TestArbiterTakesOneOfEach(t *testing.T) {
	var a Arbiter
	for i, tt := range []struct {
		waiting uint64
		want    int
	}{
		{0, -1}, {0b111, 0}, {0b111, 1}, {0b111, 2}, {0b111, 0}, {0b101, 2}, {0b100, 2}, {0b110, 1}, {0b011, 0},
		{1 << 63, 63}, {1<<63 | 1, 0},
	} {
		assert.MustEqual(t, a.Next(tt.waiting), tt.want, "step %d: member", i)
	}
}
