package demo

import (
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A shortage is what the machine withheld from a phase during its load, as shares of that time.
type shortage struct {
	runQueueDelay  float64 // of the process whose threads waited longest for a CPU
	waitingProcess string  // that process
	behind         float64 // of what the slowest sender was to offer, and no pause held
	slowestSender  string  // that sender
	steal          float64 // of the CPUs' time that the hypervisor gave to others
}

// share is how far a rate, a share or a time may miss its limit because of the shortage. The parts add up: a switch
// that waits for a CPU delays frames in addition to those that a sender left out.
func (s shortage) share() float64 { return s.runQueueDelay + s.behind + s.steal }

func (s shortage) String() string {
	var parts []string
	if s.runQueueDelay > 0 {
		parts = append(parts, fmt.Sprintf("%s waited for a CPU for %.1f %% of the load", s.waitingProcess,
			100*s.runQueueDelay))
	}
	if s.behind > 0 {
		parts = append(parts, fmt.Sprintf("%s could not offer %.1f %% of its frames", s.slowestSender, 100*s.behind))
	}
	if s.steal > 0 {
		parts = append(parts, fmt.Sprintf("the hypervisor took %.1f %% of the CPUs", 100*s.steal))
	}
	return strings.Join(parts, ", ")
}

// A meter measures the CPU time of processes while a load lasts.
type meter struct {
	processes   []*lab.Process
	ran, waited []time.Duration
	cpus        lab.CPUTimes
}

// startMeter starts the measurement. Call it with the load: the start of all processes at once does not count.
func startMeter(processes []*lab.Process) (*meter, error) {
	m := &meter{processes: processes}
	for _, p := range processes {
		ran, waited := p.Scheduled()
		m.ran, m.waited = append(m.ran, ran), append(m.waited, waited)
	}
	var err error
	m.cpus, err = lab.ReadCPUTimes()
	return m, err
}

// A usage is the result of a meter.
type usage struct {
	shortage
	cores float64 // that the processes kept busy, in the mean
	idle  float64 // share of the CPUs' time that nobody used
}

// read returns the usage since the start, of a load with the given duration.
func (m *meter) read(load time.Duration) (u usage, err error) {
	for i, p := range m.processes {
		ran, waited := p.Scheduled()
		ran, waited = ran-m.ran[i], waited-m.waited[i]
		if share := waitShare(ran, waited, load); share > u.runQueueDelay {
			u.runQueueDelay, u.waitingProcess = share, p.Name()
		}
		u.cores += ran.Seconds() / load.Seconds()
	}
	now, err := lab.ReadCPUTimes()
	shares := now.Since(m.cpus)
	u.idle, u.steal = shares.Idle, shares.Steal
	return u, err
}

// waitShare is the share of a load in which threads of a process waited for a CPU. It is bounded by waited / (ran +
// waited), since several threads that wait at once delay no more than one.
func waitShare(ran, waited, load time.Duration) float64 {
	if waited <= 0 {
		return 0
	}
	return min(waited.Seconds()/load.Seconds(), waited.Seconds()/(ran+waited).Seconds())
}
