package demo

import (
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A shortage is what the machine withheld from an act while its load lasted, as shares of that time.
type shortage struct {
	waiting float64 // of the process whose threads waited longest for a CPU
	who     string  // that process
	behind  float64 // of what the slowest sender was to offer, and no pause held
	slowest string  // that sender
	steal   float64 // of the CPUs' time that the hypervisor gave to others
}

// share is by how much a rate, a share or a time may miss its limit because of it. The parts add up: a switch that waits
// for a CPU delays what a sender has left out before.
func (s shortage) share() float64 { return s.waiting + s.behind + s.steal }

func (s shortage) String() string {
	var parts []string
	if s.waiting > 0 {
		parts = append(parts, fmt.Sprintf("%s waited for a CPU for %.1f %% of the load", s.who, 100*s.waiting))
	}
	if s.behind > 0 {
		parts = append(parts, fmt.Sprintf("%s could not offer %.1f %% of its frames", s.slowest, 100*s.behind))
	}
	if s.steal > 0 {
		parts = append(parts, fmt.Sprintf("the hypervisor took %.1f %% of the CPUs", 100*s.steal))
	}
	return strings.Join(parts, ", ")
}

// A meter watches what the machine gives to processes while a load lasts.
type meter struct {
	processes   []*lab.Process
	ran, waited []time.Duration
	cpus        lab.CPUTimes
	begun       time.Time
}

// startMeter begins to watch. What processes do at their start, all at once, says nothing of the load that follows.
func startMeter(processes []*lab.Process) (*meter, error) {
	m := &meter{processes: processes, begun: time.Now()}
	for _, p := range processes {
		ran, waited := p.Scheduled()
		m.ran, m.waited = append(m.ran, ran), append(m.waited, waited)
	}
	var err error
	m.cpus, err = lab.ReadCPUTimes()
	return m, err
}

// A usage is what a meter has seen.
type usage struct {
	shortage
	cores float64 // that the processes kept busy, in the mean
	idle  float64 // share of the CPUs' time that nobody used
}

// read returns what has happened since, for a load that lasted so long: a process that ends with its load waits no more.
func (m *meter) read(load time.Duration) (u usage, err error) {
	for i, p := range m.processes {
		ran, waited := p.Scheduled()
		ran, waited = ran-m.ran[i], waited-m.waited[i]
		if share := waitShare(ran, waited, load); share > u.waiting {
			u.waiting, u.who = share, p.Name()
		}
		u.cores += ran.Seconds() / load.Seconds()
	}
	now, err := lab.ReadCPUTimes()
	shares := now.Since(m.cpus)
	u.idle, u.steal = shares.Idle, shares.Steal
	return u, err
}

// waitShare is for what share of a load the threads of a process waited for a CPU, all together, but no more than of the time in
// which they wanted one: several that wait at once delay no more than one.
func waitShare(ran, waited, load time.Duration) float64 {
	if waited <= 0 {
		return 0
	}
	return min(waited.Seconds()/load.Seconds(), waited.Seconds()/(ran+waited).Seconds())
}

// processes are those of switches.
func processes(switches []*switchNode) (all []*lab.Process) {
	for _, s := range switches {
		all = append(all, s.process)
	}
	return all
}
