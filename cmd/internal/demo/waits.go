package demo

import (
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A waits is for how long the threads of each process had waited for a CPU at some time. What they do at their start, all at once, says
// nothing of the load that follows.
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

// most returns the largest share for which a process has waited since, of a duration that has passed since.
func (w waits) most(of time.Duration) (most float64) {
	for p, before := range w {
		_, now := p.Scheduled()
		most = max(most, (now-before).Seconds()/of.Seconds())
	}
	return most
}
