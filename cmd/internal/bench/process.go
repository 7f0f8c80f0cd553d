package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A process is a program that the benchmark started. It dies with the benchmark, however that ends.
type process struct {
	cmd    *exec.Cmd
	name   string
	stdout bytes.Buffer // to be read when the process has ended
	log    string       // file that has its standard error
	done   chan struct{}
	err    error // of Wait, when done is closed
}

// stopPatience is the time between SIGTERM and SIGKILL.
const stopPatience = 3 * time.Second

// start runs a program, in a namespace where one is given. It belongs to the main goroutine.
func (b *bench) start(namespace string, argv ...string) (*process, error) {
	return b.startWith(namespace, nil, argv...)
}

func (b *bench) startWith(namespace string, prepare func(*exec.Cmd), argv ...string) (*process, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	name := programName(argv)
	if namespace != "" {
		argv = append([]string{"ip", "netns", "exec", namespace}, argv...)
	}
	log, err := os.CreateTemp(b.work, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), name: name, log: log.Name(), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // Ctrl-C is for the benchmark alone
	p.cmd.WaitDelay = time.Second
	if prepare != nil {
		prepare(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	b.children = append(b.children, p)
	go p.runWait()
	return p, nil
}

// programName is what a command line runs, behind "nice -n VALUE" where that begins it.
func programName(argv []string) string {
	if argv[0] == "nice" && len(argv) > 3 {
		argv = argv[3:]
	}
	return filepath.Base(argv[0])
}

func (p *process) runWait() {
	p.err = p.cmd.Wait()
	close(p.done)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// ended tells whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// alive returns an error where the process has ended, which should still be at work.
func (p *process) alive() error {
	if !p.ended() {
		return nil
	}
	return p.explain(errors.Join(errors.New("ended by itself"), p.err))
}

// stop ends the process.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	select {
	case <-p.done:
	case <-time.After(stopPatience):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// wait waits for the end of the process, at most for the given time, and returns what it wrote.
func (b *bench) wait(p *process, most time.Duration) ([]byte, error) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-b.ctx.Done():
		p.stop()
		return nil, b.ctx.Err()
	case <-limit.C:
		p.stop()
		defer b.forget(p)
		return nil, p.explain(fmt.Errorf("did not end within %v", most))
	}
	defer b.forget(p)
	if p.err != nil {
		return p.stdout.Bytes(), p.explain(p.err)
	}
	return p.stdout.Bytes(), nil
}

// explain adds the last lines that the process wrote.
func (p *process) explain(err error) error {
	const lines = 8
	said, _ := os.ReadFile(p.log) // nothing said is fine
	all := strings.Split(strings.TrimSpace(string(said)), "\n")
	return fmt.Errorf("%s: %w: %s", p.name, err, strings.Join(all[max(0, len(all)-lines):], "\n\t"))
}

// forget drops what is kept of a process that has ended.
func (b *bench) forget(p *process) {
	b.children = slices.DeleteFunc(b.children, func(c *process) bool { return c == p })
	_ = os.Remove(p.log)
}

// patience bounds every helper program that should end at once.
const patience = 30 * time.Second

// do runs a helper program to its end.
func (b *bench) do(namespace string, argv ...string) (string, error) {
	return b.doWith(namespace, "", argv...)
}

// doWith is do with a standard input.
func (b *bench) doWith(namespace, input string, argv ...string) (string, error) {
	p, err := b.startWith(namespace, func(c *exec.Cmd) { c.Stdin = strings.NewReader(input) }, argv...)
	if err != nil {
		return "", err
	}
	out, err := b.wait(p, patience)
	return string(out), err
}

// sleep waits, or returns why the run ended.
func (b *bench) sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// eventually waits until ready says so.
func (b *bench) eventually(what string, most time.Duration, ready func() (bool, error)) error {
	var last error
	for end := time.Now().Add(most); time.Now().Before(end); {
		ok, err := ready()
		if ok {
			return nil
		}
		last = err
		if err := b.sleep(5 * time.Millisecond); err != nil {
			return err
		}
	}
	return errors.Join(fmt.Errorf("%s: not within %v", what, most), last)
}
