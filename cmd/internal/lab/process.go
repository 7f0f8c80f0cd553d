package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/port"
)

// Self is, as the first word of Command.Argv, the program that is running now.
const Self = "/proc/self/exe"

// Command says what to run in a node.
type Command struct {
	Name   string    // what messages call it; default: the program's base name
	Argv   []string  // the program (a path, or looked up in PATH; Self) and its arguments
	Env    []string  // "KEY=value", added to the own environment
	Stdout io.Writer // nil: the last 64 KiB are kept for Output
	Stderr io.Writer // nil: likewise, in the order of writing

	Untimed bool // no sampler runs for Scheduled

	Grace time.Duration // between SIGTERM and SIGKILL when the lab is closed; 0: 2 s
}

// A Process is a program that runs, or ran, inside a node. It leads a process group, which is killed when the process
// ends. The kernel kills the process when this process dies.
type Process struct {
	name     string
	node     *Node
	cmd      *exec.Cmd
	grace    time.Duration
	output   outputTail
	runQueue runQueueStats

	ended chan struct{} // closed when err is set
	err   error
}

// Start runs a program inside the node's network namespace.
func (n *Node) Start(c Command) (*Process, error) {
	if len(c.Argv) == 0 {
		return nil, fmt.Errorf("lab: node %s: start %s: no program given", n.name, c.Name)
	}
	p := newProcess(n, c)
	n.processes.Lock()
	defer n.processes.Unlock()
	if n.processes.closed {
		return nil, ErrClosed
	}
	if err := n.fork(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("lab: node %s: start %s: %w", n.name, p.name, err)
	}
	n.processes.all = append(n.processes.all, p)
	p.runQueue.pid = p.cmd.Process.Pid
	if !c.Untimed {
		go p.runSampler()
	}
	go p.runWait()
	return p, nil
}

// fork runs f on the lab's own thread, in the node's namespace. The lab is not closed.
func (n *Node) fork(f func() error) error {
	done := make(chan error, 1)
	n.lab.forks <- func() {
		err := n.enter()
		if err == nil {
			err = f()
		}
		done <- err
	}
	return <-done
}

// runForks is the lab's own thread, which forks its processes. When the thread ends, the kernel kills those that are
// left.
func (l *Lab) runForks() {
	defer close(l.forked)
	port.OnOwnThread(func() {
		for f := range l.forks {
			f()
		}
	})
}

func newProcess(n *Node, c Command) *Process {
	p := &Process{name: c.Name, node: n, grace: cmp.Or(c.Grace, stopTimeout), ended: make(chan struct{}),
		runQueue: runQueueStats{files: map[int]*os.File{}}}
	p.cmd = exec.Command(c.Argv[0], c.Argv[1:]...)
	if c.Argv[0] == Self {
		p.cmd.Args[0] = os.Args[0]
	}
	p.name = cmp.Or(p.name, filepath.Base(p.cmd.Args[0]))
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Stdout, p.cmd.Stderr = cmp.Or(c.Stdout, io.Writer(&p.output)), cmp.Or(c.Stderr, io.Writer(&p.output))
	p.cmd.WaitDelay = time.Second // a descendant outside the group may hold the pipes
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return p
}

// lastProcesses returns the node's processes and lets no more be started.
func (n *Node) lastProcesses() []*Process {
	n.processes.Lock()
	defer n.processes.Unlock()
	n.processes.closed = true
	return n.processes.all
}

// runWait kills the group of a process that has ended, then reaps the process. Until the leader is reaped, no other
// group can get the number.
func (p *Process) runWait() {
	pid := p.cmd.Process.Pid
	awaitEnd(pid)
	p.runQueue.end()
	_ = unix.Kill(-pid, unix.SIGKILL)
	p.err = p.cmd.Wait()
	close(p.ended)
}

// awaitEnd waits until a child has ended, which stays to be reaped. The Go runtime polls the child's descriptor: waitid
// alone would keep a thread for each child.
func awaitEnd(pid int) {
	if fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK); err == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer func() { _ = f.Close() }()
		if c, err := f.SyscallConn(); err == nil {
			_ = c.Read(func(uintptr) bool {
				n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
				return err == nil && n > 0
			})
		}
	}
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// Name returns what the process was called when it was started.
func (p *Process) Name() string { return p.name }

// Pid returns the process's number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended and its output is complete.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Output returns the last 64 KiB that the process wrote to standard output and error, as far as the Command left them
// nil.
func (p *Process) Output() string { return p.output.String() }

// Wait waits for the process to end. Its error names node and program and shows the last lines of the output. It wraps
// an *exec.ExitError where the status is not 0 or a signal ended the process.
func (p *Process) Wait() error {
	<-p.ended
	return p.withOutput(p.err)
}

// Finish is Wait, at most until ctx ends. Then its error is the cause, and the process goes on.
func (p *Process) Finish(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.Wait()
	case <-ctx.Done():
		return p.withOutput(fmt.Errorf("did not end: %w", context.Cause(ctx)))
	}
}

// Stop sends sig, and SIGKILL where the process has not ended after the grace time. Time in which it waits for a CPU
// does not count. Stop returns nil when the process ended with status 0 or by sig.
func (p *Process) Stop(sig syscall.Signal, grace time.Duration) error {
	begun := time.Now()
	_, before := p.Scheduled()
	_ = p.cmd.Process.Signal(sig) // it may have ended by itself
	if !p.endsWithin(grace, begun, before) {
		_ = p.cmd.Process.Kill()
		<-p.ended
		return p.withOutput(fmt.Errorf("did not end within %v of %v, killed", time.Since(begun).Round(tick), sig))
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == sig {
		return nil
	}
	return p.withOutput(p.err)
}

// endsWithin waits for the process to end. begun is when the grace time began, and before is how long the process had
// waited for a CPU until then.
func (p *Process) endsWithin(grace time.Duration, begun time.Time, before time.Duration) bool {
	left := grace
	for left > 0 {
		select {
		case <-p.ended:
			return true
		case <-time.After(left):
		}
		_, waited := p.Scheduled()
		left = graceLeft(grace, time.Since(begun), waited-before)
	}
	return false
}

// graceMost is how many times as long as its grace time a process lives at most that waits for CPUs all the time.
const graceMost = 10

// graceLeft returns what is left of a grace time. A process with many threads may wait longer than time passes.
func graceLeft(grace, passed, waited time.Duration) time.Duration {
	return min(grace+waited, graceMost*grace) - passed
}

// withOutput adds the names of node and process and the last lines of the output.
func (p *Process) withOutput(err error) error {
	if err == nil {
		return nil
	}
	const lines = 10
	last := strings.Split(strings.TrimSpace(p.Output()), "\n")
	last = last[max(0, len(last)-lines):]
	return fmt.Errorf("lab: node %s: %s: %w; its last words: %s", p.node.name, p.name, err, strings.Join(last, "\n\t"))
}

const tailBytes = 64 << 10

// An outputTail is a writer that keeps the last 64 KiB.
type outputTail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (t *outputTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*tailBytes { // a copy at every write would be slow
		t.buf = slices.Clone(t.buf[len(t.buf)-tailBytes:])
	}
	return len(b), nil
}

// String returns what is kept.
func (t *outputTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-tailBytes):])
}
