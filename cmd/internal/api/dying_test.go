package api

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

const dyingVariable = "PFCSWITCH_TEST_DYING"

// Where the variable names a socket, this process listens there and ends its first thread: it looks as a killed switch
// does, of which another thread still gives the rings back. It ends with its standard input.
func init() {
	path := os.Getenv(dyingVariable)
	if path == "" {
		return
	}
	if _, err := net.Listen("unix", path); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // of this thread: init runs on the first one
}

// A start waits for a switch that was killed and still has the socket, but not for ever, and not for one that lives.
func TestListenWaitsForADyingSwitch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dyingVariable+"="+path)
	end := assert.Got(cmd.StdinPipe()).Must(t)
	assert.Must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = end.Close() }()
	for !dying(cmd.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	patience := dyingPatience
	t.Cleanup(func() { dyingPatience = patience })
	dyingPatience = 0
	_, err := Listen(path, false)
	want := fmt.Sprintf("process %d, which listens there, was killed", cmd.Process.Pid)
	assert.Fails(t, err, want, "it goes on dying")
	dyingPatience = time.Minute
	listened := make(chan error)
	go func() {
		l, err := Listen(path, false)
		if err == nil {
			err = l.Close()
		}
		listened <- err
	}()
	select {
	case err := <-listened:
		t.Errorf("did not wait: %v", err)
	case <-time.After(10 * dyingPoll):
		_ = end.Close()
		assert.NoError(t, <-listened, "Listen after the end of the other")
	}
	assert.True(t, !dying(os.Getpid()) && !dying(0), "this process, or none, is taken for one that ends")
}
