package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/cmd/internal/web"
	"pfcswitch/cmd/internal/web/webtest"
)

// A served switch is a process in this namespace, with its ports in another one, that serves its page.
type served struct {
	t    *testing.T
	path string // of its configuration
	cmd  *exec.Cmd
}

func (s *served) start() {
	s.t.Helper()
	s.cmd = exec.Command("/proc/self/exe")
	s.cmd.Env = append(os.Environ(), configKey+"="+s.path, serveKey+"=1")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	labtest.Start(s.t, s.cmd)
}

func (s *served) signal(sig os.Signal) {
	s.t.Helper()
	must(s.t, s.cmd.Process.Signal(sig))
	if sig == os.Kill {
		_ = s.cmd.Wait() // it was killed
	}
}

// freeAddress returns an address of this host at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Who watches a switch that is killed, or stands still, is told so and since when, and sees it when it is there again. The
// page of several switches shows the one as dead and the other as alive.
func TestPageOfADeadSwitch(t *testing.T) {
	r := newRig(t, 1, lab.LinkOptions{})
	own := freeAddress(t)
	s := &served{t: t, path: filepath.Join(r.dir, "switch.yaml")}
	yaml := strings.Replace(setup{ns: r.sw.Path()}.yaml(r, 1), "listen: off", "listen: "+own, 1)
	must(t, os.WriteFile(s.path, []byte(yaml), 0o600))
	s.start()
	t.Cleanup(func() { s.signal(os.Kill) })
	several := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	alive := filepath.Join(r.dir, "alive.sock")
	go func() {
		ended <- web.Run(ctx, web.Options{Listen: several, Switches: []string{filepath.Join(r.dir, "api.sock"), alive, own}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	}()
	t.Cleanup(func() { cancel(); must(t, <-ended) })
	eventually(t, "both pages are there", func() bool { return listens(own) && listens(several) })

	p := webtest.Open(t, "http://"+own+"/", false, 800, 800)
	all := webtest.Open(t, "http://"+several+"/", false, 800, 800)
	const connected, dead = `document.getElementById("contact").textContent === "Connected"`, `document.getElementById("contact").className === "contact dead"`
	row := func(n, cell string) string {
		return `(document.querySelector("#switches-rows tr:nth-child(` + n + `) :nth-child(` + cell + `)") || {textContent: ""}).textContent`
	}
	p.Await("it is connected", connected+` && document.querySelectorAll("#matrix-rows tr").length === 1`)
	all.Await("both ways to the switch are seen", row("1", "2")+` === "runs" && `+row("3", "2")+` === "runs"`)
	all.Await("a switch that never was is seen as such", row("2", "2")+`.startsWith("no answer yet: it does not run")`)
	quiet(t, p, own)

	s.signal(syscall.SIGSTOP)
	p.Await("a switch that stands still counts as dead", dead)
	all.Await("on the page of several too", row("1", "2")+`.includes("does not answer in time")`)
	s.signal(syscall.SIGCONT)
	p.Await("it goes on", connected)
	all.Await("it goes on", row("1", "2")+` === "runs"`)
	quiet(t, p, own)

	s.signal(os.Kill)
	p.Await("a killed switch is shown as dead", dead)
	p.Await("and its numbers as old", `document.getElementById("one").className === "stale"`)
	p.Await("with the time", `/since \d\d:\d\d:\d\d, for 00:00:0[2-9]/.test(document.getElementById("contact").textContent)`)
	all.Await("and on the page of several", row("1", "2")+`.includes("it does not run") && `+row("3", "2")+`.includes("no answer for 00:00:0")`)
	all.Await("where it is chosen, the numbers are old", dead+` && document.getElementById("one").className === "stale"`)
	_ = p.Faults() // that nobody answers is no fault of the page
	s.start()
	p.Await("it is there again", connected+` && document.getElementById("one").className === ""`)
	all.Await("and on the page of several", row("1", "2")+` === "runs" && `+row("3", "2")+` === "runs"`)
	time.Sleep(1500 * time.Millisecond)
	quiet(t, p, own)
	quiet(t, all, several)
	all.Look(true, 400, 800)
	found, _ := all.Nameless()
	dim, _ := all.LowContrast()
	for _, fault := range slices.Concat(all.Overflow(), all.Unreached(), found, dim) {
		t.Errorf("on the page of several: %s", fault)
	}
}

func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
