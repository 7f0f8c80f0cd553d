package trunk

import "testing"

// xorshift is a source of chance that allocates nothing (Marsaglia 2003).
func xorshift(seed uint64) func() float64 {
	return func() float64 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return float64(seed>>11) / (1 << 53)
	}
}

// overloaded is an aggregator that asks everything it has of most frames: own meter, RED, the total's meter, its RED.
func overloaded(averaged bool) *Aggregator {
	c := AggregatorConfig{Members: 3, Metered: true, Total: MeterConfig{CIR: 1e6, PIR: 2e9, CBS: 1 << 16, PBS: 1 << 28}}
	for p := range c.Meters {
		c.Meters[p] = MeterConfig{CIR: 1e6, PIR: 4e9, CBS: 1 << 16, PBS: 1 << 28}
		c.RED[p] = REDConfig{Low: 1, High: 1 << 20, Probability: 0.1, Averaged: averaged, TypicalNs: 1000}
	}
	c.TotalRED = c.RED[0]
	return NewAggregator(c, xorshift(1), 0)
}

// What the trunk decides on a frame: the house's bound is 60 ns without allocation.
func BenchmarkJudge(b *testing.B) {
	for name, averaged := range map[string]bool{"instantaneous": false, "averaged": true} {
		b.Run(name, func(b *testing.B) {
			a, now := overloaded(averaged), int64(0)
			f := Frame{Octets: 1518, Metered: 1538, Waiting: 100_000, All: 200_000}
			b.ReportAllocs()
			for b.Loop() {
				now += 1000
				f.Priority = (f.Priority + 1) & 7
				a.Judge(&f, now)
			}
		})
	}
}

func BenchmarkChoose(b *testing.B) {
	held := []int64{1518, 64, 128, 3000}
	for name, byFlow := range map[string]bool{"least filled": false, "by flow": true} {
		b.Run(name, func(b *testing.B) {
			d, flow := Distributor{ByFlow: byFlow}, uint64(1)
			b.ReportAllocs()
			for b.Loop() {
				flow++
				d.Chosen(d.Choose(held, 0b1111, flow), len(held))
			}
		})
	}
}

func TestJudgeAllocatesNothing(t *testing.T) {
	a, f := overloaded(true), Frame{Octets: 1518, Metered: 1538, Waiting: 1000, All: 2000}
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 1000
		a.Judge(&f, now)
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
