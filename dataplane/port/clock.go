package port

import (
	"math"
	"slices"
	"time"
)

// clockLooks is how often a clock is read to find the step by which it moves.
const clockLooks = 1000

// leastError is what stamps of two clocks are wrong by at least, since reads take longer on a busy machine; worstError that of
// clocks no stamps of which are worth anything.
const (
	leastError = int64(500 * time.Nanosecond)
	worstError = int64(100 * time.Microsecond)
)

// ClockStep returns the smallest step, in ns, that a clock of nanoseconds shows, at least 1: how exact stamps are at best. For a
// clock that stands still meanwhile, whose steps are longer than all looks, it is a microsecond.
func ClockStep(now func() int64) int64 {
	step := int64(math.MaxInt64)
	last := now()
	for range clockLooks {
		next := now()
		if d := next - last; d > 0 {
			step = min(step, d)
		}
		last = next
	}
	if step == math.MaxInt64 {
		return int64(time.Microsecond)
	}
	return step
}

// ClockError returns by how many ns the time between two stamps may be wrong that are taken from one clock to another: twice what
// the clocks, read one after the other, seem to be further apart the one time than the other, since either stamp may be wrong by that,
// from leastError to worstError. The looks between which something else ran count no more than a twentieth of all.
func ClockError(pair func() (a, b int64)) int64 {
	apart := make([]int64, clockLooks)
	for i := range apart {
		a, b := pair()
		apart[i] = b - a
	}
	slices.Sort(apart)
	return min(max(2*(apart[clockLooks-clockLooks/40]-apart[clockLooks/40]), leastError), worstError)
}
