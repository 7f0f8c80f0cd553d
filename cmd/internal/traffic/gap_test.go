package traffic

import (
	"slices"
	"testing"
)

// A sink keeps every long gap of a flow, the first ones, and the longest of all.
func TestGaps(t *testing.T) {
	const ms = int64(1_000_000)
	f := sinkFlow{stamp: 1}
	for _, gap := range []int64{ms, 30 * ms, 30*ms - 1, 600 * ms, 2 * ms, 300 * ms} {
		f.pass(f.stamp + gap)
		f.stamp += gap
	}
	want := []Gap{{1 + ms, 30 * ms}, {61*ms + 0, 600 * ms}, {663 * ms, 300 * ms}}
	if !slices.Equal(f.gaps, want) || f.gap != 600*ms || f.gapFrom != 61*ms {
		t.Errorf("%+v, longest %d from %d", f.gaps, f.gap, f.gapFrom)
	}
	for range 2 * mostGaps {
		f.pass(f.stamp + 700*ms)
	}
	if len(f.gaps) != mostGaps || f.gap != 700*ms {
		t.Errorf("%d gaps are kept, longest %d", len(f.gaps), f.gap)
	}
}
