package traffic

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTracker(t *testing.T) {
	for _, tt := range []struct {
		name                            string
		sequence                        []uint64
		received, reordered, duplicated uint64
	}{
		{"in order", []uint64{0, 1, 2, 3}, 4, 0, 0},
		{"a gap", []uint64{0, 1, 5}, 3, 0, 0},
		{"late", []uint64{0, 2, 1, 3}, 4, 1, 0},
		{"twice", []uint64{0, 1, 1, 2}, 3, 0, 1},
		{"late and twice", []uint64{0, 3, 1, 1}, 3, 1, 1},
		{"beyond the window counts as a duplicate", []uint64{0, window + 10, 5}, 2, 0, 1},
		{"a jump over the window forgets", []uint64{3, 3 + 2*window, 3 + window + 1}, 3, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tr tracker
			for _, n := range tt.sequence {
				tr.take(n)
			}
			if tr.received != tt.received || tr.reordered != tt.reordered || tr.duplicated != tt.duplicated {
				t.Errorf("received %d, reordered %d, duplicated %d\nwant     %d, %d, %d",
					tr.received, tr.reordered, tr.duplicated, tt.received, tt.reordered, tt.duplicated)
			}
		})
	}
}

// The tracker agrees with a naive one that remembers every number.
func TestTrackerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr tracker
		seen := map[uint64]bool{}
		var next, received, reordered, duplicated uint64
		base := uint64(0)
		for range rapid.IntRange(1, 400).Draw(t, "frames") {
			base += rapid.SampledFrom([]uint64{0, 1, 1, 1, 2, 100, window / 2, window}).Draw(t, "step")
			n := base - min(base, rapid.Uint64Range(0, 300).Draw(t, "back"))
			switch {
			case n >= next:
				next = n + 1
				received++
				seen[n] = true
			case seen[n] || next-n > window:
				duplicated++
			default:
				received++
				reordered++
				seen[n] = true
			}
			tr.take(n)
		}
		if tr.received != received || tr.reordered != reordered || tr.duplicated != duplicated {
			t.Fatalf("got %d %d %d, want %d %d %d", tr.received, tr.reordered, tr.duplicated, received, reordered, duplicated)
		}
	})
}

func TestLatencyQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l latency
		all := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 200).Draw(t, "latencies")
		for _, v := range all {
			l.record(v)
			if b := latencyBucket(v); latencyBound(b) < v || b > 0 && latencyBound(b-1) >= v {
				t.Fatalf("%d ns lies in bucket %d, which ends at %d", v, b, latencyBound(b))
			}
		}
		for _, q := range []float64{0.5, 0.99, 1} {
			got, above := l.quantile(q), 0
			for _, v := range all {
				if v > got {
					above++
				}
			}
			if float64(above) > (1-q)*float64(len(all))+1e-9 {
				t.Fatalf("%d of %d latencies lie above the %v quantile %d", above, len(all), q, got)
			}
		}
		if l.quantile(1) != l.max {
			t.Fatalf("the largest is %d, the 1-quantile %d", l.max, l.quantile(1))
		}
	})
}
