package port

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A LinkEvent says that something changed at an interface: Gone where it vanished, else Up as it is now.
type LinkEvent struct {
	Netns string
	Name  string
	Index int
	Up    bool
	Gone  bool
}

// Watch calls f for each interface of namespace ns that exists, then for every change, one call at a time, until stop
// is closed. Where the kernel's queue overflowed, or the subscription failed, failed is called with the reason: the
// state has to be read anew and Watch called again.
func Watch(ns string, stop <-chan struct{}, f func(LinkEvent), failed func(error)) error {
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
	go runWatch(ns, updates, f)
	return nil
}

func runWatch(ns string, updates <-chan netlink.LinkUpdate, f func(LinkEvent)) {
	for u := range updates {
		a := u.Attrs()
		f(LinkEvent{Netns: ns, Name: a.Name, Index: a.Index, Up: isUp(a), Gone: u.Header.Type == unix.RTM_DELLINK})
	}
}
