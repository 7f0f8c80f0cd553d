package runner

import "pfcswitch/dataplane/port"

const (
	crowdEvery = 20_000  // ns between two looks
	crowdWhole = 1 << 16 // a share of all looks
	crowdMost  = crowdWhole / 4
	crowdShift = 6 // a look weighs 1/64 of the share
)

// A crowd is how often threads of this machine waited for a CPU when a worker had nothing to do. A worker that spins keeps a CPU from
// them: with several switches on few CPUs the hosts' programs, and the other switches, would stand in line behind workers that wait.
// Only the first look after some work counts: how long a spin lasts is itself a matter of who waits.
type crowd struct {
	threads threads // nil where they cannot be counted
	cpus    int     // that the process may use
	next    int64   // time of the next look
	idle    int64   // since when there was no work, of the look that was counted last
	share   int     // of these looks that met a crowd, the last ones above all
}

// threads counts those that run or wait for a CPU.
type threads interface {
	Runnable() (int, error)
	Close() error
}

func newCrowd(cpus int) crowd {
	if t, err := port.OpenThreads(); err == nil {
		return crowd{threads: t, cpus: cpus}
	}
	return crowd{share: crowdWhole}
}

// bears tells whether a worker that has had no work since idle may go on spinning: nobody waits now, and seldom did anybody. Where
// that cannot be known it may not.
func (c *crowd) bears(idle, now int64) bool {
	if c.threads == nil || now < c.next {
		return c.rare()
	}
	c.next = now + crowdEvery
	n, err := c.threads.Runnable()
	waits := err != nil || n > c.cpus
	if c.idle != idle {
		c.idle = idle
		c.saw(waits)
	}
	return !waits && c.rare()
}

// saw takes account of a look.
func (c *crowd) saw(waits bool) {
	c.share -= c.share >> crowdShift
	if waits {
		c.share += crowdWhole >> crowdShift
	}
}

// rare tells whether a spin is seldom in anybody's way.
func (c *crowd) rare() bool { return c.share <= crowdMost }

func (c *crowd) close() error {
	if c.threads == nil {
		return nil
	}
	return c.threads.Close()
}
