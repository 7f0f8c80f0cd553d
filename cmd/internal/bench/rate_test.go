package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
)

func TestRateOf(t *testing.T) {
	start := time.Unix(1000, 0)
	// Samples every 10 ms: senders start after 105 ms and run for a second at 1000 frames a sample; a ring that holds
	// some empties twice as fast.
	series := func(n int, arrived func(i int) uint64, sent ...func(i int) uint64) (all []sample) {
		for i := range n {
			l := sample{at: start.Add(time.Duration(i) * sampleEvery), frames: arrived(i)}
			for _, f := range sent {
				l.sent = append(l.sent, f(i))
			}
			all = append(all, l)
		}
		return all
	}
	sends := func(from int) func(int) uint64 {
		return func(i int) uint64 { return uint64(max(0, min(1000*(i-from)+500, 100_000))) }
	}
	late := func(i int) uint64 {
		return 7 + uint64(max(0, min(900*(i-10)+450, 90_000))) + uint64(max(0, min(2000*(i-111), 10_000)))
	}
	for name, row := range map[string]struct {
		samples      []sample
		rate, behind float64
	}{
		"all arrives":                    {series(150, sends(10), sends(10)), 100_000, 0},
		"a ring that empties afterwards": {series(150, late, sends(10)), 90_000, 9_900},
		"a frame before the senders": {series(150, func(i int) uint64 { return sends(10)(i) + uint64(min(1, i/4)) },
			sends(10)), 100_000, 0},
		"samples that end first": {series(105, sends(10), sends(10)), 100_000, 0},
		"two senders, one of them later": {series(150, func(i int) uint64 { return sends(10)(i) + sends(15)(i) },
			sends(10), sends(15)), 200_000, 0},
		"a stop in between counts": {series(150, func(i int) uint64 { return min(50_000, sends(10)(i)) },
			sends(10)), 50_000, 49_500},
		"nothing arrives":           {series(150, func(int) uint64 { return 7 }, sends(10)), 0, 99_000},
		"nothing is sent":           {series(100, func(int) uint64 { return 7 }, func(int) uint64 { return 3 }), 0, 0},
		"a single sample":           {series(1, sends(10), sends(10)), 0, 0},
		"no sample":                 {nil, 0, 0},
		"too short for two samples": {series(12, sends(10), sends(10)), 0, 0},
	} {
		rate, behind := rateOf(row.samples)
		assert.True(t, math.Abs(rate-row.rate) <= row.rate/50 && math.Abs(behind-row.behind) <= row.behind/50,
			"%s: %v frames/s, %v behind, want %v and %v", name, rate, behind, row.rate, row.behind)
	}
}

// Samples of 32 hosts cost a second no more than samples of a few.
func TestSampleInterval(t *testing.T) {
	n := &network{}
	for range 32 {
		n.hosts = append(n.hosts, &lab.Node{})
	}
	for want, flows := range map[time.Duration][]flow{
		2 * sampleEvery: n.pairFlows()[:4], 8 * sampleEvery: n.pairFlows(),
		sampleEvery: slices.Repeat(n.flowsToHost2(1), 16),
	} {
		assert.Equal(t, (&load{flows: flows}).sampleInterval(), want, "%d flows", len(flows))
	}
}
