package demo

import (
	"context"
	"slices"
	"testing"

	"pfcswitch/cmd/internal/api"
)

func names(phases []*phase) (all []string) {
	for _, a := range phases {
		all = append(all, a.name)
	}
	return all
}

// A lab that is kept is that of phase (b), the last then, so that nothing goes on behind the user's back.
func TestKeptActIsLast(t *testing.T) {
	o := Options{Seconds: 5}
	if got := names(incastPhases(o)); !slices.Equal(got, []string{"a", "b", "c1", "c2"}) {
		t.Errorf("acts %v", got)
	}
	o.Enter = func(context.Context, []string) {}
	all := incastPhases(o)
	if got := names(all); !slices.Equal(got, []string{"a", "c1", "c2", "b"}) {
		t.Errorf("acts %v", got)
	}
	for _, a := range all {
		if (a.enter != nil) != (a.name == "b") {
			t.Errorf("act %s is kept: %v", a.name, a.enter != nil)
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
	if got := s.result("a").PFCSent; got != 12 {
		t.Errorf("pfc_sent is %d, want 12 frames", got)
	}
}
