package porttest

import (
	"fmt"
	"os"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"pfcswitch/dataplane/port"
)

// NewNamespace makes a network namespace without a name, which goes with the test. It returns the namespace's path and
// a handle on its links.
func NewNamespace(t testing.TB) (path string, handle *netlink.Handle, ns netns.NsHandle) {
	t.Helper()
	err := port.InNetns("/proc/self/ns/net", func() (err error) { // on a thread of its own, which ends
		ns, err = netns.New()
		return err
	})
	if err != nil {
		Unavailable(t, err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	if handle, err = netlink.NewHandleAt(ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handle.Close)
	return fmt.Sprintf("/proc/self/fd/%d", int(ns)), handle, ns
}

// Unavailable skips a test that cannot make namespaces or links, or fails it if the environment requires them.
func Unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("REQUIRE_NETNS") == "1" {
		t.Fatalf("cannot make a namespace with a veth pair, and REQUIRE_NETNS=1 asks for it: %v", err)
	}
	t.Skipf("needs a namespace with a veth pair (root, or unshare -Urn): %v", err)
}
