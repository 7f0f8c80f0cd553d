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

// NetnsDir is where iproute2 keeps named network namespaces.
const NetnsDir = "/run/netns"

// ownNetns is the daemon's own network namespace.
const ownNetns = "/proc/self/ns/net"

// errEnter is wrapped by errors that name their remedy, which is another than that of opening a port.
var errEnter = errors.New("enter network namespace")

// errNotNetns is wrapped by errors about something that exists but is something else.
var errNotNetns = errors.New("is no network namespace")

// InNetns runs f with the network namespace ns, which is "" (the daemon's own), the name of a namespace that
// "ip netns add" made, a path, or pid:N. f runs on a thread of its own that ends with it, so that no other goroutine
// ever runs in the wrong namespace.
func InNetns(ns string, f func() error) error {
	if ns == "" {
		return f()
	}
	h, err := openNetns(ns)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	done := make(chan error)
	go OnOwnThread(func() { done <- enter(h, f) })
	return <-done
}

// openNetns opens namespace ns. Something else by that name is refused without opening it, which a FIFO would keep waiting
// for a writer and a device may take for an order.
func openNetns(ns string) (netns.NsHandle, error) {
	path := NetnsPath(ns)
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return netns.None(), noNetns(ns, err)
	}
	if int64(fs.Type) != unix.NSFS_MAGIC {
		return netns.None(), otherThanNetns(ns)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return netns.None(), noNetns(ns, err)
	}
	h := netns.NsHandle(fd)
	if kind, err := unix.IoctlRetInt(fd, nsGetNSType); err != nil || kind != unix.CLONE_NEWNET {
		_ = h.Close()
		return netns.None(), otherThanNetns(ns)
	}
	return h, nil
}

// nsGetNSType is NS_GET_NSTYPE of ioctl_ns(2).
const nsGetNSType = 0xb703

func otherThanNetns(ns string) error {
	return fmt.Errorf("%s: %w: write a name that ip netns lists, a path such as /proc/PID/ns/net, or pid:PID", ns, errNotNetns)
}

func enter(h netns.NsHandle, f func() error) error {
	err := netns.Set(h)
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w (needs CAP_SYS_ADMIN: run as root, or give the container --cap-add=SYS_ADMIN)", errEnter, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errEnter, err)
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
	path := NetnsPath(ns)
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

// NetnsPath returns the file that stands for a namespace, which InNetns takes as ns.
func NetnsPath(ns string) string {
	if ns == "" {
		return ownNetns
	}
	if pid, ok := strings.CutPrefix(ns, "pid:"); ok {
		return filepath.Join("/proc", pid, "ns/net")
	}
	if strings.Contains(ns, "/") {
		return ns
	}
	return filepath.Join(NetnsDir, ns)
}
