package main

import (
	"strings"
	"testing"
)

// What is for the benchmark alone is not in the help, and is refused like any flag where it is wrong.
func TestTuningIsHidden(t *testing.T) {
	c := runCommand()
	if strings.Contains(c.UsageString(), tuningFlag) {
		t.Errorf("help shows it:\n%s", c.UsageString())
	}
	if got := fail(t, c, "--tuning", "spin=some", "-c", "/no/such.yaml"); !strings.Contains(got, "spin=endless") {
		t.Errorf("%q does not say what there is", got)
	}
}
