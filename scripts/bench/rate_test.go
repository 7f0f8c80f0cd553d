package main

import (
	"math"
	"testing"
	"time"
)

func TestRateOf(t *testing.T) {
	start := time.Unix(1000, 0)
	// looks every 10 ms: senders start after 100 ms, run for a second at 1000 frames a look; then a ring empties twice as fast.
	series := func(n int, at func(i int) uint64) (all []look) {
		for i := range n {
			all = append(all, look{start.Add(time.Duration(i) * lookEvery), at(i)})
		}
		return all
	}
	running := func(i int) uint64 { return 5 + 1000*uint64(max(0, min(i-10, 100))) + 2000*uint64(max(0, i-110)) }
	for name, row := range map[string]struct {
		looks   []look
		elapsed time.Duration
		want    float64
	}{
		"a ring that empties afterwards": {series(150, running), time.Second, 100_000},
		"a probe before the senders":     {series(150, func(i int) uint64 { return running(i) + uint64(min(1, i/4)) }), time.Second, 100_000},
		"senders that end first":         {series(105, running), time.Second, 100_000},
		"nothing arrives":                {series(100, func(int) uint64 { return 7 }), time.Second, 0},
		"a single look":                  {series(1, running), time.Second, 0},
		"no look":                        {nil, time.Second, 0},
		"too short for two looks":        {series(20, running), 15 * time.Millisecond, 0},
		"a stop in between counts":       {series(120, func(i int) uint64 { return 1000 * uint64(min(i, 50)) }), time.Second, 50_000},
	} {
		if got := rateOf(row.looks, row.elapsed); math.Abs(got-row.want) > row.want/50 {
			t.Errorf("%s: %v frames/s, want %v", name, got, row.want)
		}
	}
}
