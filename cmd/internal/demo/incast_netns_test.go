package demo

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

var short = Options{Seconds: 1, Speed: 100_000_000}

// A switch that dies under load is a failure of the switch, reported at once. It is no demo that could not run.
func TestCrashFails(t *testing.T) {
	labtest.Require(t)
	t.Setenv(crashVariable, "1")
	begun := time.Now()
	r := assert.Got(Incast(context.Background(), short)).Must(t)
	assert.MustBeTrue(t, len(r.Phases) == 1 && len(r.Checks) == 2,
		"phases %+v, checks %+v, want one phase and two checks", r.Phases, r.Checks)
	c := r.Checks[0]
	left := r.Checks[1]
	assert.True(t, left.Topic == TopicLeft && left.Pass, "%+v, want that nothing is left", left)
	assert.True(t, !r.Pass && r.Failed() && !c.Pass && c.Kind == Hard && c.Topic == TopicRun &&
		strings.Contains(c.Got, "switch s1 ended") && strings.Contains(c.Got, "the switch crashes"),
		"pass %v, %+v, want a failed check that names the switch and its last words", r.Pass, c)
	d := time.Since(begun)
	assert.True(t, d <= phaseTimeout/2, "it took %v to be reported", d)
}

func TestInterruptIsNoVerdict(t *testing.T) {
	labtest.Require(t)
	t.Setenv(crashVariable, "1")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	r, err := Incast(ctx, short)
	assert.True(t, err != nil, "%+v", r)
}

// Whoever keeps a lab finds switches that run and answer, and how to get into each node.
func TestKeptLabRuns(t *testing.T) {
	labtest.Require(t)
	ring := deadlockPhases(short)
	for action, kept := range map[string]*phase{"alert": incastPhases(short)[1], "forward": ring[1], "drop": ring[2]} {
		entered := 0
		kept.enter = func(ctx context.Context, commands []string) {
			entered++
			for _, s := range kept.switches {
				assert.True(t, slices.Contains(commands, s.name+": pfcswitch show pfc -s "+s.socket),
					"phase %s: no command asks switch %s: %q", kept.name, s.name, commands)
				var w *api.Watchdog
				assert.Must(t, ask(ctx, s, "watchdog", &w))
				assert.True(t, len(w.Queues) == len(s.ports) && w.Queues[0].Action == action,
					"phase %s, switch %s: %+v, want %s at each port", kept.name, s.name, w.Queues, action)
			}
			text := strings.Join(commands, "\n")
			for _, n := range kept.lab.Nodes() {
				assert.True(t, strings.Contains(text, n.EnterCommand()), "phase %s: no command enters %s:\n%s",
					kept.name, n.Name(), text)
			}
		}
		r := &Report{}
		if whole, err := kept.perform(context.Background(), r); err != nil || !whole || len(r.Phases) != 1 {
			t.Fatalf("phase %s: whole %v, %v, %+v", kept.name, whole, err, r.Checks)
		}
		assert.True(t, entered == 1, "phase %s was kept %d times", kept.name, entered)
	}
}

// A demo whose terminal is closed takes its lab down, as one that is interrupted does.
func TestHangupLeavesNothing(t *testing.T) {
	labtest.Require(t)
	dir := labtest.TempDir(t)
	cmd := exec.CommandContext(t.Context(), labtest.Program(t), "demo", "incast", "--speed", "10M", "--seconds", "60")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	progress := assert.Got(cmd.StderrPipe()).Must(t)
	assert.Must(t, cmd.Start())
	made := func() bool {
		left := assert.Got(os.ReadDir(dir)).Must(t)
		return len(left) > 0
	}
	labtest.Eventually(t, "the demo builds a lab", made)
	assert.Must(t, cmd.Process.Signal(syscall.SIGHUP))
	said := assert.Got(io.ReadAll(progress)).Must(t)
	_ = cmd.Wait()
	status, left := cmd.ProcessState.ExitCode(), made()
	assert.True(t, status == 2 && !left && strings.Contains(string(said), "could not run"),
		"status %d, anything left: %v, it said %q", status, left, said)
}
