package packaging

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// portsOf returns the names of the ports of a switch.
func portsOf(t *testing.T, socket string) (names []string) {
	t.Helper()
	out := assert.Got(exec.Command(program(t), "show", "ports", "-j", "-s", socket).Output()).Must(t)
	var answer api.Ports
	must(t, json.Unmarshal(out, &answer))
	for _, p := range answer.Ports {
		names = append(names, p.Port)
	}
	slices.Sort(names)
	return names
}

// Without a file the switch takes what is named like a data interface and is nobody's; with --port what it is told; and
// where there is nothing to take it says what it saw, and why not.
func TestRunWithoutAFile(t *testing.T) {
	const socket = "/run/pfcswitch/pfcswitch.sock"
	l := labtest.New(t, "zero")
	sw, far := labtest.Node(t, l, "sw"), labtest.Node(t, l, "far")
	for _, name := range []string{"eth0", "eth1", "eth2", "eth3", "eth4", "e1-5"} {
		cable(t, l, sw, name, far, name)
	}
	labtest.Run(t, sw, "ip", "link", "add", "br0", "type", "bridge")
	labtest.Run(t, sw, "ip", "link", "set", "eth2", "master", "br0")
	must(t, sw.AddAddr("eth3", "192.0.2.1/24"))
	labtest.Run(t, sw, "ip", "route", "add", "default", "dev", "eth4")
	for _, tt := range []struct{ args, want []string }{
		{nil, []string{"e1-5", "eth1"}},
		{[]string{"--port", "eth1"}, []string{"eth1"}},
		{[]string{"--port", "eth1", "--port", "eth0"}, []string{"eth0", "eth1"}},
	} {
		p := run(t, sw, nil, append([]string{"run"}, tt.args...)...)
		waitFor(t, p, socket)
		assert.Same(t, portsOf(t, socket), tt.want, "run %v: it takes", tt.args)
		stop(t, p)
	}
	for _, name := range []string{"eth1", "e1-5"} {
		must(t, sw.DeleteLink(name))
	}
	for _, tt := range []struct{ args, want []string }{
		{nil, []string{"no interface to take. Seen:", "eth0: not named eth1", "eth2: belongs to a bridge or bond",
			"eth3: has the address 192.0.2.1/24",
			"eth4: carries the default route", "Name them with --port"}},
		{[]string{"-c", "switch.yaml", "--port", "eth1"}, []string{"-c and --port exclude each other"}},
		{[]string{"--port", "eth3"}, []string{"eth3", "192.0.2.1/24"}},
	} {
		p := run(t, sw, nil, append([]string{"run"}, tt.args...)...)
		select {
		case <-p.Ended():
		case <-time.After(10 * time.Second):
			t.Fatalf("run %v does not end: %s", tt.args, p.Output())
		}
		for _, want := range tt.want {
			if err := p.Wait(); err == nil || !strings.Contains(p.Output(), want) {
				t.Errorf("run %v: %v, want %q in\n%s", tt.args, err, want, p.Output())
			}
		}
	}
}
