package lab_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// testUser is an ordinary user's identity. Only root can take it; when the tests are an ordinary user's, the
// whole test binary went through Enter already.
func testUser(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	requireUserNamespaces(t)
	if labtest.OneUser(t) {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// checkOwnRoot makes a process root of a new user namespace.
func checkOwnRoot() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// requireUserNamespaces skips, or with REQUIRE_NETNS=1 fails, where even root may not have them.
func requireUserNamespaces(t *testing.T) {
	t.Helper()
	labtest.Require(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleKey+"=interfaces")
	cmd.SysProcAttr = checkOwnRoot()
	switch err := cmd.Run(); {
	case err == nil:
	case os.Getenv("REQUIRE_NETNS") == "1":
		t.Fatalf("REQUIRE_NETNS=1, but no user namespace: %v", err)
	default:
		t.Skipf("needs user namespaces: %v", err)
	}
}

func TestEnterAsOrdinaryUser(t *testing.T) {
	attr := testUser(t)
	cmd, lines := startRole(t, "enter", attr)
	if attr.Credential != nil { // else it has the rights already and Enter returned at once
		assert.Equal(t, lines.Text(), "inside 0 the arguments 2 <nil>", "inside")
		assert.True(t, lines.Scan() && strings.Contains(lines.Text(), "--user"),
			"the command to enter does not enter the user namespace: %q", lines.Text())
	}
	err := cmd.Wait()
	assert.True(t, cmd.ProcessState.ExitCode() == 7, "status: %v, want that of the inner process, 7", err)
}

func TestEnterHandsOnSignals(t *testing.T) {
	attr := testUser(t)
	cmd, lines := startRole(t, "enter-wait", attr)
	inner := pidAfter(t, lines.Text(), "inner")
	assert.MustBeTrue(t, attr.Credential == nil || inner != cmd.Process.Pid, "Enter did not make a process")
	assert.Must(t, cmd.Process.Signal(unix.SIGTERM))
	err := cmd.Wait()
	assert.True(t, attr.Credential == nil || cmd.ProcessState.ExitCode() == 128+15,
		"status after SIGTERM: %v, want 143", err)
	assert.True(t, !alive(inner), "the inner process lives on")
}

func TestEnterInnerDiesWithOuter(t *testing.T) {
	cmd, lines := startRole(t, "enter-wait", testUser(t))
	inner := pidAfter(t, lines.Text(), "inner")
	assert.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	labtest.Eventually(t, "inner process died", func() bool { return !alive(inner) })
}

func TestEnterWhereForbidden(t *testing.T) {
	requireUserNamespaces(t)
	_, lines := startRole(t, "forbidden", checkOwnRoot())
	for _, want := range []string{"false lab: create user", "no space left on device",
		"user.max_user_namespaces is 0"} {
		assert.True(t, strings.Contains(lines.Text(), want), "got %q, want one that says %q", lines.Text(), want)
	}
}
