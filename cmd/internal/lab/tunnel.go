package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// TunnelOptions are those of one end of a VXLAN tunnel.
type TunnelOptions struct {
	Local, Remote netip.Addr // of the machines
	VNI           int        // VXLAN network identifier, 1 to 16,777,215
	Port          int        // UDP
	MTU           int        // octets above Ethernet
	MAC           net.HardwareAddr
}

// Tunnel makes one end of a VXLAN tunnel to another machine: an interface in the node, whose packets leave by the
// network of the calling process. The tunnel sends to one peer and learns no other, and takes packets from anybody.
func (l *Lab) Tunnel(n *Node, ifName string, o TunnelOptions) error {
	ns, err := netns.GetFromPath(n.Path())
	if err != nil {
		return err
	}
	defer ns.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Namespace, attrs.MTU, attrs.HardwareAddr = ifName, netlink.NsFd(ns), o.MTU, o.MAC
	tunnel := &netlink.Vxlan{LinkAttrs: attrs, VxlanId: o.VNI, SrcAddr: o.Local.AsSlice(), Group: o.Remote.AsSlice(),
		Port: o.Port}
	err = netlink.LinkAdd(tunnel)
	for deadline := time.Now().Add(tunnelTimeout); errors.Is(err, unix.EEXIST) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		err = netlink.LinkAdd(tunnel)
	}
	if errors.Is(err, unix.EEXIST) {
		err = fmt.Errorf("%w: another lab on this machine has a tunnel of the identifier %d to UDP port %d: take it "+
			"down, or give this lab another name", err, o.VNI, o.Port)
	}
	if err != nil {
		return fmt.Errorf("lab %s: tunnel %s:%s to %v: %w", l.name, n.name, ifName, o.Remote, err)
	}
	return n.LinkUp(ifName)
}

// tunnelTimeout is the time in which the kernel ends the tunnels of a namespace that was deleted: it does so in the
// background.
const tunnelTimeout = 2 * time.Second

// Route returns the interface by which the calling process reaches an address, and the octets that it carries.
func Route(to netip.Addr) (name string, mtu int, err error) {
	routes, err := netlink.RouteGet(to.AsSlice())
	if err != nil {
		return "", 0, err
	}
	if len(routes) == 0 {
		return "", 0, unix.ENETUNREACH
	}
	link, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return "", 0, err
	}
	mtu = link.Attrs().MTU
	if own := routes[0].MTU; own > 0 {
		mtu = min(mtu, own)
	}
	return link.Attrs().Name, mtu, nil
}
