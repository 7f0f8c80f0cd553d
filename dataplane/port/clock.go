package port

import (
	"math"
	"time"
)

// clockLooks is how often a clock is read to find the step by which it moves.
const clockLooks = 1000

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
