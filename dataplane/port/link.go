package port

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// A Link is what the kernel says of an interface.
type Link struct {
	Name      string
	Index     int
	Kind      string // "veth", "tuntap" (TAP), "bridge", …; "" is a physical NIC
	MAC       [6]byte
	MTU       int
	Up        bool  // administratively up and with carrier
	Speed     int64 // bit/s that the NIC reports; 0 if it reports none (veth, TAP)
	Master    int   // index of the bridge or bond that owns the interface; 0 if none does
	Addresses []string
	Default   bool // a default route leaves through the interface; of Interfaces alone
	FarAway   bool // a veth whose far end is in another network namespace

	linkLocal []netlink.Addr // its IPv6 link-local addresses, which are not in Addresses
}

// Errors that a caller may wait out.
var (
	ErrNoInterface = errors.New("interface does not exist")
	ErrNoNetns     = errors.New("network namespace does not exist")
)

// Inspect describes interface name in namespace ns. A missing interface is ErrNoInterface.
func Inspect(ns, name string) (Link, error) {
	var l Link
	err := InNetns(ns, func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return lookupError(name, err)
		}
		l, err = describe(link)
		return err
	})
	return l, err
}

// Interfaces describes every interface of namespace ns but loopback.
func Interfaces(ns string) ([]Link, error) {
	var all []Link
	err := InNetns(ns, func() error {
		links, err := retryDump(netlink.LinkList)
		if err != nil {
			return fmt.Errorf("list interfaces: %w", err)
		}
		for _, link := range links {
			if link.Attrs().Flags&net.FlagLoopback != 0 {
				continue
			}
			l, err := describe(link)
			if err != nil {
				return err
			}
			if l.Default, err = hasDefaultRoute(link); err != nil {
				return err
			}
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// SetMTU sets the MTU of interface l of namespace ns.
func SetMTU(ns string, l Link, mtu int) error {
	return InNetns(ns, func() error {
		link, err := netlink.LinkByIndex(l.Index)
		if err != nil {
			return lookupError(l.Name, err)
		}
		return netlink.LinkSetMTU(link, mtu)
	})
}

func lookupError(name string, err error) error {
	var gone netlink.LinkNotFoundError
	if errors.As(err, &gone) {
		return fmt.Errorf("%w: %s", ErrNoInterface, name)
	}
	return fmt.Errorf("look up interface %s: %w", name, err)
}

func interfaceIndex(name string) (int, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, lookupError(name, err)
	}
	return link.Attrs().Index, nil
}

func describe(link netlink.Link) (Link, error) {
	a := link.Attrs()
	l := Link{Name: a.Name, Index: a.Index, Kind: link.Type(), MTU: a.MTU, Master: a.MasterIndex,
		Up: a.RawFlags&unix.IFF_UP != 0 && a.RawFlags&unix.IFF_LOWER_UP != 0}
	l.FarAway = l.Kind == "veth" && a.NetNsID >= 0
	copy(l.MAC[:], a.HardwareAddr)
	if l.Kind == "device" {
		l.Kind = ""
		l.Speed = nicSpeed(a.Name)
	}
	addrs, err := retryDump(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return l, fmt.Errorf("list addresses of %s: %w", a.Name, err)
	}
	for _, addr := range addrs {
		if addr.IP.IsLinkLocalUnicast() && addr.IP.To4() == nil {
			l.linkLocal = append(l.linkLocal, addr)
		} else {
			l.Addresses = append(l.Addresses, addr.IPNet.String())
		}
	}
	return l, nil
}

func hasDefaultRoute(link netlink.Link) (bool, error) {
	routes, err := retryDump(func() ([]netlink.Route, error) { return netlink.RouteList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return false, fmt.Errorf("list routes of %s: %w", link.Attrs().Name, err)
	}
	return slices.ContainsFunc(routes, func(r netlink.Route) bool {
		return r.Dst == nil || r.Dst.IP.IsUnspecified()
	}), nil
}

// Usable returns the reason why an interface of namespace ns must not become a port: the kernel's own stack would
// answer beside the switch. It returns nil if there is none.
func (l Link) Usable(ns string) error {
	switch {
	case l.Master != 0:
		return fmt.Errorf("interface %s belongs to a bridge or bond (take it out with: %s, or write force: true)",
			l.Name, CommandIn(ns, "ip link set dev "+ShellWord(l.Name)+" nomaster"))
	case len(l.Addresses) > 0:
		return fmt.Errorf("interface %s has the address %s, so the kernel's stack would answer too (remove it with: "+
			"%s, or write force: true)", l.Name, l.Addresses[0],
			CommandIn(ns, "ip addr flush dev "+ShellWord(l.Name)))
	}
	return nil
}

// addrGenNone is the value of IFLA_INET6_ADDR_GEN_MODE for no link-local addresses.
const addrGenNone = 1

// linkLocal is what SilenceLink removes from an interface.
type linkLocal struct {
	changed   bool
	mode      int // addr_gen_mode
	addresses []netlink.Addr
}

// disableNICFlowControl disables the PAUSE and PFC of a physical NIC. Tests replace it.
var disableNICFlowControl = disableHardwarePause

// SilenceLink stops IPv6 link-local addresses on an interface, so that the kernel does not speak on a switch port. It
// also switches off the PAUSE and PFC of a physical NIC. restore brings the addresses back. On an error SilenceLink has
// restored them itself.
func SilenceLink(ns string, l Link) (restore func() error, err error) {
	home, err := IdentifyNetns(ns)
	if err != nil {
		return nil, err
	}
	var was linkLocal
	err = InNetns(ns, func() error {
		link, err := netlink.LinkByIndex(l.Index)
		if err != nil {
			return lookupError(l.Name, err)
		}
		was, err = removeLinkLocal(link)
		if err == nil && l.Kind == "" {
			err = disableNICFlowControl(l.Name)
		}
		if err != nil {
			return errors.Join(err, restoreLinkLocal(l, was))
		}
		return nil
	})
	if err != nil {
		return nil, addRemedy(err)
	}
	return func() error {
		if now, err := IdentifyNetns(ns); err != nil || now != home {
			return nil // the namespace is gone, and the interface with it
		}
		return InNetns(ns, func() error { return restoreLinkLocal(l, was) })
	}, nil
}

func removeLinkLocal(link netlink.Link) (was linkLocal, err error) {
	name := link.Attrs().Name
	was.mode = addrGenMode(link.Attrs().Index)
	if was.mode == addrGenNone {
		was.mode = defaultAddrGenMode() // a switch may have been killed here before it restored the mode
	}
	if err := setAddrGenMode(link, addrGenNone); err != nil {
		return was, fmt.Errorf("stop IPv6 link-local addresses on %s: %w", name, err)
	}
	was.changed = true
	l, err := describe(link)
	if err != nil {
		return was, err
	}
	for _, a := range l.linkLocal {
		if err := netlink.AddrDel(link, &a); err != nil {
			return was, fmt.Errorf("remove %s from %s: %w", a.IPNet, name, err)
		}
		was.addresses = append(was.addresses, a)
	}
	return was, nil
}

func restoreLinkLocal(l Link, was linkLocal) error {
	if !was.changed {
		return nil
	}
	link, err := netlink.LinkByIndex(l.Index)
	if err != nil {
		return nil // the interface is gone, and its addresses with it
	}
	errs := []error{setAddrGenMode(link, was.mode)}
	for _, a := range was.addresses {
		a.Flags, a.ValidLft, a.PreferedLft = 0, 0, 0
		errs = append(errs, netlink.AddrReplace(link, &a))
	}
	return errors.Join(errs...)
}

// addrGenMode returns the link-local address mode of an interface of the thread's namespace. It returns 0, the kernel's
// own default, if the mode cannot be read. It asks rtnetlink: the kernel tries to read the file of it again and again
// while anybody holds the lock of all links, and takes a CPU meanwhile.
func addrGenMode(index int) int {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	which := nl.NewIfInfomsg(unix.AF_UNSPEC)
	which.Index = int32(index)
	request.AddData(which)
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil || len(answers) != 1 || len(answers[0]) < unix.SizeofIfInfomsg {
		return 0
	}
	families := attribute(answers[0][unix.SizeofIfInfomsg:], unix.IFLA_AF_SPEC)
	mode := attribute(attribute(families, unix.AF_INET6), unix.IFLA_INET6_ADDR_GEN_MODE)
	if len(mode) != 1 {
		return 0
	}
	return int(mode[0])
}

// defaultAddrGenMode is addrGenMode of new interfaces.
func defaultAddrGenMode() int {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/default/addr_gen_mode")
	if err != nil {
		return 0
	}
	mode, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return mode
}

// setAddrGenMode ignores a kernel without IPv6, which makes no addresses.
func setAddrGenMode(link netlink.Link, mode int) error {
	err := netlink.LinkSetIP6AddrGenMode(link, mode)
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

// retryDump reads a list of the kernel again while the kernel reports that the list changed during the read: such a
// list may lack entries or have them twice. After many attempts it returns the list with that error.
func retryDump[T any](list func() (T, error)) (all T, err error) {
	const most = 100
	for range most {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// Watch calls changed, with index and MTU, for each interface of namespace ns that exists, and then for every change,
// one call at a time, until stop is closed. It calls failed with the reason if the kernel's queue overflowed or the
// subscription failed. The caller then reads the state anew and calls Watch again.
func Watch(ns string, stop <-chan struct{}, changed func(index, mtu int), failed func(error)) error {
	opts := netlink.LinkSubscribeOptions{ListExisting: true, ErrorCallback: failed}
	if ns != "" {
		h, err := openNetns(ns)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }()
		opts.Namespace = &h
	}
	updates := make(chan netlink.LinkUpdate, 64)
	if err := netlink.LinkSubscribeWithOptions(updates, stop, opts); err != nil {
		return fmt.Errorf("watch interfaces: %w", err)
	}
	go runWatch(updates, changed)
	return nil
}

func runWatch(updates <-chan netlink.LinkUpdate, changed func(index, mtu int)) {
	for u := range updates {
		changed(u.Attrs().Index, u.Attrs().MTU)
	}
}
