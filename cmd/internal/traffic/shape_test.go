package traffic

import (
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// oneFlow is a configuration with a port of 200 Mbit/s and one flow of a shape.
func oneFlow(rate int64, shape Shape) SendConfig {
	c := twoFlows()
	c.Flows = []Flow{{Priority: 3, Octets: 1514, Weight: 1, Rate: rate, Shape: shape}}
	return c
}

// A flow that is on and off sends in the times in which it is on, from its start, and nothing else; what it was silent
// in is not behind.
func TestOnOff(t *testing.T) {
	const ms = int64(time.Millisecond)
	c := oneFlow(0, Shape{On: 10 * time.Millisecond, Off: 30 * time.Millisecond})
	c.Flows[0].After = 5 * time.Millisecond
	s := &sender{c: &c}
	s.source, s.flows = newTestSource(c)
	f := s.flows[0]
	for _, tt := range []struct {
		until int64
		sends bool
	}{{5 * ms, false}, {15 * ms, true}, {45 * ms, false}, {55 * ms, true}, {85 * ms, false}, {95 * ms, true}} {
		before := f.sent
		run(s.source, tt.until-10*ms+1, tt.until-1) // the last 10 ms before
		// 10 ms at 200 Mbit/s are 162 frames, and the bucket holds 8
		if n := f.sent - before; tt.sends != (n > 150) || !tt.sends && n > 0 || n > 172 {
			t.Errorf("in the 10 ms before %d ms: %d frames, it sends: %v", tt.until/ms, n, tt.sends)
		}
	}
	s.endLoad(95 * ms)
	got := s.behind()
	assert.True(t, got <= 0.05, "behind %.3f, want about 0", got)
}

// A flow in bursts with a rate has that rate in each burst, and one frame at once: pauses and silence earn nothing.
func TestBurstsKeepTheirRate(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, controlled := range []bool{false, true} {
		c := oneFlow(50_000_000, Shape{On: 10 * time.Millisecond, Off: 30 * time.Millisecond})
		c.Flows[0].DCQCN = controlled
		s := &sender{c: &c}
		s.source, s.flows = newTestSource(c)
		f := s.flows[0]
		for begins := int64(0); begins < 200*ms; begins += 40 * ms {
			before := f.octets + frame.WireExtras*f.sent
			held := begins % (80 * ms) / 10 // 0 or 4 ms
			run(s.source, begins, begins+10*ms-held)
			if held > 0 {
				pause(s.source, 1<<3, math.MaxUint16, begins+10*ms-held)
				run(s.source, begins+10*ms-held, begins+10*ms)
				pause(s.source, 1<<3, 0, begins+10*ms)
			}
			run(s.source, begins+10*ms, begins+40*ms)
			bits := int64(f.octets+frame.WireExtras*f.sent-before) * 8
			if most := 50_000*(10*ms-held)/ms + 1538*8; bits > most || bits < most-2*1538*8 {
				t.Errorf("DCQCN %v: %d bits in the burst at %d ms, want up to %d", controlled, bits, begins/ms, most)
			}
		}
		s.endLoad(200 * ms)
		got := s.behind() // of 50 ms that it was on, two times 4 paused
		assert.True(t, got <= 0.2, "DCQCN %v: behind %.3f", controlled, got)
	}
}

// Arrivals at random that a pause held come at most for the last maxCatchUp, and the frame that waited.
func TestPoissonCatchesUpInBounds(t *testing.T) {
	const ms = int64(time.Millisecond)
	s, flows := newTestSource(oneFlow(50_000_000, Shape{Poisson: true}))
	run(s, 0, 10*ms)
	before := flows[0].sent
	pause(s, 1<<3, math.MaxUint16, 10*ms) // 168 ms
	run(s, 10*ms, 100*ms)
	pause(s, 1<<3, 0, 100*ms)
	run(s, 100*ms, 101*ms)
	n := flows[0].sent - before // 3 ms have 12 on average
	assert.True(t, n >= 1 && n <= 30, "%d frames after a pause of 90 ms", n)
}

// Arrivals at random have the rate as their mean, and as much spread as exponential times have.
func TestPoisson(t *testing.T) {
	const rate = 50_000_000
	s, flows := newTestSource(oneFlow(rate, Shape{Poisson: true}))
	f := flows[0]
	var gaps []float64
	before := uint64(0)
	last := int64(0)
	for now := int64(0); now < int64(4*time.Second); {
		if n := s.next(now); n > 0 {
			s.sent(n)
			continue
		}
		if f.sent > before {
			gaps = append(gaps, float64(f.arrivals.last-last)/float64(f.sent-before))
			before, last = f.sent, f.arrivals.last
		}
		now = max(now+1, s.retry)
	}
	mean, square := 0.0, 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
	}
	for _, g := range gaps {
		square += (g - mean) * (g - mean) / float64(len(gaps))
	}
	const want = 1538 * 8 * 1e9 / rate
	sent := float64(f.sent) * 1538 * 8 / 4
	assert.True(t, math.Abs(sent/rate-1) <= 0.04, "%.0f bit/s, want %d", sent, rate)
	if spread := math.Sqrt(square) / mean; math.Abs(mean/want-1) > 0.05 || spread < 0.8 || spread > 1.2 {
		t.Errorf("mean time between frames %.0f ns, want %.0f; spread %.2f of it, want about 1", mean, want, spread)
	}
}

// Shapes that make no sense are refused.
func TestShapesAreChecked(t *testing.T) {
	for _, tt := range []struct {
		rate  int64
		shape Shape
		want  string
	}{
		{0, Shape{On: time.Second}, "give both"},
		{0, Shape{On: -1, Off: 1}, "give both"},
		{0, Shape{On: 1, Off: maxPeriod + 1}, "give both"},
		{0, Shape{Poisson: true}, "need a rate"},
		{1, Shape{Poisson: true, On: 1, Off: 1}, "exclude each other"},
	} {
		c := oneFlow(tt.rate, tt.shape)
		c.Duration = time.Second
		assert.Fails(t, c.Check(), tt.want, "%+v", tt.shape)
	}
}
