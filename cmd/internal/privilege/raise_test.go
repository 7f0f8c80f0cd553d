package privilege

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

func effective(t *testing.T) (caps [2]unix.CapUserData) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	assert.Must(t, unix.Capget(&header, &caps[0]))
	return caps
}

// What is permitted and not effective is raised or, in a build that cannot, told; what is effective is left alone.
func TestRaise(t *testing.T) {
	assert.MustNoError(t, Raise(), "with all that is permitted")
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	before := effective(t)
	if before[0].Permitted&(1<<unix.CAP_NET_RAW) == 0 {
		t.Skip("this process has no capability to lower: the rest runs as root")
	}
	lowered := before
	lowered[0].Effective, lowered[1].Effective = 0, 0
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	assert.Must(t, unix.Capset(&header, &lowered[0]))
	err := Raise()
	switch after := effective(t); {
	case err != nil && !strings.Contains(err.Error(), "CGO_ENABLED=0"):
		t.Error(err)
	case err == nil && after[0].Effective != after[0].Permitted:
		t.Errorf("effective are %x of %x", after[0].Effective, after[0].Permitted)
	}
}
