package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// niceChild tells a process of this test that it is the one to be changed.
const niceChild = "PFCSWITCH_TEST_NICE_CHILD"

// All threads of a process get the nice value, and so do those that come later.
func TestSetNice(t *testing.T) {
	const nice = 7
	if os.Getenv(niceChild) == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestSetNice$", "-test.v")
		c.Env = append(os.Environ(), niceChild+"=1")
		out, err := c.CombinedOutput()
		assert.True(t, err == nil && strings.Contains(string(out), "PASS: TestSetNice"), "%v\n%s", err, out)
		return
	}
	threads := func(n int) {
		var begun sync.WaitGroup
		for range n {
			begun.Add(1)
			go func() {
				runtime.LockOSThread()
				begun.Done()
				<-t.Context().Done()
			}()
		}
		begun.Wait()
	}
	for _, value := range []int{0, nice, 0} { // 0 changes nothing
		threads(5)
		must(t, SetNice(value))
		if value == nice {
			threads(5)
		}
	}
	all := assert.Got(os.ReadDir("/proc/self/task")).Must(t)
	for _, entry := range all {
		thread := assert.Got(strconv.Atoi(entry.Name())).Must(t)
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, thread) // else it has ended
		assert.True(t, err != nil || 20-raw == nice, "thread %d has %d, want %d", thread, 20-raw, nice)
	}
	assert.True(t, len(all) >= 10, "only %d threads", len(all))
}

// Where it is not allowed the error says what would allow it, and the switch, which goes on, logs that and notes it in
// an event.
func TestSetNiceIsRefused(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	var none [2]unix.CapUserData
	must(t, unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]))
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NICE, &limit))
	if limit.Cur >= 40 {
		t.Skip("whoever runs this test may have any nice value")
	}
	refused := SetNice(-20)
	assert.MustBeTrue(t, errors.Is(refused, unix.EACCES) || errors.Is(refused, unix.EPERM),
		"without a right to it: %v", refused)
	said := refused.Error()
	for _, want := range []string{"nice -20: ", "CAP_SYS_NICE", "LimitNICE=", "nice: 0"} {
		assert.True(t, strings.Contains(said, want), "%q does not say %q", said, want)
	}
	var log bytes.Buffer
	d := unpluggedLog(t, "", "flow_control: off", slog.New(slog.NewTextHandler(&log, nil)))
	d.ReportRefused("the switch may wait", refused)
	noted := func(e dataplane.Event) bool { return e.Kind == dataplane.EventConfig && e.Port == "" && e.Text == said }
	events := d.Source().Events(0)
	assert.True(t, slices.ContainsFunc(events, noted), "events %+v, want one with %q", events, said)
	must(t, d.Close()) // the log is written by then
	assert.True(t, strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), said),
		"the log: %s", log.String())
}

// A thread that has ended needs no nice value.
func TestSetNiceOfNoThread(t *testing.T) {
	different, err := setNiceOf(1<<30, 7)
	assert.True(t, !different && err == nil, "%v, %v", different, err)
}
