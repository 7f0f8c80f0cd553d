package main

import "testing"

// A run that cannot be has status 2; status 1 would mean that the switches failed.
func TestLabRunStatus(t *testing.T) {
	for _, args := range [][]string{{"run", "no-such.yaml"}, {"run"}, {"run", "a", "b"}, {"run", "a", "--nonsense"},
		{"run", "testdata/bad.yaml"}} {
		if out, status := run(t, labCommand(), args...); status != couldNotRun {
			t.Errorf("lab %v: status %d, want %d: %s", args, status, couldNotRun, out)
		}
	}
}
