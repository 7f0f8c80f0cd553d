package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// startRole starts the test binary in a role, outside of any lab, and returns the first line that it prints.
func startRole(t *testing.T, role string, attr *syscall.SysProcAttr) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleKey+"="+role)
	cmd.SysProcAttr = attr
	out := assert.Got(cmd.StdoutPipe()).Must(t)
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines = bufio.NewScanner(out)
	assert.MustBeTrue(t, lines.Scan(), "role %s printed nothing", role)
	return cmd, lines
}

// namespacesOf lists the named network namespaces of the labs of a process.
func namespacesOf(t *testing.T, pid int) (names []string) {
	t.Helper()
	entries := assert.Got(os.ReadDir("/run/netns")).Must(t)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("pfcsw-%d-", pid)) {
			names = append(names, e.Name())
		}
	}
	return names
}

// alive says whether there is such a process and it is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// pidAfter returns the number that follows word.
func pidAfter(t *testing.T, text, word string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, word)
	fields := strings.Fields(rest)
	assert.MustBeTrue(t, len(fields) != 0, "no %q in %q", word, text)
	return assert.Got(strconv.Atoi(fields[0])).Must(t)
}

func TestKilledLabIsClearedByTheNext(t *testing.T) {
	labtest.Require(t)
	dead, deadLines := startRole(t, "hold", nil)
	living, _ := startRole(t, "hold", nil)
	deadPid, livingPid := dead.Process.Pid, living.Process.Pid
	var child int
	if _, err := fmt.Sscanf(deadLines.Text(), "built %d %d", new(int), &child); err != nil {
		t.Fatalf("%q: %v", deadLines.Text(), err)
	}
	assert.Must(t, dead.Process.Kill())
	_ = dead.Wait()
	labtest.Eventually(t, "the killed lab's process died with it", func() bool { return !alive(child) })
	assert.MustEqual(t, len(namespacesOf(t, deadPid)), 2,
		"namespaces of the killed lab, want 2 (else this test shows nothing)")

	l := assert.Got(lab.New(context.Background(), "next")).Must(t)
	defer l.Close()
	assert.Same(t, namespacesOf(t, deadPid), nil, "still there of the killed lab")
	assert.Equal(t, len(namespacesOf(t, livingPid)), 2, "namespaces of the living lab")
}

func TestLabEndsOnSignalAndPanic(t *testing.T) {
	labtest.Require(t)
	for _, test := range []struct {
		role string
		sig  syscall.Signal
	}{
		{"interrupt", syscall.SIGINT},
		{"interrupt", syscall.SIGTERM},
		{"panic", 0},
	} {
		cmd, _ := startRole(t, test.role, nil)
		assert.Must(t, cmd.Process.Signal(test.sig))
		err := cmd.Wait()
		assert.True(t, test.role != "panic" || err != nil, "the role that panics ended well")
		assert.Same(t, namespacesOf(t, cmd.Process.Pid), nil, "%s, %v: left behind", test.role, test.sig)
	}
}

func TestNamespaceNames(t *testing.T) {
	l, h1, _ := twoHosts(t, lab.LinkOptions{})
	want := fmt.Sprintf("pfcsw-%d-two-h1", os.Getpid())
	assert.True(t, h1.Namespace() == want && h1.Path() == "/run/netns/"+want, "namespace %s at %s, want %s",
		h1.Namespace(), h1.Path(), want)
	assert.Equal(t, len(namespacesOf(t, os.Getpid())), 2, "names while up")
	assert.True(t, strings.Contains(h1.EnterCommand(), h1.Path()), "EnterCommand %q does not name %s",
		h1.EnterCommand(), h1.Path())
	assert.Must(t, l.Close())
	assert.Same(t, namespacesOf(t, os.Getpid()), nil, "names after Close")
}

// The first "ip netns add" on a machine mounts the folder of the namespaces on itself. A lab that is there already can
// still be removed.
func TestLabBesideIP(t *testing.T) {
	labtest.Require(t)
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("NO ip: its namespaces beside a lab's are not checked (install iproute2)")
	}
	_, lines := startRole(t, "beside-ip", &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS})
	got := lines.Text()
	assert.True(t, got == "left behind 0 <nil>", "%v", got)
}
