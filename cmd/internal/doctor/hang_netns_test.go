package doctor

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// Doctor names the thread of a running switch that the kernel does not run, and its ports, and is silent once it runs
// again.
func TestOneThreadIsStopped(t *testing.T) {
	labtest.Require(t)
	r := newRig(t)
	r.write("name: sw1\nworkers: per-port\npreset: roce\nmetrics: {listen: off}\napi: {socket: " +
		r.socket + "}\nports: {p1: {netns: " + r.sw.Path() + "}}\n")
	cmd := exec.Command(labtest.Program(t), "run", "-c", r.file)
	var log bytes.Buffer
	cmd.SysProcAttr, cmd.Stderr = group(), &log
	labtest.Start(t, cmd)
	t.Cleanup(func() {
		terminate(cmd.Process.Pid)
		_ = cmd.Wait() // by the signal
		t.Logf("the switch: %s", log.String())
	})
	var receiver *api.Thread
	eventually(t, "a thread receives at p1", func() bool {
		f, err := OfSwitch(context.Background(), r.socket)
		if err != nil || find(Judge(f), "thread-hangs") != nil {
			return false
		}
		receiver = first(f.Threads, func(t *api.Thread) bool { return len(t.Receives) == 1 })
		return receiver != nil
	})
	release := stop(t, receiver.Thread)
	var found *api.Finding
	eventually(t, "doctor finds the thread, which has not looked for a second", func() bool {
		f := assert.Got(OfSwitch(context.Background(), r.socket)).Must(t)
		found = find(Judge(f), "thread-hangs")
		silent := first(f.Threads, func(of *api.Thread) bool { return of.Thread == receiver.Thread })
		return found != nil && silent.BehindNs >= 1e9 && silent.State == api.ThreadStopped
	})
	want := fmt.Sprintf("thread %d of switch sw1 has not looked at its ports for ", receiver.Thread)
	place := fmt.Sprintf("/proc/%d/task/%d", cmd.Process.Pid, receiver.Thread)
	assert.True(t, strings.HasPrefix(found.Seen, want) && strings.Contains(found.Effect, "the frames of p1:") &&
		strings.HasSuffix(found.Effect, place), "%+v", found)
	t.Log(r.ofSwitch().Detail())
	release()
	eventually(t, "doctor is silent", func() bool { return find(r.ofSwitch(), "thread-hangs") == nil })
}

// stop stops one thread of another process, as a debugger does, until the caller releases it or the test ends.
func stop(t *testing.T, thread int) (release func()) {
	t.Helper()
	stopped, end := make(chan error), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // the tracer is a thread
		defer runtime.UnlockOSThread()
		err := unix.PtraceSeize(thread)
		if err == nil {
			err = unix.PtraceInterrupt(thread)
		}
		if err == nil {
			_, err = unix.Wait4(thread, nil, unix.WALL, nil)
		}
		if stopped <- err; err == nil {
			<-end
			assert.NoError(t, unix.PtraceDetach(thread), "PtraceDetach")
		}
	})
	if err := <-stopped; err != nil {
		t.Skipf("skipping, a thread cannot be traced here: %v", err)
	}
	release = sync.OnceFunc(func() {
		close(end)
		done.Wait()
	})
	t.Cleanup(release)
	return release
}

// A thread that hangs may have the locks that all other answers need: doctor names it all the same.
func TestDoctorOfASwitchWithoutAnswers(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	l := assert.Got(net.Listen("unix", socket)).Must(t)
	hangs := true
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/threads", func(w http.ResponseWriter, _ *http.Request) {
		state := map[bool]string{true: api.ThreadStopped, false: api.ThreadLooks}[hangs]
		must(t, api.WriteJSON(w, &api.Threads{Schema: api.Schema, Switch: "s1", Threads: []api.Thread{{Thread: 7,
			State: state, Receives: []string{"p1"}, BehindNs: 3e9}}}))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusGone) })
	s := &http.Server{Handler: mux}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	defer func() {
		_ = s.Close()
		serving.Wait()
	}()
	for _, hangs = range []bool{true, false} {
		f, err := OfSwitch(t.Context(), socket)
		if !hangs {
			assert.True(t, err != nil, "all threads look, and there is no answer: no error")
			continue
		}
		must(t, err)
		found := find(Judge(f), "thread-hangs")
		assert.True(t, found != nil && strings.HasPrefix(found.Seen, "thread 7 of switch s1 has not looked") &&
			strings.Contains(strings.Join(f.NotSeen, ""), "the ports of the switch: "),
			"%+v, not seen %v", found, f.NotSeen)
	}
}
