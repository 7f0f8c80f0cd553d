package demo

import (
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// The CPU time that a process used before the load does not count.
func TestMeterBeginsWithTheLoad(t *testing.T) {
	n := labtest.Node(t, labtest.New(t, "meter"), "n")
	// A shell and its child, which share a CPU: each runs, and waits for the other.
	const busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
	p := assert.Got(n.Start(lab.Command{Name: "h1", Argv: []string{"taskset", "-c", firstCPU(t), "sh", "-c",
		"{ " + busy + "; } & " + busy + "; wait"}})).Must(t)
	assert.Must(t, p.Wait())
	ran, waited := p.Scheduled()
	assert.MustBeTrue(t, ran > 0 && waited > 0, "the process ran for %v and waited for %v", ran, waited)
	m := assert.Got(startMeter([]*lab.Process{p})).Must(t)
	u, err := m.read(time.Second)
	assert.True(t, err == nil && u.runQueueDelay == 0 && u.cores == 0, "since its end: %+v, %v, want nothing", u, err)
	m.ran[0], m.waited[0] = 0, 0
	u, err = m.read(time.Second)
	assert.True(t, err == nil && u.waitingProcess == "h1" && u.runQueueDelay == waitShare(ran, waited, time.Second) &&
		u.cores == ran.Seconds(), "since its start: %+v, %v, want %v and %v of h1", u, err, waited, ran)
}

// firstCPU is one on which this process may run.
func firstCPU(t *testing.T) string {
	t.Helper()
	var set unix.CPUSet
	assert.Must(t, unix.SchedGetaffinity(0, &set))
	for n := 0; ; n++ {
		if set.IsSet(n) {
			return strconv.Itoa(n)
		}
	}
}
