package demo

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/labtest"
)

// Whoever keeps the ring finds three switches that run and answer, and how to get into each node.
func TestKeptRingRuns(t *testing.T) {
	labtest.Require(t)
	o, entered := short, 0
	o.Enter = func(ctx context.Context, commands []string) {
		entered++
		asked := 0
		for _, c := range commands {
			_, socket, ok := strings.Cut(c, "show pfc -s ")
			if !ok {
				continue
			}
			asked++
			r, err := api.NewClient(socket).Show(ctx, "watchdog")
			if err != nil {
				t.Errorf("%s: %v", c, err)
			} else if w := r.(*api.Watchdog); len(w.Queues) != 4 || w.Queues[0].Action != "forward" {
				t.Errorf("%s: %+v", c, w.Queues)
			}
		}
		if nodes := 3 * ringSwitches; asked != ringSwitches || len(commands) != nodes+asked {
			t.Errorf("%d commands, %d of them ask a switch, want %d and %d:\n%s", len(commands), asked,
				nodes+ringSwitches, ringSwitches, strings.Join(commands, "\n"))
		}
	}
	for _, p := range deadlockPhases(o) {
		if p.name != "b" && p.name != "c" {
			continue
		}
		r := &Report{}
		whole, err := p.perform(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !whole || !slices.ContainsFunc(r.Phases, func(done PhaseResult) bool { return done.Phase == p.name }) {
			t.Errorf("act %s: whole %v, %+v", p.name, whole, r.Checks)
		}
	}
	if entered != 1 {
		t.Errorf("the lab was left up %d times, want once: in act b", entered)
	}
}
