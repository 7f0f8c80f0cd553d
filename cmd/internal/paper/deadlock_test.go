package paper

import (
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// Up to its bound a circle carries all; a tenth above it, it locks up, and each of its queues waits for the next.
func TestDeadlockThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []circle{{3, 0}, {2, 16}, {4, 16}} {
		for part, want := range map[float64]bool{0.97: false, 1.1: true} {
			r := assert.Got(c.run(t.Context(), 1, part)).Must(t)
			assert.True(t, r.Deadlock == want && r.Pass != want && (!want || len(r.Cycle) == c.switches),
				"%v at %v of its bound: deadlock %v, want %v; cycle %+v", c, part, r.Deadlock, want, r.Cycle)
			for i, w := range r.Cycle {
				next := r.Cycle[(i+1)%len(r.Cycle)]
				by, _, _ := strings.Cut(w.By, ":")
				assert.True(t, strings.HasPrefix(next.Port, by+":"), "%v: %+v is followed by %+v", c, w, next)
			}
		}
	}
}

// A threshold outside what was searched is an error, not one of its ends.
func TestDeadlockThresholdIsBetween(t *testing.T) {
	for _, ends := range [][2]int{{80, 90}, {120, 130}} {
		got, err := (circle{2, 16}).threshold(t.Context(), 1, ends[0], ends[1])
		assert.True(t, err != nil, "from %d to %d %%: %d", ends[0], ends[1], got)
	}
}

// A frame crosses the link of its host and as many others as its TTL says. None comes, and none counts as lost by a
// switch. Other frames, from which the switches learn, are few: another TTL would be another f.Sent.
func TestTTL(t *testing.T) {
	c := circle{2, 16}
	r := assert.Got(c.run(t.Context(), 1, 0.1)).Must(t)
	f := r.Flows[0]
	assert.True(t, r.Pass && f.Sent >= 100 && f.Received == 0 && (r.Hops-f.Sent*uint64(c.ttl+1)) < f.Sent,
		"pass %v: %d sent, %d received, %d frame-hops", r.Pass, f.Sent, f.Received, r.Hops)
}
