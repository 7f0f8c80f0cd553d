package simulation

import (
	"slices"
	"strings"

	"pfcswitch/cmd/internal/config"
)

// AddWaits says that nothing moves, though egress queues of switches on real links hold frames and are paused: Port is
// SWITCH:PORT. AddWaits fills in By.
func (r *Report) AddWaits(t *config.Topology, waits []Wait) {
	peers := peersOf(t)
	for i := range waits {
		waits[i].By = peers[waits[i].Port]
	}
	r.Deadlock = true
	if r.Cycle = waitingCycle(waits); r.Cycle != nil {
		return
	}
	for _, w := range waits {
		if !strings.Contains(w.By, ":") {
			r.HeldByHosts = append(r.HeldByHosts, w)
		}
	}
}

// waitingCycle returns queues of which each waits for the next, and the last for the first. Whose frames a queue holds
// is not known: a queue waits for another one where that is the only one that waits at the switch by which it is
// paused, so that all that does not move there is in it.
func waitingCycle(waits []Wait) []Wait {
	for _, w := range waits {
		for path := []Wait{}; ; {
			if i := slices.Index(path, w); i >= 0 {
				return path[i:]
			}
			path = append(path, w)
			next, several := Wait{}, false
			for _, o := range waits {
				if nodeOf(o.Port) == nodeOf(w.By) {
					next, several = o, several || next != Wait{}
				}
			}
			if next == (Wait{}) || several {
				break
			}
			w = next
		}
	}
	return nil
}
