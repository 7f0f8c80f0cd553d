package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/labtest"
)

var short = Options{Seconds: 1, Speed: 100_000_000}

// A switch that dies under load is a failure of the switch, told at once; it is no demo that could not run.
func TestCrashFails(t *testing.T) {
	labtest.Require(t)
	t.Setenv(crashVariable, "1")
	begun := time.Now()
	r, err := Incast(context.Background(), short)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Phases) != 1 || len(r.Checks) != 2 {
		t.Fatalf("acts %+v, checks %+v, want one act and two checks", r.Phases, r.Checks)
	}
	c := r.Checks[0]
	if left := r.Checks[1]; left.Topic != TopicLeft || !left.Pass {
		t.Errorf("%+v, want that nothing is left", left)
	}
	if r.Pass || !r.Failed() || c.Pass || c.Kind != Hard || c.Topic != TopicRun ||
		!strings.Contains(c.Got, "switch s1 ended") || !strings.Contains(c.Got, "the switch crashes") {
		t.Errorf("pass %v, %+v, want a failed check that names the switch and its last words", r.Pass, c)
	}
	if d := time.Since(begun); d > phaseTimeout/2 {
		t.Errorf("it took %v to be told", d)
	}
}

func TestInterruptIsNoVerdict(t *testing.T) {
	labtest.Require(t)
	t.Setenv(crashVariable, "1")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if r, err := Incast(ctx, short); err == nil {
		t.Errorf("%+v", r)
	}
}

// Whoever keeps the lab finds two switches that run and answer.
func TestKeptLabRuns(t *testing.T) {
	labtest.Require(t)
	o := short
	kept := incastPhases(o)[1]
	entered := false
	kept.enter = func(ctx context.Context, commands []string) {
		entered = true
		text := strings.Join(commands, "\n")
		for _, s := range kept.switches {
			if _, err := api.NewClient(s.socket).Show(ctx, "ports"); err != nil {
				t.Errorf("switch %s: %v", s.name, err)
			}
			if !strings.Contains(text, "show pfc -s "+s.socket) {
				t.Errorf("no command asks switch %s:\n%s", s.name, text)
			}
		}
		for _, n := range kept.lab.Nodes() {
			if !strings.Contains(text, n.EnterCommand()) {
				t.Errorf("no command enters %s:\n%s", n.Name(), text)
			}
		}
	}
	r := &Report{}
	whole, err := kept.perform(context.Background(), r)
	if err != nil || !whole {
		t.Fatalf("whole %v, %v, %+v", whole, err, r.Checks)
	}
	if !entered {
		t.Error("the lab was not kept")
	}
}
