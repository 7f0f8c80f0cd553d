package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// From the start of the process to the first frame that it forwards takes less than 300 ms, with every key at its
// default, after a switch that ended and after one that was killed: in the median of some rounds, less what a thread of
// the switch had to wait for a CPU.
func TestStartToForwarding(t *testing.T) {
	const limit, rounds = 300 * time.Millisecond, 5
	p := newMachine(t)
	mac := assert.Got(p.h2.MAC("eth0")).Must(t)
	path := write(t, filepath.Join(p.dir, "start.yaml"), fmt.Sprintf("name: sw\npreset: roce\napi: {socket: "+
		"%s}\nports: {p1: {}, p2: {}}\n", p.socket()))
	sender := run(t, p.h1, nil, "send", "eth0", "--no-sink", "--to", mac.String(), "--flow", "3:rate=10M",
		"--seconds", "60")
	eventually(t, "the sender sends", func() bool {
		s, err := p.h1.Stats("eth0")
		return err == nil && s.SentFrames > 0
	})
	for _, after := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		var took []time.Duration
		for range rounds + 1 {
			took = append(took, p.startToFrame(t, path, after))
		}
		took = took[1:] // before the first there was another one, or none
		slices.Sort(took)
		t.Logf("start to forwarding, after %v: median %v, %v to %v (load %s)", after, took[rounds/2], took[0],
			took[rounds-1], load())
		assert.True(t, took[rounds/2] < limit,
			"start to forwarding: %v in the median, want less than %v", took[rounds/2], limit)
	}
	_ = sender.Stop(unix.SIGKILL, time.Second)
}

// startToFrame starts a switch, ends it by a signal, and returns the time from its start to the first frame that h2
// receives of the sender, less what the switch had to wait for a CPU. What the switch itself sends there, LLDP and
// probes, is shorter than the sender's frames.
func (p *machine) startToFrame(t *testing.T, path string, end unix.Signal) time.Duration {
	t.Helper()
	before := assert.Got(p.h2.Stats("eth0")).Must(t)
	begun := time.Now()
	proc := run(t, p.sw, nil, "run", "-c", path)
	for {
		now := assert.Got(p.h2.Stats("eth0")).Must(t)
		if now.ReceivedBytes >= before.ReceivedBytes+1500 {
			break
		}
		before = now
		assert.MustBeTrue(t, time.Since(begun) <= 10*time.Second, "nothing is forwarded within 10 s: %s", proc.Output())
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begun) - waited(t, proc.Pid())
	// it counts the other way round
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, proc.Pid())
	assert.True(t, err == nil && 20-raw == -10, "the switch has nice %d, %v, want the default, -10", 20-raw, err)
	err = proc.Stop(end, 5*time.Second)
	assert.MustBeTrue(t, err == nil || end == unix.SIGKILL, "%v", err)
	return took
}

// waited returns how long one thread of a process, the one that did so longest, was ready to run and had no CPU.
func waited(t *testing.T, pid int) (longest time.Duration) {
	t.Helper()
	threads := assert.Got(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))).Must(t)
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var ran, wait time.Duration
		_, err = fmt.Sscan(string(b), &ran, &wait)
		assert.MustNoError(t, err, "%s", path)
		longest = max(longest, wait)
	}
	return longest
}
