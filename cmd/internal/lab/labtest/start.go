package labtest

import (
	"errors"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Start starts a process that is to die with the test (SysProcAttr.Pdeathsig). The kernel takes the end of the thread that
// started it for the parent's end, and threads that were in another namespace do end; so this one stays while the process runs.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	started := make(chan error)
	go runStart(cmd, started)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

func runStart(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
}
