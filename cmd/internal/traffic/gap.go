package traffic

import "time"

// A sink keeps the first mostGaps times of at least LongGap without a frame of a flow.
const (
	LongGap  = 30 * time.Millisecond
	mostGaps = 32
)

// A Gap is a time without a frame of a flow.
type Gap struct {
	From int64 `json:"from_ns"` // since 1970
	Time int64 `json:"time_ns"`
}

// pass records the time between the last frame and the frame with stamp.
func (f *sinkFlow) pass(stamp int64) {
	gap := stamp - f.stamp
	if gap > f.gap {
		f.gap, f.gapFrom = gap, f.stamp
	}
	if gap >= int64(LongGap) && len(f.gaps) < mostGaps {
		f.gaps = append(f.gaps, Gap{f.stamp, gap})
	}
}
