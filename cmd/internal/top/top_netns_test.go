package top

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

const testTimeout = 10 * time.Second

// A network is a switch, in a process of its own, and a host at its port p1.
type network struct {
	t        *testing.T
	sw, host *lab.Node
	file     string
	socket   string
	daemon   *lab.Process
}

func newNetwork(t *testing.T) *network {
	l := labtest.New(t, "top")
	dir := t.TempDir()
	n := &network{t: t, sw: labtest.Node(t, l, "sw"), host: labtest.Node(t, l, "h1"),
		file: filepath.Join(dir, "switch.yaml"), socket: filepath.Join(dir, "s.sock")}
	assert.Must(t, l.Link(n.host, "eth0", n.sw, "p1", lab.LinkOptions{}))
	yaml := fmt.Sprintf("name: leaf1\nmetrics: {listen: off}\napi: {socket: %s}\npriorities: {lossless: "+
		"[3]}\nports:\n  p1: {speed: 100M}\n", n.socket)
	for i := 2; i <= 9; i++ {
		yaml += fmt.Sprintf("  absent%d: {}\n", i)
	}
	assert.Must(t, os.WriteFile(n.file, []byte(yaml), 0o600))
	n.start()
	return n
}

func (n *network) start() {
	n.t.Helper()
	var err error
	n.daemon, err = n.sw.Start(lab.Command{Name: "switch", Argv: []string{lab.Self},
		Env: []string{daemonKey + "=" + n.file}})
	assert.Must(n.t, err)
	labtest.Eventually(n.t, "the switch has opened its port", func() bool {
		return strings.Contains(n.daemon.Output(), `msg="port is open" port=p1`)
	})
}

// stop kills the switch.
func (n *network) stop() {
	_ = n.daemon.Stop(syscall.SIGKILL, testTimeout) // the error says that it was killed
}

// storm makes the host pause the switch in priority 3 all the time, until the test has seen it.
func (n *network) storm() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := traffic.RunStorm(ctx, traffic.StormConfig{Interface: "eth0", Netns: n.host.Path(), Speed: 100e6,
			FlowControl: "pfc", Priority: 3, Duty: 100, Duration: time.Minute})
		done <- err
	}()
	return func() {
		cancel()
		assert.NoError(n.t, <-done, "storm")
	}
}

// The screen shows who pauses whom, that the switch is dead, and that it is back.
func TestTopOnTerminal(t *testing.T) {
	n := newNetwork(t)
	x := startTop(t, n.socket)
	x.sees("leaf1", "lossless drops: 0", "p1         up      100M", "held by the peer", "watchdog", "EVENTS",
		"waiting for it", "… 4 ports more", "s sort: configuration")
	end := n.storm()
	x.sees("p1            -   -   - 100   -   -   -   -     -   -   -   0   -")
	end()

	x.types("h")
	x.sees("XOFF, and this port waits")
	x.types("hs")
	x.sees("s sort: received")
	x.types("\r")
	x.sees("HELD FOR", "OF ALL TIME")
	x.types("\r\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B\x1b[B")
	x.sees("absent9")
	x.resize(60, 12)
	x.sees("leaf1", "lossless drops: 0", "absent9")
	for _, line := range strings.Split(x.screen(), "\n") {
		assert.True(t, len([]rune(line)) <= 60, "a line is longer than the terminal: %s", line)
	}
	x.resize(120, 40)
	x.sees("absent2", "absent9", "p1")

	n.stop()
	x.sees("NO SWITCH for", n.socket)
	n.start()
	x.sees("the switch was started again")
	x.types("q")
	err := x.restored()
	assert.True(t, err == nil, "top ends with %v", err)
}

// A switch that hangs is shown as dead too.
func TestTopHangingSwitch(t *testing.T) {
	n := newNetwork(t)
	x := startTop(t, n.socket)
	x.sees("leaf1")
	assert.Must(t, syscall.Kill(n.daemon.Pid(), syscall.SIGSTOP))
	x.sees("NO SWITCH for")
	assert.Must(t, syscall.Kill(n.daemon.Pid(), syscall.SIGCONT))
	x.types("\x03")
	err := x.restored()
	assert.True(t, err == nil, "top ends with %v after Ctrl-C", err)
}

var colour = regexp.MustCompile(`\x1b\[([0-9;:]*)m`)

// A signal and a panic leave the terminal as it was, and NO_COLOR leaves it without colour.
func TestTopRestoresTerminal(t *testing.T) {
	n := newNetwork(t)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		x := startTop(t, n.socket, "NO_COLOR=1")
		x.sees("leaf1")
		assert.Must(t, syscall.Kill(x.cmd.Process.Pid, s))
		err := x.restored()
		assert.True(t, err == nil, "%v: top ends with %v", s, err)
		for _, m := range colour.FindAllStringSubmatch(x.written(), -1) {
			for _, code := range strings.FieldsFunc(m[1], func(r rune) bool { return r == ';' || r == ':' }) {
				if c, err := strconv.Atoi(code); err == nil && c >= 30 && c != 39 && c != 49 {
					t.Errorf("NO_COLOR, and top writes %q", m[0])
				}
			}
		}
	}
	x := startTop(t, "panic")
	err := x.restored()
	assert.True(t, err != nil, "a panic is no failure")
	told := func() bool { // what was written last may not be read yet
		out := x.written()
		return strings.LastIndex(out, "the source is broken") > strings.LastIndex(out, "\x1b[?1049l")
	}
	labtest.Eventually(t, "the page that stays tells what has happened", told)
}
