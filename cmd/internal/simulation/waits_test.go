package simulation

import (
	"slices"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// Queues of a ring that all wait are a cycle; those before a host, or one of several at a switch, are none.
func TestAddWaits(t *testing.T) {
	ring := assert.Got(config.LoadTopology("../../../scripts/lab/ring.yaml")).Must(t)
	for _, tt := range []struct {
		name              string
		waits             []string
		cycle, heldByHost []string
	}{
		{"a ring", []string{"s1:out", "s2:out", "s3:out"}, []string{"s1:out", "s2:out", "s3:out"}, nil},
		{"a queue that leads nowhere", []string{"s1:out", "s2:host"}, nil, []string{"s2:host"}},
		{"it is not known which", []string{"s1:out", "s2:out", "s2:host", "s3:out"}, nil, []string{"s2:host"}},
	} {
		var r Report
		var waits []Wait
		for _, port := range tt.waits {
			waits = append(waits, Wait{Port: port, Priority: 3, Frames: 1})
		}
		r.AddWaits(ring, waits)
		names := func(of []Wait) (all []string) {
			for _, w := range of {
				all = append(all, w.Port)
			}
			return all
		}
		assert.True(t, r.Deadlock && slices.Equal(names(r.Cycle), tt.cycle) &&
			slices.Equal(names(r.HeldByHosts), tt.heldByHost), "%s: %+v, %+v", tt.name, r.Cycle, r.HeldByHosts)
	}
	var r Report
	r.AddWaits(ring, []Wait{{Port: "s3:host"}})
	assert.True(t, r.HeldByHosts[0].By == "h3", "paused by %q, want h3", r.HeldByHosts[0].By)
}
