package port

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TAPSettings are the settings that Configure can change.
type TAPSettings struct {
	MTU       int
	MAC       [6]byte // zero: what the kernel chooses
	Addresses []netip.Prefix
	Queues    QueueRule
}

// Configure changes the settings. Addresses that are not among them any more are removed.
func (t *TAP) Configure(s TAPSettings) error {
	if !t.partial && reflect.DeepEqual(s, t.settings) {
		return nil
	}
	link, err := t.handle.LinkByIndex(t.index)
	if err != nil {
		return fmt.Errorf("TAP %s: %w", t.name, lookupError(t.name, err))
	}
	if err := t.apply(link, s); err != nil {
		return fmt.Errorf("TAP %s: %w", t.name, err)
	}
	return nil
}

// apply changes one setting after the other. Where one fails, t.settings are what may be in force by then, so that the
// next settings, also those of before, change all that differs.
func (t *TAP) apply(link netlink.Link, s TAPSettings) error {
	t.partial = true
	if err := t.attachQueueRule(s.Queues); err != nil {
		return err
	}
	if s.MTU != t.settings.MTU {
		if err := t.handle.LinkSetMTU(link, s.MTU); err != nil {
			return fmt.Errorf("set its MTU to %d: %w", s.MTU, err)
		}
		t.settings.MTU = s.MTU
	}
	if s.MAC != t.settings.MAC && s.MAC != [6]byte{} {
		if err := t.handle.LinkSetHardwareAddr(link, s.MAC[:]); err != nil {
			return fmt.Errorf("set its address: %w", err)
		}
		t.settings.MAC = s.MAC
	}
	if err := t.address(link, s.Addresses); err != nil {
		return err
	}
	t.settings, t.partial = s, false
	return nil
}

// address removes the addresses that the new settings do not have and then adds the others. The order matters: with the
// first address of a network the kernel removes its other addresses.
func (t *TAP) address(link netlink.Link, prefixes []netip.Prefix) error {
	for _, p := range t.settings.Addresses {
		if slices.Contains(prefixes, p) {
			continue
		}
		err := t.handle.AddrDel(link, address(p))
		if err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("take the address %s away: %w", p, err)
		}
	}
	t.settings.Addresses = prefixes
	for _, p := range prefixes {
		if err := t.handle.AddrReplace(link, address(p)); err != nil {
			return fmt.Errorf("give it the address %s: %w", p, err)
		}
	}
	return nil
}

func address(p netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
}
