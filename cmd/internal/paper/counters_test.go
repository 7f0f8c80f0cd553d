package paper

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
)

// Each transition of the watchdog comes when the patent's rules say, and slow detection closes PFC twice.
func TestDeadlockCounters(t *testing.T) {
	got := assert.Got(counterRun(t.Context(), 1)).Must(t)
	want := counterTheory()
	assert.MustBeTrue(t, len(got) == len(want), "%d transitions, want %d", len(got), len(want))
	kinds := map[deadlock.Kind]int{}
	for i, g := range got {
		assert.True(t, g.kind == want[i].kind && (g.at-want[i].at).Abs() <= time.Millisecond,
			"%d: %v at %v, want %v at %v", i, g.kind, g.at, want[i].kind, want[i].at)
		kinds[g.kind]++
	}
	assert.True(t, kinds[deadlock.Recurring] == 2 && kinds[deadlock.Reopened] == 2 && kinds[deadlock.Detected] == 12,
		"%v", kinds)
}
