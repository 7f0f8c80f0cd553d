package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// image is the user of the container image.
const image = 65532

// The two that a switch needs, and the one for programs in the kernel, as masks of /proc/PID/status.
const (
	netRaw   = 1 << unix.CAP_NET_RAW
	netAdmin = 1 << unix.CAP_NET_ADMIN
	capBPF   = 1 << unix.CAP_BPF
)

// as returns the command that runs a program as the image's user, with setpriv's further arguments.
func as(args ...string) []string {
	return append([]string{"setpriv", fmt.Sprintf("--reuid=%d", image), fmt.Sprintf("--regid=%d", image),
		"--clear-groups"}, args...)
}

// requireUsers skips where this process cannot be another user.
func requireUsers(t *testing.T) {
	t.Helper()
	labtest.Require(t)
	if labtest.OneUser(t) {
		t.Skip("the tests are an ordinary user's, who cannot become another one: run them as root")
	}
	for _, tool := range []string{"setcap", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (Debian: apt-get install libcap2-bin util-linux)", err)
		}
	}
}

// withFileCapabilities returns a copy of the program as the image has it.
func withFileCapabilities(t *testing.T) string {
	t.Helper()
	dir := labtest.TempDir(t)
	b := assert.Got(os.ReadFile(program(t))).Must(t)
	must(t, os.WriteFile(filepath.Join(dir, "pfcswitch"), b, 0o755))
	command := assert.Got(runCommand("build", "setcap")).Must(t)
	must(t, inBuildStage(command, dir))
	return filepath.Join(dir, "pfcswitch")
}

// A machine has a switch in the middle of two hosts, and a folder for its socket.
type machine struct {
	lab        *lab.Lab
	sw, h1, h2 *lab.Node
	dir        string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	l := labtest.New(t, "packaging")
	p := &machine{lab: l, sw: labtest.Node(t, l, "sw"), h1: labtest.Node(t, l, "h1"), h2: labtest.Node(t, l, "h2"),
		dir: labtest.TempDir(t)}
	cable(t, l, p.h1, "eth0", p.sw, "p1")
	cable(t, l, p.h2, "eth0", p.sw, "p2")
	return p
}

func (p *machine) socket() string { return filepath.Join(p.dir, "sw.sock") }

// config writes the switch's file.
func (p *machine) config(t *testing.T, keys string) string {
	t.Helper()
	return write(t, filepath.Join(p.dir, "sw.yaml"), fmt.Sprintf("name: sw\npreset: roce\nmetrics: {listen: "+
		"off}\napi: {socket: %s}\nports:\n  p1: {speed: 200M%s}\n  p2: {speed: 200M%s}\n",
		p.socket(), keys, keys))
}

// start runs the switch by a command to which the program's own arguments are added.
func (p *machine) start(t *testing.T, keys string, command ...string) *lab.Process {
	t.Helper()
	proc, err := p.sw.Start(lab.Command{Name: "switch", Argv: append(command, "run", "-c", p.config(t, keys))})
	must(t, err)
	return proc
}

// status returns a line of a process's status.
func status(t *testing.T, pid int, key string) string {
	t.Helper()
	b := assert.Got(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))).Must(t)
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in the status of %d", key, pid)
	return ""
}

// An ordinary user with few capabilities has a switch that loses nothing: from the program's file, in a container that
// may not have CAP_BPF, and as systemd starts it, with those that its unit names.
func TestFewCapabilities(t *testing.T) {
	requireUsers(t)
	unitCaps := strings.ToLower(strings.ReplaceAll("+"+strings.Join(strings.Fields(setting(t, "AmbientCapabilities")),
		",+"), "CAP_", ""))
	for _, way := range []struct {
		name    string
		command []string
		health  []string // how the health command is run
		has     int
	}{
		{"file", append(as("--bounding-set=-all,+net_raw,+net_admin", "--inh-caps=-all"), withFileCapabilities(t)),
			as(), netRaw | netAdmin},
		{"systemd", append(as("--bounding-set=-all,"+unitCaps, "--inh-caps=-all,"+unitCaps,
			"--ambient-caps=-all,"+unitCaps, "--no-new-privs"), program(t)), as("--no-new-privs"),
			netRaw | netAdmin | capBPF},
	} {
		t.Run(way.name, func(t *testing.T) {
			p := newMachine(t)
			must(t, os.Chown(p.dir, image, image))
			proc := p.start(t, "", way.command...)
			health := func() (string, error) {
				out, err := exec.Command(way.health[0], append(way.health[1:], program(t), "health", "-s",
					p.socket())...).CombinedOutput()
				return string(out), err
			}
			well := func() bool { _, err := health(); return err == nil }
			waitUntil(t, proc, well)
			all := fmt.Sprintf("%016x", way.has)
			for key, want := range map[string]string{"CapEff": all, "CapPrm": all, "CapBnd": all,
				"Uid": "65532\t65532\t65532\t65532"} {
				assert.Equal(t, status(t, proc.Pid(), key), want, "%s", key)
			}
			checkTraffic(t, p.h2, "eth0", 0.5, map[*lab.Node]string{p.h1: "eth0"})
			must(t, p.sw.LinkDown("p2"))
			eventually(t, "health tells of a link that is down", func() bool {
				out, err := health()
				return err != nil && strings.Contains(out, "p2")
			})
			must(t, p.sw.LinkUp("p2"))
			waitUntil(t, proc, well)
			stop(t, proc)
			if out, err := health(); err == nil || !strings.Contains(out, "no running switch found") {
				t.Errorf("health of a switch that has ended: %v, %s", err, out)
			}
		})
	}
}

// The program starts without a capability and prints which one is missing.
func TestMissingCapabilities(t *testing.T) {
	requireUsers(t)
	file := withFileCapabilities(t)
	p := newMachine(t)
	must(t, os.Chown(p.dir, image, image))
	for _, test := range []struct{ name, bounding, keys, want string }{
		{"none", "-all", "", "needs CAP_NET_RAW and CAP_NET_ADMIN"},
		{"no CAP_NET_RAW", "-all,+net_admin", "", "needs CAP_NET_RAW and CAP_NET_ADMIN"},
		{"a port in another namespace", "-all,+net_raw,+net_admin", ", netns: " + p.sw.Path(), "needs CAP_SYS_ADMIN"},
	} {
		proc := p.start(t, test.keys, append(as("--bounding-set="+test.bounding, "--inh-caps=-all"), file)...)
		eventually(t, test.name+": the switch says what it lacks", func() bool {
			return strings.Contains(proc.Output(), test.want)
		})
		_ = proc.Stop(unix.SIGTERM, 5e9) // it may have ended by itself
		t.Logf("%s: %s", test.name, strings.TrimSpace(proc.Output()))
	}
}
