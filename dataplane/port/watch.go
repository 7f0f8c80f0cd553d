package port

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Watch calls changed for each interface of namespace ns that exists, then for every change of one, one call at a time, until
// stop is closed. Where the kernel's queue overflowed, or the subscription failed, failed is called with the reason: the
// state has to be read anew and Watch called again.
func Watch(ns string, stop <-chan struct{}, changed func(), failed func(error)) error {
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

func runWatch(updates <-chan netlink.LinkUpdate, changed func()) {
	for range updates {
		changed()
	}
}
