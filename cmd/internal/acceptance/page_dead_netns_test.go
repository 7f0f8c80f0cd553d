package acceptance

import (
	"context"
	"fmt"
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
	"pfcswitch/dataplane/assert"
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

// servedPair starts two switches with a link between them: the first with its page at an address and a host, the other
// with neither. It returns the first and the control socket of the other.
func (r *Rig) servedPair(address string) (s *served, other string) {
	r.T.Helper()
	must(r.T, r.Lab.Link(r.Node, "up", r.Node, "down", lab.LinkOptions{}))
	other = filepath.Join(r.Dir, "other.sock")
	yaml := strings.NewReplacer("listen: off", "listen: "+address, "\nports:\n",
		"\nports:\n  up: {netns: "+r.Node.Path()+"}\n").Replace(Setup{Netns: r.Node.Path()}.YAML(r, 1))
	start := func(name, text string) *served {
		s := &served{t: r.T, path: filepath.Join(r.Dir, name+".yaml")}
		must(r.T, os.WriteFile(s.path, []byte(text), 0o600))
		s.start()
		r.T.Cleanup(func() { s.signal(os.Kill) })
		return s
	}
	start("other", "name: other\nmetrics: {listen: off}\napi: {socket: "+other+"}\nports: {down: {netns: "+
		r.Node.Path()+
		"}}\n")
	return start("switch", yaml), other
}

// freeAddress returns an address of this host at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := assert.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Who watches a switch that is killed, or stands still, is told so and since when, and sees it when it is there again.
// The page of several switches shows the one as dead and the other as alive.
func TestPageOfADeadSwitch(t *testing.T) {
	r := NewRig(t, 1)
	own := freeAddress(t)
	s, other := r.servedPair(own)
	several := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	alive := filepath.Join(r.Dir, "alive.sock") // of a switch that never runs
	go func() {
		ended <- web.Run(ctx, web.Options{Listen: several, Switches: []string{filepath.Join(r.Dir, "api.sock"), alive,
			own, other}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	}()
	t.Cleanup(func() { cancel(); must(t, <-ended) })
	eventually(t, "both pages are there", func() bool { return listens(own) && listens(several) })

	p := webtest.Open(t, "http://"+own+"/", false, 800, 800)
	all := webtest.Open(t, "http://"+several+"/", false, 800, 800)
	const connected, dead = `document.getElementById("contact").textContent === "Connected"`,
		`document.getElementById("contact").className === "contact dead"`
	row := func(n, cell string) string {
		return `(document.querySelector("#switches-rows tr:nth-child(` + n + `) :nth-child(` + cell +
			`)") || {textContent: ""}).textContent`
	}
	p.Await("it is connected", connected+` && document.querySelectorAll("#matrix-rows tr").length === 2`)
	all.Await("both ways to the switch are seen", row("1", "2")+` === "runs" && `+row("3", "2")+` === "runs"`)
	all.Await("a switch that never was is seen as such", row("2", "2")+`.startsWith("no answer yet: it does not run")`)
	quiet(t, p, own)

	p.Await("its neighbor is the other switch", inRow("neighbors-rows", 1, "up")+` === "other"`)
	choose := func(key, label, name string) {
		webtest.Eval[bool](all, `(document.getElementById("choice").focus(), true)`)
		all.Press(key)
		all.Await(label+" is chosen and shown",
			`document.getElementById("choice").value === "`+label+`" && `+shown(name))
	}
	all.Await("the page of several begins with the first",
		shown("test")+` && document.querySelectorAll("#matrix-rows tr").length === 2`)
	all.Await("the picture has each switch once, and its neighbors", picture("switch", 2)+" && "+picture("none", 1)+
		" && "+picture("link", 2)+" && "+picture("switch.bad", 0)+` &&
		[...document.querySelectorAll("#topology-picture title")].some(t => t.textContent.startsWith("test up – other down: "))`)
	if got := webtest.Eval[string](all, `(() => {
		const now = view;
		view = structuredClone(now);
		const first = view.switches[0], of = port => first.state.lldp.find(p => p.port === port);
		const ends = () => network().links.filter(l => l.b.port).map(l => l.a.port + (l.b.w ? " is linked to " : " hears ") + l.b.port);
		of("p1").neighbors = of("up").neighbors;
		const liar = ends();
		of("p1").neighbors = [];
		view.switches[3].state.lldp[0].neighbors = [];
		const silent = ends();
		first.answers = false;
		const dead = ends();
		view = now;
		return [liar, silent, dead].join("; ");
	})()`); got != "up is linked to down,p1 hears down; up hears down; up is linked to down" {
		t.Errorf("with a host at p1 that calls itself the other switch, without an answer by LLDP, and dead: %s", got)
	}
	p.Await("the page of one switch has the other as a neighbor", picture("switch", 1)+" && "+picture("box", 3))
	choose("o", "other", "other")
	all.Await("whose ports and neighbors are others",
		`document.querySelectorAll("#matrix-rows tr").length === 1 && `+inRow("neighbors-rows", 1,
			"down")+` === "test"`)

	s.signal(syscall.SIGSTOP)
	p.Await("a switch that stands still counts as dead", dead)
	all.Await("it is red in the picture", picture("switch.bad", 1))
	all.Await("on the page of several too", row("1", "2")+`.includes("does not answer in time")`)
	all.Await("the other one, which is chosen, is alive",
		connected+` && `+row("4", "2")+` === "runs" && document.getElementById("one").className === ""`)
	asked := all.Asked()
	choose("a", "api", "test")
	assert.Equal(t, all.Asked()-asked, 0, "requests to a switch that does not answer")
	s.signal(syscall.SIGCONT)
	p.Await("it goes on", connected)
	all.Await("it goes on", row("1", "2")+` === "runs"`)
	quiet(t, p, own)

	s.signal(os.Kill)
	p.Await("a killed switch is shown as dead", dead)
	p.Await("and its numbers as old", `document.getElementById("one").className === "stale"`)
	p.Await("with the time",
		`/since \d\d:\d\d:\d\d, for 00:00:0[2-9]/.test(document.getElementById("contact").textContent)`)
	all.Await("and on the page of several", row("1", "2")+`.includes("it does not run") && `+row("3",
		"2")+`.includes("no answer for 00:00:0")`)
	all.Await("where it is chosen, the numbers are old",
		dead+` && document.getElementById("one").className === "stale"`)
	s.start()
	p.Await("it is there again", connected+` && document.getElementById("one").className === ""`)
	for _, fault := range p.Faults() { // that nobody answers is no fault of the page
		assert.True(t, strings.Contains(fault, "net::ERR_") && strings.Contains(fault, own),
			"while the switch was dead: %s", fault)
	}
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

// picture is whether the topology's picture has n parts of a class.
func picture(class string, n int) string {
	return fmt.Sprintf(`document.querySelectorAll("#topology-picture g.%s").length === %d`, class, n)
}

// shown is whether the page shows the switch of this name.
func shown(name string) string {
	return `document.getElementById("name").textContent === "` + name + `"`
}
