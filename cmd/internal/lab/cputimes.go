package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTimes are those of the CPUs that this process may use, added up since the machine started.
type CPUTimes struct {
	Busy  time.Duration // at work, for whomever
	Idle  time.Duration // with or without a disk that somebody waits for
	Steal time.Duration // ready to work while the hypervisor ran something else
}

// ReadCPUTimes reads them from /proc/stat.
func ReadCPUTimes() (CPUTimes, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return CPUTimes{}, fmt.Errorf("which CPUs may be used: %w", err)
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTimes{}, err
	}
	return parseCPUTimes(text, allowed.IsSet)
}

// tick is what /proc/stat counts in on every architecture of Linux: 1/USER_HZ seconds.
const tick = time.Second / 100

// parseCPUTimes reads the lines of single CPUs: cpuN user nice systemRegistry idle iowait irq softirq steal guest guest_nice. A
// guest's time is in user and nice already (proc(5)).
func parseCPUTimes(text []byte, allowed func(cpu int) bool) (t CPUTimes, err error) {
	for line := range bytes.Lines(text) {
		var cpu int
		var f [8]time.Duration
		n, _ := fmt.Sscanf(string(line), "cpu%d %d %d %d %d %d %d %d %d", &cpu, &f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6], &f[7])
		if n != len(f)+1 || !allowed(cpu) {
			continue
		}
		t.Busy += (f[0] + f[1] + f[2] + f[5] + f[6]) * tick
		t.Idle += (f[3] + f[4]) * tick
		t.Steal += f[7] * tick
	}
	if t == (CPUTimes{}) {
		return t, errors.New("/proc/stat tells nothing of the CPUs that may be used")
	}
	return t, nil
}

// CPUShares are parts of the time of CPUs between two moments; all are 0 where no time has passed.
type CPUShares struct{ Busy, Idle, Steal float64 }

// Since returns what the CPUs did from an earlier moment to t.
func (t CPUTimes) Since(from CPUTimes) CPUShares {
	busy, idle, steal := t.Busy-from.Busy, t.Idle-from.Idle, t.Steal-from.Steal
	all := float64(busy + idle + steal)
	if all <= 0 {
		return CPUShares{}
	}
	return CPUShares{float64(busy) / all, float64(idle) / all, float64(steal) / all}
}
