package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Lab is a set of nodes (network namespaces) with the links and processes between and in them.
// Its methods may be called from several goroutines.
type Lab struct {
	name string
	key  string // "PID-NAME"
	lock *os.File

	forks  chan func()   // to the lab's own thread; closed to end it
	forked chan struct{} // closed when its goroutine has ended

	state struct {
		sync.Mutex
		closed    bool
		nodes     []*Node
		stopWatch func() bool // ends the watch on New's context
	}
	closing  sync.Once
	closeErr error
}

var (
	labName  = regexp.MustCompile(`^[a-z0-9_.]{1,32}$`) // no "-": it ends the name in a namespace's name
	nodeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// ErrClosed is the error of a closed lab.
var ErrClosed = errors.New("lab: closed")

// New removes what labs of dead processes left behind, then starts an empty lab. The name has 1 to 32 characters of
// a-z, 0-9, "_" and ".", and is unique in the process. The lab closes when ctx ends. The process needs the rights of
// Enter.
func New(ctx context.Context, name string) (*Lab, error) {
	if !labName.MatchString(name) {
		return nil, fmt.Errorf("lab: name %q: must match %s", name, labName)
	}
	if err := systemRegistry.sweep(); err != nil {
		return nil, fmt.Errorf("lab %s: clear leftovers of dead labs: %w", name, err)
	}
	if err := systemRegistry.makeShared(); err != nil {
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	l := &Lab{name: name, key: fmt.Sprintf("%d-%s", os.Getpid(), name), forks: make(chan func()),
		forked: make(chan struct{})}
	var err error
	switch l.lock, err = systemRegistry.claim(l.key); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, fmt.Errorf("lab %s: this process has one of that name already: close it or choose another name",
			name)
	case err != nil:
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	go l.runForks()
	l.state.Lock()
	defer l.state.Unlock()
	l.state.stopWatch = context.AfterFunc(ctx, func() { _ = l.Close() })
	return l, nil
}

// Name returns the lab's name.
func (l *Lab) Name() string { return l.name }

// Nodes returns the nodes in the order in which they were made.
func (l *Lab) Nodes() []*Node {
	l.state.Lock()
	defer l.state.Unlock()
	return slices.Clone(l.state.nodes)
}

// Node makes a node: a network namespace with loopback up and IPv6 off. The name has 1 to 64 letters, digits, "_", "."
// and "-", and is unique in the lab.
func (l *Lab) Node(name string) (*Node, error) {
	if !nodeName.MatchString(name) {
		return nil, fmt.Errorf("lab %s: node %q: the name must match %s", l.name, name, nodeName)
	}
	l.state.Lock()
	defer l.state.Unlock()
	if l.state.closed {
		return nil, ErrClosed
	}
	if slices.ContainsFunc(l.state.nodes, func(n *Node) bool { return n.name == name }) {
		return nil, fmt.Errorf("lab %s: node %s exists already", l.name, name)
	}
	n, err := newNode(l, name)
	if err != nil {
		return nil, fmt.Errorf("lab %s: node %s: %w", l.name, name, err)
	}
	l.state.nodes = append(l.state.nodes, n)
	return n, nil
}

// stopTimeout is the time that Close gives processes between SIGTERM and SIGKILL, where their Command has no other.
const stopTimeout = 2 * time.Second

// Close stops all processes (SIGTERM, SIGKILL after Command.Grace), deletes all links and namespaces and returns what
// could not be deleted. Every further call waits for the first and returns the same.
func (l *Lab) Close() error {
	l.closing.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Lab) close() error {
	l.state.Lock()
	l.state.stopWatch()
	l.state.closed = true
	nodes := l.state.nodes
	l.state.Unlock()

	var stops sync.WaitGroup
	for _, n := range nodes {
		for _, p := range n.lastProcesses() {
			stops.Go(func() { _ = p.Stop(unix.SIGTERM, p.grace) }) // the error is that of Wait
		}
	}
	stops.Wait()
	close(l.forks)
	<-l.forked // it may be in the namespace of a node
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.close())
	}
	if err := errors.Join(append(errs, systemRegistry.unlock(l.lock))...); err != nil {
		return fmt.Errorf("lab %s: close: %w", l.name, err)
	}
	return nil
}
