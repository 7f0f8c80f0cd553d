package packaging

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
)

// As containerlab does it: the program starts when there is only the management interface, is told the number of links,
// and gets them one by one. It waits for all of them, leaves the management alone, and SIGKILL costs nothing that
// stays.
func TestLateInterfaces(t *testing.T) {
	l := labtest.New(t, "clab")
	sw, far := labtest.Node(t, l, "sw"), labtest.Node(t, l, "far")
	must(t, l.Link(sw, "eth0", far, "mgmt", lab.LinkOptions{}))
	must(t, sw.AddAddr("eth0", "172.20.20.2/24"))
	dir := folder(t)
	env := []string{"CLAB_INTFS=2", "XDG_RUNTIME_DIR=" + dir}
	start := func() *lab.Process {
		proc, err := sw.Start(lab.Command{Name: "switch", Argv: []string{program(t), "run"}, Env: env})
		must(t, err)
		return proc
	}
	const socket = "/run/pfcswitch/pfcswitch.sock"
	proc := start()
	eventually(t, "it says what it waits for", func() bool {
		return strings.Contains(proc.Output(), "waiting for 2 interfaces (CLAB_INTFS)") &&
			strings.Contains(proc.Output(), "eth0: not named")
	})
	must(t, l.Link(sw, "eth1", far, "a", lab.LinkOptions{MTU: 9500}))
	eventually(t, "it says that it has one", func() bool { return strings.Contains(proc.Output(), "eth1: usable") })
	if _, ok := healthy(t, socket); ok {
		t.Error("it is healthy without its second link")
	}
	must(t, l.Link(sw, "e1-2", far, "b", lab.LinkOptions{MTU: 9500}))
	waitFor(t, proc, socket)

	if got := portsOf(t, socket); !slices.Equal(got, []string{"e1-2", "eth1"}) {
		t.Errorf("its ports are %v", got)
	}
	out, err := exec.Command("nsenter", "--net="+sw.Path(), "ip", "-d", "address", "show", "dev",
		"eth0").CombinedOutput()
	must(t, err)
	if !strings.Contains(string(out), "172.20.20.2/24") || !strings.Contains(string(out), "promiscuity 0") {
		t.Errorf("the management interface has changed: %s", out)
	}

	must(t, unix.Kill(proc.Pid(), unix.SIGKILL))
	<-proc.Ended()
	proc = start()
	waitFor(t, proc, socket)
	must(t, sw.DeleteLink("eth1")) // its peer starts anew
	eventually(t, "it says that a port is gone", func() bool {
		out, ok := healthy(t, socket)
		return !ok && strings.Contains(out, "eth1")
	})
	must(t, l.Link(sw, "eth1", far, "a", lab.LinkOptions{}))
	waitFor(t, proc, socket)
	must(t, proc.Stop(unix.SIGTERM, 5*time.Second))
}

// A wrong number of interfaces is an error at once, and a signal ends the wait.
func TestLateInterfacesRefused(t *testing.T) {
	l := labtest.New(t, "clab")
	sw := labtest.Node(t, l, "sw")
	run := func(env string) *lab.Process {
		proc, err := sw.Start(lab.Command{Name: "switch", Argv: []string{program(t), "run"}, Env: []string{env}})
		must(t, err)
		return proc
	}
	for env, want := range map[string]string{
		"CLAB_INTFS=two": "CLAB_INTFS=two: it has to be the number of interfaces",
		"CLAB_INTFS=":    "no interface to take",
		"CLAB_INTFS=0":   "no interface to take",
	} {
		if err := run(env).Wait(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", env, err)
		}
	}
	proc := run("CLAB_INTFS=1")
	eventually(t, "it waits", func() bool { return strings.Contains(proc.Output(), "waiting for 1 interfaces") })
	_ = proc.Stop(unix.SIGTERM, 5*time.Second)
	if !strings.Contains(proc.Output(), "interrupted while waiting for 1 interfaces") {
		t.Errorf("it ends with: %s", proc.Output())
	}
}
