package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// A lab is taken down after it was used, also where that failed, or the run was ended meanwhile.
func TestLabIsTakenDown(t *testing.T) {
	work, broken := t.TempDir(), errors.New("broken")
	said := filepath.Join(work, "said")
	program := filepath.Join(work, "pfcswitch")
	assert.Must(t, os.WriteFile(program, []byte("#!/bin/sh\necho $1 $2 $3 >> "+said+"\n"), 0o700))
	for _, want := range []error{nil, broken, context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		b := &bench{ctx: ctx, work: work, program: program}
		err := b.inLab(star(2), func(l *upLab) error {
			text := string(assert.Got(os.ReadFile(l.file)).Must(t))
			assert.True(t, strings.HasPrefix(text, "name: "+l.name+"\n") && l.took > 0, "%v: %s", l.took, text)
			if errors.Is(want, context.Canceled) {
				cancel()
				return ctx.Err()
			}
			return want
		})
		cancel()
		assert.True(t, errors.Is(err, want), "%v, want %v", err, want)
		file := filepath.Join(work, "star2.yaml")
		got := string(assert.Got(os.ReadFile(said)).Must(t))
		assert.Equal(t, got, "lab up "+file+"\nlab down "+file+"\n", "%v: commands", want)
		assert.Must(t, os.Remove(said))
	}
}

// A lab is not brought up where memory does not suffice for its ports.
func TestFits(t *testing.T) {
	small, large := star(4), fatTree(8)
	for _, c := range []struct {
		f         fabric
		available string
		fits      bool
	}{{small, "16384 kB", true}, {small, "16383 kB", false}, {large, "2621440 kB", true}, {large, "1048576 kB", false},
		{small, "", false}} {
		err := c.f.fits(c.available)
		assert.True(t, (err == nil) == c.fits, "%s with %q: %v", c.f.name, c.available, err)
	}
	assert.NoError(t, small.fits(field("/proc/meminfo", "MemAvailable")), "this machine")
}

// Switches and keeper are told from each other, and from other programs, by the program and its command.
func TestRunning(t *testing.T) {
	dir := t.TempDir()
	b := &bench{program: filepath.Join(dir, "pfcswitch")}
	shell := assert.Got(filepath.EvalSymlinks("/bin/sh")).Must(t)
	assert.Must(t, os.WriteFile(b.program, assert.Got(os.ReadFile(shell)).Must(t), 0o700))
	for _, script := range []string{"run", "lab"} {
		assert.Must(t, os.WriteFile(filepath.Join(dir, script), []byte("echo began; read line\n"), 0o600))
	}
	_, err := b.running("run")
	assert.Fails(t, err, "no process runs pfcswitch run", "none has begun")
	start := func(program string, args ...string) string {
		c := exec.Command(program, args...)
		c.Dir = dir
		in, out := assert.Got(c.StdinPipe()).Must(t), assert.Got(c.StdoutPipe()).Must(t)
		assert.Must(t, c.Start())
		t.Cleanup(func() { _, _ = in.Close(), c.Wait() }) // read meets the end
		_ = assert.Got(out.Read(make([]byte, 1))).Must(t)
		return strconv.Itoa(c.Process.Pid)
	}
	switches, keeper := start(b.program, "run", "-c"), start(b.program, "lab", "hold")
	start(b.program, "lab", "run")
	start(shell, "run")
	assert.Same(t, assert.Got(b.running("run")).Must(t), []string{switches}, "switches")
	assert.Same(t, assert.Got(b.running("lab", "hold")).Must(t), []string{keeper}, "keeper")
	both := assert.Got(scheduledOf([]string{switches, keeper}, []string{keeper})).Must(t)
	assert.True(t, both[0].threads == 2 && both[1].threads == 1 && both[0].pss > both[1].pss && both[1].pss > 0,
		"%+v", both)
}

// What the keeper takes has names of its own.
func TestSince(t *testing.T) {
	before := schedule{cpu: time.Second, wakeUps: 10}
	now := schedule{cpu: 1200 * time.Millisecond, wakeUps: 30, threads: 7, pss: 3 << 20}
	for of, want := range map[string][]value{
		"": {{"pss_mib", 3}, {"percent_of_a_core", 5}, {"wake_ups_per_second", 5}, {"threads", 7}},
		ofKeeper: {{"keeper_pss_mib", 3}, {"keeper_percent_of_a_core", 5}, {"keeper_wake_ups_per_second", 5},
			{"keeper_threads", 7}},
	} {
		assert.Same(t, now.since(&before, 4, of), want, "%q", of)
	}
}
