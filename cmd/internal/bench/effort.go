package bench

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// An effort is what a switch's programs and all CPUs have done up to a moment.
type effort struct {
	at      time.Time
	process time.Duration // CPU time of the switch's programs, those of their threads that are gone included
	machine float64       // seconds that all CPUs together were not idle
}

func (n *network) effort() (e effort, err error) {
	for _, d := range n.daemons {
		t, err := cpuTime(d.pid())
		if err != nil {
			return e, fmt.Errorf("CPU time of %s: %w", d.name, err)
		}
		e.process += t
	}
	e.at = time.Now()
	e.machine, err = machineBusy()
	return e, err
}

// cpuTime reads the CPU clock of a process, in ns: /proc/PID/stat counts in hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED, as clock_getcpuclockid(3) makes the number of a clock
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// perFrame returns the CPU time of the switch's programs since start for each of the frames, µs.
func (e effort) perFrame(start effort, frames uint64) float64 {
	return (e.process - start.process).Seconds() * 1e6 / float64(max(1, frames))
}

// since returns what was done between two moments, each a share of what was possible.
func (e effort) since(start effort) []value {
	return []value{{coreShare, 100 * (e.process - start.process).Seconds() / e.at.Sub(start.at).Seconds()}, e.busy(start)}
}

// busy returns what all CPUs did between two moments, for whomever, as a share of what they could.
func (e effort) busy(start effort) value {
	return value{allCores, 100 * (e.machine - start.machine) / e.at.Sub(start.at).Seconds() / float64(runtime.NumCPU())}
}
