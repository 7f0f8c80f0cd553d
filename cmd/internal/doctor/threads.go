package doctor

import (
	"fmt"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
)

// hangsBecause says by the state of a thread that hangs what is wrong and what to do.
var hangsBecause = map[string]string{
	api.ThreadNoCPU: "The thread is ready, and the kernel runs others. Give the switch a CPU of its own, and take " +
		"away what has its CPU (top -H; a cpuset, a CPU quota, real-time programs)",
	api.ThreadRuns: "The thread has a CPU and does not come back to its ports, which is a fault of the switch: " +
		"report it, and start the switch again",
	api.ThreadWaits: "The thread waits for another one of the switch, or for a change of the configuration: look at " +
		"the other threads first, and start the switch again where no other hangs",
	api.ThreadStopped: "The thread waits in the kernel, or a debugger has stopped it: end that, or start the switch " +
		"again. What it waits for is in the files status, wchan and stack of ",
}

// judgeThreads finds threads that do not look at their ports.
func (f *Facts) judgeThreads() (all []api.Finding) {
	for i := range f.Threads {
		t := &f.Threads[i]
		if !t.Hangs() {
			continue
		}
		effect := hangMeans(t) + hangsBecause[t.State]
		if t.State == api.ThreadStopped {
			effect += fmt.Sprintf("/proc/%d/task/%d", f.PID, t.Thread)
		}
		all = append(all, api.Finding{Trap: "thread-hangs", Severity: api.SeverityError, Effect: effect,
			Seen: fmt.Sprintf("thread %d of switch %s has not looked at its ports for %v", t.Thread, f.Switch,
				time.Duration(t.BehindNs).Round(time.Millisecond))})
	}
	return all
}

// hangMeans says what it means for the traffic that a thread hangs.
func hangMeans(t *api.Thread) (s string) {
	if len(t.Receives) > 0 {
		s = "nobody reads the frames of " + strings.Join(t.Receives, ", ") + ": the peers are held (XOFF) for 5 s, " +
			"or for 60 s where the thread waits for another one. Then they send on, and lossless frames are lost as " +
			"soon as the receive rings are full. "
	}
	if len(t.Sends) > 0 {
		s += "No frame leaves by " + strings.Join(t.Sends, ", ") + ": what goes there fills the buffer, and senders " +
			"are held. "
	}
	return s
}
