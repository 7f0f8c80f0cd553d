// Package labtest lets Go tests use labs: Main gets a test binary the rights, Require skips a test without them, New
// makes a lab that ends with the test, and Program builds pfcswitch.
package labtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
)

// unavailable is why this process can build no labs; nil where it can.
var unavailable error

// Main runs the tests of a package, for ordinary users in a user namespace. TestMain calls it; it does not return.
// Where the system forbids namespaces, the tests run nevertheless, and Require skips those that need a lab.
func Main(m *testing.M) {
	status, inside, err := lab.Enter(os.Args[1:])
	if err == nil && !inside {
		os.Exit(status)
	}
	unavailable = err
	status = m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

// folder is what Folder has made; empty before.
var folder string

// Folder makes a folder that other users may enter: one for all tests of the process. Main removes it.
var Folder = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pfcswitch-test")
	if err != nil {
		return "", err
	}
	folder = dir
	return dir, os.Chmod(dir, 0o755)
})

// TempDir is t.TempDir with a short path, which other users may enter.
func TempDir(t testing.TB) string {
	t.Helper()
	dir := assert.Got(os.MkdirTemp("", "pfcswitch-test")).Must(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	assert.Must(t, os.Chmod(dir, 0o755))
	return dir
}

// OneUser reports whether the tests are an ordinary user's, in a user namespace in which nobody else can be.
func OneUser(t testing.TB) bool {
	t.Helper()
	b := assert.Got(os.ReadFile("/proc/self/uid_map")).Must(t)
	f := strings.Fields(string(b))
	return len(f) == 3 && f[2] == "1"
}

// Run runs a command in a node, which has to succeed, and returns what it prints.
func Run(t testing.TB, n *lab.Node, argv ...string) string {
	t.Helper()
	p := assert.Got(n.Start(lab.Command{Argv: argv})).Must(t)
	assert.Must(t, p.Wait())
	return p.Output()
}

// Program returns the path of pfcswitch: what PFCSWITCH_PROGRAM names, else one that it builds in Folder, once for all
// tests of the process.
func Program(t testing.TB) string {
	t.Helper()
	return assert.Got(program()).Must(t)
}

var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("PFCSWITCH_PROGRAM"); path != "" {
		return path, nil
	}
	dir, err := Folder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "pfcswitch")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "pfcswitch/cmd/pfcswitch")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the image is built
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// Require skips the test, with the reason, where this process can build no lab. With REQUIRE_NETNS=1 in the
// environment, as in CI, the test fails instead. The package's TestMain must be Main.
func Require(t testing.TB) {
	t.Helper()
	switch {
	case unavailable == nil:
	case os.Getenv("REQUIRE_NETNS") == "1":
		t.Fatalf("REQUIRE_NETNS=1, but: %v", unavailable)
	default:
		t.Skipf("needs network namespaces: %v", unavailable)
	}
}

// New requires a lab and makes one that is closed when the test ends.
func New(t testing.TB, name string) *lab.Lab {
	t.Helper()
	Require(t)
	l := assert.Got(lab.New(context.Background(), name)).Must(t)
	t.Cleanup(func() { assert.NoError(t, l.Close(), "nothing may stay behind") })
	return l
}

// Node makes a node of l or fails the test.
func Node(t testing.TB, l *lab.Lab, name string) *lab.Node {
	t.Helper()
	return assert.Got(l.Node(name)).Must(t)
}

// Start starts a process with a death signal (SysProcAttr.Pdeathsig). The kernel sends it when the thread ends that
// started the process, so a thread stays as long as the process runs.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	started := make(chan error)
	go runStart(cmd, started)
	assert.Must(t, <-started)
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

// eventuallyTimeout is long: a slow machine is not a fault.
const eventuallyTimeout = time.Minute

// Eventually waits until holds returns true, and fails the test after a minute.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(eventuallyTimeout); !holds(); time.Sleep(5 * time.Millisecond) {
		assert.MustBeTrue(t, !time.Now().After(deadline), "after %v still not: %s", eventuallyTimeout, what)
	}
}
