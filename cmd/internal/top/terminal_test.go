package top

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// A terminal is a pseudo-terminal with an emulator behind it that knows what a person would see.
type terminal struct {
	t     *testing.T
	pty   *os.File
	tty   *os.File
	vt    vt.MockTerm
	begin unix.Termios
	cmd   *exec.Cmd
	ended chan error

	mu  sync.Mutex
	raw strings.Builder // all that was written
}

// startTop runs top on a terminal of 80 columns and 24 rows.
func startTop(t *testing.T, socket string, env ...string) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	assert.Must(t, err)
	term := &terminal{t: t, pty: master, tty: slave, ended: make(chan error, 1),
		vt: vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24})}
	assert.Must(t, pty.Setsize(master, &pty.Winsize{Cols: 80, Rows: 24}))
	term.begin = term.modes()
	assert.Must(t, term.vt.Start())
	go term.runOutput()
	go term.runAnswers()
	term.cmd = exec.Command("/proc/self/exe")
	term.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", topKey+"="+socket), env...)
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = slave, slave, slave
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	labtest.Start(t, term.cmd)
	go func() { term.ended <- term.cmd.Wait() }()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		_ = slave.Close()
		_ = master.Close()
		_ = term.vt.Stop()
	})
	return term
}

// runOutput shows what the program writes.
func (x *terminal) runOutput() {
	b := make([]byte, 4096)
	for {
		n, err := x.pty.Read(b)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.raw.Write(b[:n])
		x.mu.Unlock()
		_, _ = x.vt.Write(b[:n])
	}
}

// runAnswers hands on what the terminal answers to questions of the program.
func (x *terminal) runAnswers() {
	b := make([]byte, 4096)
	for {
		n, err := x.vt.Read(b)
		if err != nil {
			return
		}
		if n > 0 {
			_, _ = x.pty.Write(b[:n])
		}
	}
}

// modes are the settings of the terminal.
func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	m := assert.Got(unix.IoctlGetTermios(int(x.tty.Fd()), unix.TCGETS)).Must(x.t)
	return *m
}

// written is all that the program has written.
func (x *terminal) written() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

// screen is what a person sees.
func (x *terminal) screen() string {
	size := assert.Got(x.vt.WindowSize()).Must(x.t)
	var s strings.Builder
	for y := range size.Height {
		line := ""
		for column := range size.Width {
			c := x.vt.GetCell(vt.Coord{X: vt.Col(column), Y: vt.Row(y)}).C
			c = cmp.Or(c, " ")
			line += c
		}
		s.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return s.String()
}

// sees waits until all texts are on the screen.
func (x *terminal) sees(texts ...string) {
	x.t.Helper()
	var missing string
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		screen := x.screen()
		missing = ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
	}
	x.t.Fatalf("%q is not on the screen:\n%s", missing, x.screen())
}

// types hits keys.
func (x *terminal) types(keys string) {
	x.t.Helper()
	assert.Got(x.pty.WriteString(keys)).Must(x.t)
}

// resize makes the terminal another size, which the kernel tells the program.
func (x *terminal) resize(columns, rows uint16) {
	x.t.Helper()
	x.vt.SetSize(vt.Coord{X: vt.Col(columns), Y: vt.Row(rows)})
	assert.Must(x.t, pty.Setsize(x.pty, &pty.Winsize{Cols: columns, Rows: rows}))
}

// restored waits for the end, and holds the terminal against what it was.
func (x *terminal) restored() error {
	x.t.Helper()
	var err error
	select {
	case err = <-x.ended:
	case <-time.After(15 * time.Second):
		x.t.Fatalf("top does not end:\n%s", x.screen())
	}
	assert.Equal(x.t, x.modes(), x.begin, "the terminal is not as before")
	left := func() bool { // what was written last may not be read yet
		out := x.written()
		return strings.Contains(out, "\x1b[?1049h") && strings.LastIndex(out, "\x1b[?1049l") > strings.LastIndex(out,
			"\x1b[?1049h")
	}
	for deadline := time.Now().Add(15 * time.Second); !left(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Error("the other page of the terminal was not left")
			break
		}
	}
	return err
}
