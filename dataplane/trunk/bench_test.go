package trunk

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// xorshift is a source of random numbers that allocates nothing (Marsaglia 2003).
func xorshift(seed uint64) func() float64 {
	return func() float64 {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return float64(seed>>11) / (1 << 53)
	}
}

// overloaded is an aggregator most of whose frames meet everything: own meter, RED, the total's meter, its RED. Frames
// of 1538 octets may come every 10 µs and stay yellow.
func overloaded(averaged bool) *Aggregator {
	c := AggregatorConfig{Members: 3, Metered: true, Total: MeterConfig{CIR: 1e6, PIR: 2e9, CBS: 1 << 16, PBS: 1 << 28}}
	for p := range c.Meters {
		c.Meters[p] = MeterConfig{CIR: 1e6, PIR: 4e9, CBS: 1 << 16, PBS: 1 << 28}
		c.RED[p] = REDConfig{Low: 1, High: 1 << 20, Probability: 0.1, Averaged: averaged, TypicalNs: 1000}
	}
	c.TotalRED = c.RED[0]
	return NewAggregator(c, xorshift(1), 0)
}

// The trunk's decision on a frame with both meters and both RED should take at most 60 ns, without allocation.
func BenchmarkJudge(b *testing.B) {
	for name, tt := range map[string]struct {
		averaged bool
		// nothing waits before every other frame, so that the average falls by the idle time, which takes a power
		idle bool
	}{"instantaneous": {false, false}, "averaged": {true, false}, "averaged, idle": {true, true}} {
		b.Run(name, func(b *testing.B) {
			a, now := overloaded(tt.averaged), int64(0)
			f := Frame{Octets: 1518, Metered: 1538, Waiting: 100_000, All: 200_000}
			b.ReportAllocs()
			for b.Loop() {
				now += 10_000
				f.Priority = (f.Priority + 1) & 7
				if tt.idle {
					f.Waiting = 100_000 - f.Waiting
					f.All = 2 * f.Waiting
				}
				a.Judge(&f, now)
			}
			wantAllAsked(b, a, b.N)
		})
	}
}

// wantAllAsked fails unless most frames reached the total's RED, that is were yellow by the total's meter.
func wantAllAsked(tb testing.TB, a *Aggregator, frames int) {
	tb.Helper()
	if asked := a.Stats().Total[Yellow].Frames; frames > 10_000 && asked < uint64(frames)*8/10 {
		tb.Errorf("the total's RED was asked of %d of %d frames", asked, frames)
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
	now, frames := int64(0), 0
	n := testing.AllocsPerRun(20_000, func() {
		now += 10_000
		frames++
		a.Judge(&f, now)
	})
	assert.True(t, n == 0, "%v allocations a frame", n)
	wantAllAsked(t, a, frames)
}
