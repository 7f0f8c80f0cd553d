package lab

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// LinkOptions are the settings of a veth pair; the zero value takes the kernel's defaults.
type LinkOptions struct {
	MTU  int                 // octets above Ethernet, both ends
	MACs [2]net.HardwareAddr // of the first and the second end; nil is a random one
}

// Link makes a veth pair between two nodes: aIf in node a, bIf in node b (names of up to 15 characters). When it
// returns, both ends are up and carry frames.
func (l *Lab) Link(a *Node, aIf string, b *Node, bIf string, o LinkOptions) error {
	if err := link(a, aIf, b, bIf, o); err != nil {
		return fmt.Errorf("lab %s: link %s:%s with %s:%s: %w", l.name, a.name, aIf, b.name, bIf, err)
	}
	if err := errors.Join(a.LinkUp(aIf), b.LinkUp(bIf)); err != nil {
		return err
	}
	return errors.Join(a.waitCarrier(aIf), b.waitCarrier(bIf))
}

func link(a *Node, aIf string, b *Node, bIf string, o LinkOptions) error {
	aNS, err := netns.GetFromPath(a.Path())
	if err != nil {
		return err
	}
	defer aNS.Close()
	bNS, err := netns.GetFromPath(b.Path())
	if err != nil {
		return err
	}
	defer bNS.Close()

	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.Namespace, attrs.MTU, attrs.HardwareAddr = aIf, netlink.NsFd(aNS), o.MTU, o.MACs[0]
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerNamespace, veth.PeerHardwareAddr = bIf, netlink.NsFd(bNS), o.MACs[1]
	return a.withLinks(func(h *netlink.Handle) error { return h.LinkAdd(veth) })
}

// waitCarrier waits until the kernel sends through an interface that was just set up. The kernel learns of the carrier
// in the background; until then it drops every frame without a counter.
func (n *Node) waitCarrier(ifName string) error {
	for deadline := time.Now().Add(carrierTimeout); ; time.Sleep(time.Millisecond) {
		switch carrier, err := n.Carrier(ifName); {
		case err != nil || carrier:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("lab: node %s: %s has no carrier %v after both ends were set up", n.name, ifName,
				carrierTimeout)
		}
	}
}

const carrierTimeout = 5 * time.Second

// Carrier tells whether both ends of a link are up. The kernel notices a change some milliseconds later.
func (n *Node) Carrier(ifName string) (carrier bool, err error) {
	err = n.withLink("read state of", ifName, func(_ *netlink.Handle, l netlink.Link) error {
		carrier = l.Attrs().OperState == netlink.OperUp
		return nil
	})
	return carrier, err
}

// LinkUp sets an interface of the node up.
func (n *Node) LinkUp(ifName string) error {
	return n.withLink("set up", ifName, func(h *netlink.Handle, l netlink.Link) error { return h.LinkSetUp(l) })
}

// LinkDown sets an interface of the node down; the other end of its link loses its carrier.
func (n *Node) LinkDown(ifName string) error {
	return n.withLink("set down", ifName, func(h *netlink.Handle, l netlink.Link) error { return h.LinkSetDown(l) })
}

// LinkGSOMax sets the largest GSO frame that an interface of the node sends: above 64 KiB it is BIG TCP.
func (n *Node) LinkGSOMax(ifName string, octets int) error {
	return n.withLink("set the largest GSO frame of", ifName, func(h *netlink.Handle, l netlink.Link) error {
		return errors.Join(h.LinkSetGSOMaxSize(l, octets), h.LinkSetGSOIPv4MaxSize(l, octets))
	})
}

// DeleteLink deletes an interface of the node together with the other end of its link.
func (n *Node) DeleteLink(ifName string) error {
	return n.withLink("delete", ifName, func(h *netlink.Handle, l netlink.Link) error { return h.LinkDel(l) })
}

// AddAddr gives an interface of the node an address in CIDR form, such as 10.0.0.1/24.
func (n *Node) AddAddr(ifName, cidr string) error {
	addr, err := netlink.ParseAddr(cidr)
	if err != nil {
		return fmt.Errorf("lab: node %s: address %q of %s: %w (write it as 10.0.0.1/24)", n.name, cidr, ifName, err)
	}
	return n.withLink("give address to", ifName, func(h *netlink.Handle, l netlink.Link) error {
		return h.AddrAdd(l, addr)
	})
}

// Stats are the kernel's 64-bit counters of an interface since it was made.
type Stats struct{ ReceivedFrames, ReceivedBytes, SentFrames uint64 }

// Stats reads the counters of an interface of the node.
func (n *Node) Stats(ifName string) (s Stats, err error) {
	err = n.withLink("read counters of", ifName, func(_ *netlink.Handle, l netlink.Link) error {
		k := l.Attrs().Statistics
		if k == nil {
			return errors.New("the kernel gave none")
		}
		s = Stats{ReceivedFrames: k.RxPackets, ReceivedBytes: k.RxBytes, SentFrames: k.TxPackets}
		return nil
	})
	return s, err
}

// MAC returns the hardware address of an interface of the node.
func (n *Node) MAC(ifName string) (mac net.HardwareAddr, err error) {
	err = n.withLink("read address of", ifName, func(_ *netlink.Handle, l netlink.Link) error {
		mac = l.Attrs().HardwareAddr
		return nil
	})
	return mac, err
}

func (n *Node) withLink(what, ifName string, f func(*netlink.Handle, netlink.Link) error) error {
	err := n.withLinks(func(h *netlink.Handle) error {
		l, err := h.LinkByName(ifName)
		if err != nil {
			return err
		}
		return f(h, l)
	})
	if err != nil {
		return fmt.Errorf("lab: node %s: %s %s: %w", n.name, what, ifName, err)
	}
	return nil
}

func (n *Node) withLinks(f func(*netlink.Handle) error) error {
	n.links.Lock()
	defer n.links.Unlock()
	if n.links.handle == nil {
		return ErrClosed
	}
	return f(n.links.handle)
}
