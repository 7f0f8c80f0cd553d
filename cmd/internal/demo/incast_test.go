package demo

import (
	"context"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

func names(phases []*phase) (all []string) {
	for _, p := range phases {
		all = append(all, p.name)
	}
	return all
}

// A lab that is kept is that of the last phase, so that nothing goes on behind the user's back.
func TestKeptPhaseIsLast(t *testing.T) {
	for _, tt := range []struct {
		phases         func(Options) []*phase
		all, withEnter []string
	}{
		{incastPhases, []string{"a", "b", "c1", "c2"}, []string{"a", "c1", "c2", "b"}},
		{hostPhases, []string{"a", "b"}, []string{"b", "a"}},
		{deadlockPhases, []string{"a", "b", "c", "d"}, []string{"a", "c", "d", "b"}},
		{congestionPhases, []string{"a", "b"}, []string{"a", "b"}},
		{trunkPhases, []string{"1", "2a", "2b", "3a", "3b"}, []string{"1", "2b", "3a", "3b", "2a"}},
	} {
		o := Options{Seconds: 5, Speed: 200_000_000}
		assert.Same(t, names(tt.phases(o)), tt.all, "phases")
		o.Enter = func(context.Context, []string) {}
		kept := tt.phases(o)
		assert.Same(t, names(kept), tt.withEnter, "phases")
		for i, p := range kept {
			if (p.enter != nil) != (i == len(kept)-1) || p.speed != o.Speed || p.loadTime() < 2*time.Second {
				t.Errorf("phase %s is kept: %v, at %d bit/s, for %v", p.name, p.enter != nil, p.speed, p.loadTime())
			}
		}
	}
}

// pfc_sent counts frames, refreshes among them.
func TestPFCSentCountsFrames(t *testing.T) {
	s := &switchNode{name: "s1", ports: []switchPort{{name: "p1"}, {name: "p2"}}}
	priorities := func(frames, xoff uint64) []api.PFCPriority {
		all := make([]api.PFCPriority, 8)
		all[3].SentFrames, all[3].SentXoff = frames, xoff
		return all
	}
	s.state = states{ports: &api.Ports{}, buffer: &api.Buffer{}, pfc: &api.PFC{Ports: []api.PFCPort{
		{Port: "p1", Priorities: priorities(7, 2)}, {Port: "p2", Priorities: priorities(5, 1)},
	}}}
	assert.Equal(t, s.result("a").PFCSent, 12, "pfc_sent")
}
