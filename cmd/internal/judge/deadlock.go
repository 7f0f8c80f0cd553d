package judge

import (
	"fmt"
	"slices"
)

// deadlockActs are the acts of demo deadlock, and whether frames of the lossless priority have to stay behind in them:
// stuck for ever, or dropped to end that.
var deadlockActs = []struct {
	act    string
	lockUp bool
}{{"a", true}, {"b", false}, {"c", true}, {"d", false}}

// deadlockShown finds acts of demo deadlock that are missing or show nothing: a lock that nobody was hurt by, or a recovery
// without flows that have to be whole.
func deadlockShown(r report) (faults []string) {
	for _, a := range deadlockActs {
		lost := slices.ContainsFunc(r.Flows, func(f flow) bool { return f.Act == a.act && f.Priority == 3 && f.Lost > 0 })
		switch {
		case !slices.ContainsFunc(r.Acts, func(b actResult) bool { return b.Act == a.act }):
			faults = append(faults, fmt.Sprintf("no act %s: the demo did not show all", a.act))
		case !slices.ContainsFunc(r.Checks, func(c checkResult) bool {
			return c.Act == a.act && slices.Contains([]string{"deadlock", "control"}, c.Topic)
		}):
			faults = append(faults, fmt.Sprintf("act %s: nothing was checked about a deadlock", a.act))
		case a.lockUp && !lost:
			faults = append(faults, fmt.Sprintf("act %s: every frame of priority 3 arrived, so nothing was locked up", a.act))
		case !a.lockUp && !losslessAct(r, a.act):
			faults = append(faults, fmt.Sprintf("act %s: no lossless flow", a.act))
		}
	}
	return faults
}

// findings are what is looked for in the report of a demo.
func findings(demo string) []func(report) []string {
	switch demo {
	case "deadlock":
		return []func(report) []string{ownVerdict, lossAndOrder, deadlockShown}
	case "headroom":
		return []func(report) []string{ownVerdict, allLinks, lossAndOrder, headroomSuffices, trips}
	}
	return []func(report) []string{ownVerdict, allActs, lossAndOrder, pauses, controlRun, metering}
}
