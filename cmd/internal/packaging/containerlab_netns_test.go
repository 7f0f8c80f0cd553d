package packaging

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// As containerlab does it: the program starts when there is only the management interface, is told the number of links,
// and gets them one by one. It waits for all of them, leaves the management alone, and SIGKILL costs nothing that
// stays.
func TestLateInterfaces(t *testing.T) {
	l := labtest.New(t, "clab")
	sw, far := labtest.Node(t, l, "sw"), labtest.Node(t, l, "far")
	cable(t, l, sw, "eth0", far, "mgmt")
	must(t, sw.AddAddr("eth0", "172.20.20.2/24"))
	dir := labtest.TempDir(t)
	start := func() *lab.Process { return run(t, sw, []string{"CLAB_INTFS=2", "XDG_RUNTIME_DIR=" + dir}, "run") }
	const socket = "/run/pfcswitch/pfcswitch.sock"
	proc := start()
	eventually(t, "it says what it waits for", func() bool {
		return strings.Contains(proc.Output(), "waiting for 2 interfaces (CLAB_INTFS)") &&
			strings.Contains(proc.Output(), "eth0: not named")
	})
	must(t, l.Link(sw, "eth1", far, "a", lab.LinkOptions{MTU: 9500}))
	eventually(t, "it says that it has one", func() bool { return strings.Contains(proc.Output(), "eth1: usable") })
	_, ok := healthy(t, socket)
	assert.True(t, !ok, "it is healthy without its second link")
	must(t, l.Link(sw, "e1-2", far, "b", lab.LinkOptions{MTU: 9500}))
	waitFor(t, proc, socket)

	assert.Same(t, portsOf(t, socket), []string{"e1-2", "eth1"}, "its ports")
	out := labtest.Run(t, sw, "ip", "-d", "address", "show", "dev", "eth0")
	assert.True(t, strings.Contains(out, "172.20.20.2/24") && strings.Contains(out, "promiscuity 0"),
		"the management interface has changed: %s", out)

	must(t, unix.Kill(proc.Pid(), unix.SIGKILL))
	<-proc.Ended()
	proc = start()
	waitFor(t, proc, socket)
	must(t, sw.DeleteLink("eth1")) // its peer starts anew
	eventually(t, "it says that a port is gone", func() bool {
		out, ok := healthy(t, socket)
		return !ok && strings.Contains(out, "eth1")
	})
	cable(t, l, sw, "eth1", far, "a")
	waitFor(t, proc, socket)
	stop(t, proc)
}

// A wrong number of interfaces is an error at once, and a signal ends the wait.
func TestLateInterfacesRefused(t *testing.T) {
	l := labtest.New(t, "clab")
	sw := labtest.Node(t, l, "sw")
	for env, want := range map[string]string{
		"CLAB_INTFS=two": "CLAB_INTFS=two: it has to be the number of interfaces",
		"CLAB_INTFS=":    "no interface to take",
		"CLAB_INTFS=0":   "no interface to take",
	} {
		assert.Fails(t, run(t, sw, []string{env}, "run").Wait(), want, "%s", env)
	}
	proc := run(t, sw, []string{"CLAB_INTFS=1"}, "run")
	eventually(t, "it waits", func() bool { return strings.Contains(proc.Output(), "waiting for 1 interfaces") })
	_ = proc.Stop(unix.SIGTERM, 5*time.Second)
	assert.Contains(t, proc.Output(), "interrupted while waiting for 1 interfaces", "it ends with")
}
