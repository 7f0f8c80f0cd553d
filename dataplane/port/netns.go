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

// errEnter marks errors that name their own remedy, which is not the one for opening a port.
var errEnter = errors.New("enter network namespace")

// errNotNetns marks errors about a path that exists but is no network namespace.
var errNotNetns = errors.New("is no network namespace")

// InNetns runs f in the network namespace ns: "" (the daemon's own), the name of a namespace that "ip netns add" made,
// a path, or pid:N. f runs on a thread of its own that ends with f, so that no other goroutine ever runs in the wrong
// namespace.
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

// openNetns opens namespace ns. It refuses anything else without opening it: opening a FIFO would wait for a writer,
// and opening a device may have an effect.
func openNetns(ns string) (netns.NsHandle, error) {
	path := NetnsPath(ns)
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return netns.None(), netnsError(ns, err)
	}
	if int64(fs.Type) != unix.NSFS_MAGIC {
		return netns.None(), notNetns(ns)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return netns.None(), netnsError(ns, err)
	}
	h := netns.NsHandle(fd)
	if kind, err := unix.IoctlRetInt(fd, nsGetNSType); err != nil || kind != unix.CLONE_NEWNET {
		_ = h.Close()
		return netns.None(), notNetns(ns)
	}
	return h, nil
}

// nsGetNSType is NS_GET_NSTYPE of ioctl_ns(2).
const nsGetNSType = 0xb703

func notNetns(ns string) error {
	return fmt.Errorf("%s: %w: write a name that ip netns lists, a path such as /proc/PID/ns/net, or pid:PID", ns,
		errNotNetns)
}

func enter(h netns.NsHandle, f func() error) error {
	err := netns.Set(h)
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: %w (needs CAP_SYS_ADMIN: run as root, or give the container --cap-add=SYS_ADMIN)",
			errEnter, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errEnter, err)
	}
	return f()
}

// OnOwnThread runs f on a locked thread that ends when the calling goroutine does, which must be soon, or have no other
// work. Changes that f makes to the thread, such as its namespace, end with it. OnOwnThread avoids the main thread,
// which cannot end, and whose namespaces and name /proc/PID shows as those of the process.
func OnOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	locked, done := make(chan struct{}), make(chan struct{})
	go runOffMain(f, locked, done)
	<-locked
	runtime.UnlockOSThread()
	<-done
}

// runOffMain runs f on a thread of its own, and closes locked once it has one: the main thread is kept until then.
func runOffMain(f func(), locked, done chan<- struct{}) {
	defer close(done)
	OnOwnThread(func() {
		close(locked)
		f()
	})
}

// A NetnsID identifies a network namespace. A name may stand for one namespace now and for another later.
type NetnsID struct{ device, inode uint64 }

// IdentifyNetns returns the identity of the namespace that ns stands for now.
func IdentifyNetns(ns string) (NetnsID, error) {
	var st unix.Stat_t
	path := NetnsPath(ns)
	if err := unix.Stat(path, &st); err != nil {
		return NetnsID{}, netnsError(ns, err)
	}
	return NetnsID{device: st.Dev, inode: st.Ino}, nil
}

func netnsError(ns string, err error) error {
	if pid, ok := strings.CutPrefix(ns, "pid:"); ok && os.IsNotExist(err) {
		return fmt.Errorf("%w: there is no process %s (write the PID of one that runs, or a name that ip netns lists)",
			ErrNoNetns, pid)
	}
	if os.IsNotExist(err) {
		return fmt.Errorf("%w: %s (make it with: ip netns add %s)", ErrNoNetns, ns, filepath.Base(ns))
	}
	return fmt.Errorf("open network namespace %q: %w", ns, err)
}

// NetnsPath returns the file of a namespace, which InNetns also takes as ns.
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

// CommandIn returns a shell command, for a person to run, that runs command in namespace ns (see InNetns).
func CommandIn(ns, command string) string {
	if ns == "" {
		return command
	}
	if strings.ContainsAny(command, "&|;>") {
		command = "sh -c " + ShellWord(command)
	}
	return "nsenter --net=" + ShellWord(NetnsPath(ns)) + " " + command
}

// ShellWord quotes text as one word for the shell.
func ShellWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:@", r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
