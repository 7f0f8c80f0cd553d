package runner

import "pfcswitch/dataplane/port"

const (
	contentionEvery = 20_000  // ns between two looks
	contentionWhole = 1 << 16 // a share of all looks
	contentionMost  = contentionWhole / 4
	contentionShift = 6 // a look weighs 1/64 of the share
)

// cpuContention measures how often threads of this machine wait for a CPU when a worker has nothing to do. A worker
// that spins keeps a CPU from these threads. Only the first look after some work counts, because the length of a spin
// itself depends on the waiting threads.
type cpuContention struct {
	threads threads // nil where they cannot be counted
	cpus    int     // that the process may use
	next    int64   // time of the next look
	idle    int64   // since when there was no work, at the look that was counted last
	share   int     // of counted looks that found a waiting thread; new looks weigh most
}

// threads counts those that run or wait for a CPU.
type threads interface {
	Runnable() (int, error)
	Close() error
}

func newCPUContention(cpus int) cpuContention {
	if t, err := port.OpenThreads(); err == nil {
		return cpuContention{threads: t, cpus: cpus}
	}
	return cpuContention{share: contentionWhole}
}

// spinAllowed reports whether a worker without work since idle may go on spinning: no thread waits for a CPU now, and
// threads waited seldom before. It returns false where the number of threads is unknown.
func (c *cpuContention) spinAllowed(idle, now int64) bool {
	if c.threads == nil || now < c.next {
		return !c.contended()
	}
	c.next = now + contentionEvery
	n, err := c.threads.Runnable()
	waits := err != nil || n > c.cpus
	if c.idle != idle {
		c.idle = idle
		c.record(waits)
	}
	return !waits && !c.contended()
}

// record counts a look.
func (c *cpuContention) record(waits bool) {
	c.share -= c.share >> contentionShift
	if waits {
		c.share += contentionWhole >> contentionShift
	}
}

// contended tells whether spinning often keeps a CPU from a thread that waits for it.
func (c *cpuContention) contended() bool { return c.share > contentionMost }

func (c *cpuContention) close() error {
	if c.threads == nil {
		return nil
	}
	return c.threads.Close()
}
