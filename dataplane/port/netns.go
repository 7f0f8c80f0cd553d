package port

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// netnsDir is where iproute2 keeps named network namespaces.
const netnsDir = "/run/netns"

// ownNetns is the daemon's own network namespace.
const ownNetns = "/proc/self/ns/net"

// errEnter is wrapped by errors that name their remedy, which is another than that of opening a port.
var errEnter = errors.New("enter network namespace")

// InNetns runs f with the network namespace ns, which is "" (the daemon's own), the name of a namespace that
// "ip netns add" made, a path, or pid:N. f runs on a thread of its own that ends with it, so that no other goroutine
// ever runs in the wrong namespace.
func InNetns(ns string, f func() error) error {
	if ns == "" {
		return f()
	}
	h, err := netns.GetFromPath(netnsPath(ns))
	if err != nil {
		return noNetns(ns, err)
	}
	defer func() { _ = h.Close() }()
	done := make(chan error)
	go OnOwnThread(func() { done <- enter(h, f) })
	return <-done
}

func enter(h netns.NsHandle, f func() error) error {
	if err := netns.Set(h); err != nil {
		return fmt.Errorf("%w: %w (needs CAP_SYS_ADMIN: run as root, or give the container --cap-add=SYS_ADMIN)", errEnter, err)
	}
	return f()
}

// OnOwnThread runs f on a locked thread that ends when the calling goroutine does, which must be soon. What f changes of
// the thread, such as its namespace, is gone then. The main thread is left out: it cannot end, and /proc/PID shows its
// namespaces as those of the process.
func OnOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		defer runtime.UnlockOSThread()
		done := make(chan struct{})
		go runOffMain(f, done)
		<-done
		return
	}
	f()
}

func runOffMain(f func(), done chan<- struct{}) {
	defer close(done)
	OnOwnThread(f)
}

// A NetnsID tells network namespaces apart: a name may stand for one now and for another later.
type NetnsID struct{ device, inode uint64 }

// IdentifyNetns returns the identity of the namespace that ns stands for now.
func IdentifyNetns(ns string) (NetnsID, error) {
	var st unix.Stat_t
	path := ownNetns
	if ns != "" {
		path = netnsPath(ns)
	}
	if err := unix.Stat(path, &st); err != nil {
		return NetnsID{}, noNetns(ns, err)
	}
	return NetnsID{device: st.Dev, inode: st.Ino}, nil
}

func noNetns(ns string, err error) error {
	if pid, ok := strings.CutPrefix(ns, "pid:"); ok && os.IsNotExist(err) {
		return fmt.Errorf("%w: there is no process %s (write the PID of one that runs, or a name that ip netns lists)", ErrNoNetns, pid)
	}
	if os.IsNotExist(err) {
		return fmt.Errorf("%w: %s (make it with: ip netns add %s)", ErrNoNetns, ns, filepath.Base(ns))
	}
	return fmt.Errorf("open network namespace %q: %w", ns, err)
}

func netnsPath(ns string) string {
	if pid, ok := strings.CutPrefix(ns, "pid:"); ok {
		return filepath.Join("/proc", pid, "ns/net")
	}
	if strings.Contains(ns, "/") {
		return ns
	}
	return filepath.Join(netnsDir, ns)
}
