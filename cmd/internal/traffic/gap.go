package traffic

import "time"

// LongGap is the shortest time without a frame of a flow that a sink keeps, and mostGaps how many of them.
const (
	LongGap  = 30 * time.Millisecond
	mostGaps = 32
)

// A Gap is a time without a frame of a flow.
type Gap struct {
	From int64 `json:"from_ns"` // since 1970
	Time int64 `json:"time_ns"`
}

// pass notes the time between the last frame and the one of stamp.
func (f *sinkFlow) pass(stamp int64) {
	gap := stamp - f.stamp
	if gap > f.gap {
		f.gap, f.gapFrom = gap, f.stamp
	}
	if gap >= int64(LongGap) && len(f.gaps) < mostGaps {
		f.gaps = append(f.gaps, Gap{f.stamp, gap})
	}
}
