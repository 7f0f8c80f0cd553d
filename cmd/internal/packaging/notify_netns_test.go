package packaging

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// A manager hears what systemd would.
type manager struct {
	t *testing.T
	c *net.UnixConn
}

func listen(t *testing.T, path string) *manager {
	t.Helper()
	c := assert.Got(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})).Must(t)
	t.Cleanup(func() { _ = c.Close() })
	return &manager{t, c}
}

// next returns the lines of the next message that is not the watchdog's, or with dogs of any.
func (m *manager) next(dogs bool) []string {
	m.t.Helper()
	must(m.t, m.c.SetReadDeadline(time.Now().Add(20*time.Second)))
	for b := make([]byte, 1024); ; {
		n := assert.Got(m.c.Read(b)).Must(m.t)
		if text := strings.TrimSpace(string(b[:n])); dogs || text != "WATCHDOG=1" {
			return strings.Split(text, "\n")
		}
	}
}

// systemd hears that the switch is ready when it is, that it lives, reloads and ends.
func TestNotify(t *testing.T) {
	p := newMachine(t)
	m := listen(t, filepath.Join(p.dir, "notify"))
	proc := run(t, p.sw, []string{"NOTIFY_SOCKET=" + filepath.Join(p.dir, "notify"), "WATCHDOG_USEC=300000",
		"WATCHDOG_PID="}, "run", "-c", p.config(t, ""))
	assert.MustBeSame(t, m.next(true), []string{"READY=1"}, "the first message")
	if out, ok := healthy(t, p.socket()); !ok {
		t.Errorf("it is ready, and not healthy: %s", out)
	}
	for range 3 {
		assert.Same(t, m.next(true), []string{"WATCHDOG=1"}, "the watchdog is told")
	}
	out, err := exec.Command(program(t), "apply", p.config(t, ", mtu: 1400"), "-s", p.socket()).CombinedOutput()
	assert.MustBeTrue(t, err == nil, "apply: %v\n%s", err, out)
	if got := m.next(false); len(got) != 2 || got[0] != "RELOADING=1" || !strings.HasPrefix(got[1], "MONOTONIC_USEC=") {
		t.Errorf("a change is told as %q", got)
	}
	assert.Same(t, m.next(false), []string{"READY=1"}, "its end is told")
	stop(t, proc)
	assert.Same(t, m.next(false), []string{"STOPPING=1"}, "the end is told")
}

// Without systemd nothing is missed, and a socket that is gone stops no switch.
func TestNotifyNobody(t *testing.T) {
	p := newMachine(t)
	proc := run(t, p.sw, []string{"NOTIFY_SOCKET=" + filepath.Join(p.dir, "nobody")}, "run", "-c", p.config(t, ""))
	waitFor(t, proc, p.socket())
	eventually(t, "it says that nobody listens", func() bool {
		return strings.Contains(proc.Output(), "systemd cannot be told")
	})
	stop(t, proc)
	_, err := os.Stat(p.socket())
	assert.True(t, err != nil, "its socket is left")
}
