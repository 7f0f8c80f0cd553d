package port

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netns"
)

// netnsDir is where iproute2 keeps named network namespaces.
const netnsDir = "/run/netns"

// InNetns runs f with the network namespace ns, which is "" (the daemon's own), the name of a namespace that
// "ip netns add" made, a path, or pid:N. f runs on a thread of its own that ends with it, so that no other goroutine
// ever runs in the wrong namespace.
func InNetns(ns string, f func() error) error {
	if ns == "" {
		return f()
	}
	h, err := netns.GetFromPath(netnsPath(ns))
	if err != nil {
		if os.IsNotExist(err) {
			return fmt.Errorf("%w: %s (make it with: ip netns add %s)", ErrNoNetns, ns, filepath.Base(ns))
		}
		return fmt.Errorf("open network namespace %q: %w", ns, err)
	}
	defer func() { _ = h.Close() }()
	done := make(chan error)
	go runInNetns(h, f, done)
	if err = <-done; err != nil {
		return err
	}
	return nil
}

// runInNetns never unlocks its thread: the runtime ends it with the goroutine.
func runInNetns(h netns.NsHandle, f func() error, done chan<- error) {
	runtime.LockOSThread()
	if err := netns.Set(h); err != nil {
		done <- fmt.Errorf("enter network namespace: %w (needs CAP_SYS_ADMIN)", err)
		return
	}
	done <- f()
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
