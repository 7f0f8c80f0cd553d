package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/port"
)

// A Node is a network namespace: a host or a switch of the lab.
type Node struct {
	name string
	lab  *Lab

	links struct {
		sync.Mutex
		handle *netlink.Handle // a socket inside the namespace; nil when the node is closed
	}
	processes struct {
		sync.Mutex
		closed bool
		all    []*Process
	}
}

func newNode(l *Lab, name string) (*Node, error) {
	n := &Node{name: name, lab: l}
	built := make(chan error, 1)
	go port.OnOwnThread(func() { built <- n.build() })
	if err := <-built; err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// Name returns the node's name within the lab.
func (n *Node) Name() string { return n.name }

// Namespace returns the name of the node's network namespace, as "ip netns" lists it.
func (n *Node) Namespace() string { return namespacePrefix + n.lab.key + "-" + n.name }

// Path returns the file that stands for the node's network namespace.
func (n *Node) Path() string { return filepath.Join(systemRegistry.namespaces, n.Namespace()) }

// EnterCommand returns the command that gives the user who started the lab a shell inside the node.
func (n *Node) EnterCommand() string { return strings.Join(n.Enter(inOwnUserNamespace()), " ") }

// Enter returns the command that runs a program, appended to it, inside the node while this process lives. apart means
// that the command is typed outside of this process's user namespace.
func (n *Node) Enter(apart bool) []string {
	if !apart {
		return []string{"nsenter", "--net=" + n.Path()}
	}
	pid := os.Getpid()
	return []string{"nsenter", "--preserve-credentials", fmt.Sprintf("--target=%d", pid), "--user", "--mount",
		fmt.Sprintf("--net=/proc/%d/root%s", pid, n.Path())}
}

// Do runs f in the node's network namespace and returns its error. f runs on a thread of its own, which ends with f.
// Sockets that f opens stay in the namespace. Goroutines that f starts are outside. A process that f starts with a
// death signal gets that signal when f returns: use Start instead.
func (n *Node) Do(f func() error) error {
	errs := make(chan error, 1)
	go n.runDo(f, errs)
	err, ok := <-errs
	if !ok {
		return fmt.Errorf("lab: node %s: the function given to Do ended its goroutine", n.name)
	}
	return err
}

func (n *Node) runDo(f func() error, errs chan<- error) {
	defer close(errs) // also when f calls runtime.Goexit
	port.OnOwnThread(func() {
		if err := n.enter(); err != nil {
			errs <- err
			return
		}
		errs <- f()
	})
}

// Listens tells whether a TCP port is open at the node. It does not connect: an iperf3 server would take that for its
// client.
func (n *Node) Listens(tcpPort int) (open bool, err error) {
	const listening = "0A" // proc_net_tcp(5)
	local := fmt.Sprintf(":%04X", tcpPort)
	err = n.Do(func() error {
		for _, table := range []string{"tcp", "tcp6"} {
			b, err := os.ReadFile("/proc/thread-self/net/" + table)
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
				return err
			}
			for line := range strings.Lines(string(b)) {
				f := strings.Fields(line)
				open = open || len(f) > 3 && strings.HasSuffix(f[1], local) && f[3] == listening
			}
		}
		return nil
	})
	return open, err
}

// enter moves the calling thread into the node's namespace.
func (n *Node) enter() error {
	ns, err := netns.GetFromPath(n.Path())
	if err != nil {
		return fmt.Errorf("lab: open node %s: %w", n.name, err)
	}
	if err := errors.Join(netns.Set(ns), ns.Close()); err != nil {
		return fmt.Errorf("lab: enter node %s: %w", n.name, err)
	}
	return nil
}

// build makes the namespace around the calling thread, which must end soon.
func (n *Node) build() error {
	ns, err := netns.NewNamed(n.Namespace())
	if errors.Is(err, unix.EPERM) {
		return forbidden("create network namespace", err, readSysctl)
	}
	if err != nil {
		return fmt.Errorf("create network namespace: %w", err)
	}
	if err := ns.Close(); err != nil { // the name keeps the namespace alive
		return err
	}
	if err := ipv6Off(); err != nil {
		return err
	}
	if n.links.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("open netlink socket: %w", err)
	}
	return n.LinkUp("lo")
}

// close deletes the namespace with its links.
func (n *Node) close() error {
	n.links.Lock()
	defer n.links.Unlock()
	if n.links.handle != nil {
		n.links.handle.Close()
		n.links.handle = nil
	}
	return systemRegistry.remove([]string{n.Namespace()})
}

// ipv6Off keeps the kernel from sending neighbour and multicast messages over the lab's links, which every counter
// would include. It changes the calling thread's namespace.
func ipv6Off() error {
	for _, which := range []string{"all", "default"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6 is as good
			return fmt.Errorf("switch IPv6 off: %w (/proc/sys must be writable: in a container, run it privileged)",
				err)
		}
	}
	return nil
}

// inOwnUserNamespace tells whether the process is in a user namespace that Enter made: it maps a single user, as root.
func inOwnUserNamespace() bool {
	b, err := os.ReadFile("/proc/self/uid_map") // inside, outside, how many
	f := strings.Fields(string(b))
	return err == nil && len(f) == 3 && f[0] == "0" && f[2] == "1"
}
