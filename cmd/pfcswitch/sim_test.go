package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// The exit status tells a run that passed, one that failed, and none.
func TestSimStatus(t *testing.T) {
	for args, want := range map[string]int{
		"../../scripts/lab/leaf-spine.yaml":        0,
		"../../scripts/lab/leaf-spine.yaml -j":     0,
		"../../scripts/lab/ring.yaml --stall 20ms": 1,
		"no-such.yaml": couldNotRun,
		"":             couldNotRun,
		"a b":          couldNotRun,
		"../../scripts/lab/ring.yaml --stall -1s":     couldNotRun,
		"../../scripts/lab/ring.yaml --seed x":        couldNotRun,
		"testdata/bad.yaml":                           couldNotRun,
		"../../scripts/lab/incast.yaml --response 1s": 1,
	} {
		if out, status := run(t, simCommand(), strings.Fields(args)...); status != want {
			t.Errorf("sim %s: status %d, want %d: %s", args, status, want, out)
		}
	}
}

// An unknown flag has the status of what could not run.
func TestSimUsage(t *testing.T) {
	c := simCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(io.Discard)
	c.SetArgs([]string{"--nonsense"})
	var e exit
	if err := c.Execute(); !errors.As(err, &e) || e.status != couldNotRun {
		t.Errorf("%v, want exit status %d", err, couldNotRun)
	}
}
