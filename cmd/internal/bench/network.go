package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A network is a switch's namespace and its hosts':
//
//	h1 eth0 ── p1 ┐
//	h2 eth0 ── p2 ┤ switch
//	   …          ┘
type network struct {
	b       *bench
	name    string
	of      string // the switch, as results call it
	sw      *node
	hosts   []*node // host n is [n-1]
	daemons []*process
	socket  string // pfcswitch's
}

// A node is a namespace with a process that only keeps it, through which the kernel shows its counters.
type node struct {
	namespace string
	holder    *process
}

// namespacePrefix begins the name of every namespace, before the benchmark's process number.
const namespacePrefix = "pfcbench-"

// keep switches IPv6 off before there is an interface, says so, and stays.
const keep = `for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done 2>/dev/null; echo ready >"$0"; exec sleep infinity`

// mac is the address of host n.
func mac(n int) string { return fmt.Sprintf("02:00:00:00:00:%02x", n) }

// newNetwork makes the namespaces and links of a switch with hosts.
func (b *bench) newNetwork(name string, hosts int) (n *network, err error) {
	n = &network{b: b, name: name, of: name}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("network %s: %w", name, err), n.close())
		}
	}()
	if err := n.nodes(hosts); err != nil {
		return n, err
	}
	var links, ups strings.Builder
	ups.WriteString("link set lo up\n") // for the switch's metrics
	for i, h := range n.hosts {
		fmt.Fprintf(&links, "link add p%d netns %s type veth peer name eth0 address %s netns %s\n", i+1, n.sw.namespace, mac(i+1), h.namespace)
		fmt.Fprintf(&ups, "link set p%d up\n", i+1)
	}
	if _, err := b.doWith("", links.String(), "ip", "-batch", "-"); err != nil {
		return n, err
	}
	if _, err := b.doWith("", ups.String(), "ip", "-n", n.sw.namespace, "-batch", "-"); err != nil {
		return n, err
	}
	for _, h := range n.hosts {
		if _, err := b.do("", "ip", "-n", h.namespace, "link", "set", "eth0", "up"); err != nil {
			return n, err
		}
	}
	return n, nil
}

// nodes makes the namespaces, each with its holder.
func (n *network) nodes(hosts int) error {
	n.sw = &node{namespace: n.b.prefix + n.name}
	for i := 1; i <= hosts; i++ {
		n.hosts = append(n.hosts, &node{namespace: fmt.Sprintf("%s-h%d", n.sw.namespace, i)})
	}
	all := append([]*node{n.sw}, n.hosts...)
	var adds strings.Builder
	for _, x := range all {
		fmt.Fprintf(&adds, "netns add %s\n", x.namespace)
	}
	if _, err := n.b.doWith("", adds.String(), "ip", "-batch", "-"); err != nil {
		return err
	}
	for _, x := range all {
		var err error
		if x.holder, err = n.b.start(x.namespace, "sh", "-c", keep, x.ready(n.b)); err != nil {
			return err
		}
	}
	for _, x := range all {
		if err := n.b.eventually("namespace "+x.namespace, patience, func() (bool, error) {
			_, err := os.Stat(x.ready(n.b))
			return err == nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// ready is the file by which a holder says that it is there.
func (n *node) ready(b *bench) string { return filepath.Join(b.work, n.namespace+".ready") }

// daemon runs a program that belongs to the switch until the network is closed.
func (n *network) daemon(argv ...string) (*process, error) {
	p, err := n.b.start(n.sw.namespace, argv...)
	if err == nil {
		n.daemons = append(n.daemons, p)
	}
	return p, err
}

// alive returns an error where a daemon of the switch has ended.
func (n *network) alive() error {
	for _, d := range n.daemons {
		if err := d.alive(); err != nil {
			return err
		}
	}
	return nil
}

// close ends all programs of the network and deletes it.
func (n *network) close() error {
	for i := len(n.daemons) - 1; i >= 0; i-- {
		n.daemons[i].stop()
		n.b.forget(n.daemons[i])
	}
	var errs []error
	for _, x := range append([]*node{n.sw}, n.hosts...) {
		if x == nil {
			continue
		}
		if x.holder != nil {
			x.holder.stop()
			n.b.forget(x.holder)
		}
		errs = append(errs, deleteNamespace(x.namespace))
	}
	return errors.Join(errs...)
}

// sweep deletes namespaces and work folders of runs whose process is gone, and those of own.
func sweep(own int) error {
	var errs []error
	namespaces, err := os.ReadDir("/run/netns")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, e := range namespaces {
		if stale(e.Name(), own) {
			errs = append(errs, deleteNamespace(e.Name()))
		}
	}
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), namespacePrefix+"*"))
	errs = append(errs, err)
	for _, f := range folders {
		if stale(filepath.Base(f), own) {
			errs = append(errs, os.RemoveAll(f))
		}
	}
	return errors.Join(errs...)
}

// stale tells whether a name is that of a run whose process is gone, or of process own.
func stale(name string, own int) bool {
	rest, ok := strings.CutPrefix(name, namespacePrefix)
	if !ok {
		return false
	}
	digits, _, _ := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(digits)
	if err != nil || pid < 1 {
		return false
	}
	if pid == own {
		return true
	}
	_, err = os.Stat(fmt.Sprintf("/proc/%d", pid))
	return errors.Is(err, os.ErrNotExist)
}

// deleteNamespace removes a namespace's name; the kernel deletes it with its links when no process is left in it.
func deleteNamespace(name string) error {
	path := filepath.Join("/run/netns", name)
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
