package demo

import (
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A waits is for how long the threads of each process had waited for a CPU before a load: what they do at their start, all at the
// same time, says nothing of the load.
type waits map[*lab.Process]time.Duration

// processes are those of switches.
func processes(switches []*switchNode) (all []*lab.Process) {
	for _, s := range switches {
		all = append(all, s.process)
	}
	return all
}

func waitsOf(processes []*lab.Process) waits {
	w := waits{}
	for _, p := range processes {
		_, w[p] = p.Scheduled()
	}
	return w
}

// most returns the largest share of a duration, which ends now, for which a process has waited since.
func (w waits) most(of time.Duration) (most float64) {
	for p, before := range w {
		_, now := p.Scheduled()
		most = max(most, (now-before).Seconds()/of.Seconds())
	}
	return most
}
