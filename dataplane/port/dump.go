package port

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// whole reads a list of the kernel again where the kernel says that it changed while it was read: such a list may lack entries, or
// have them twice. What changes all the time is left after so many.
func whole[T any](list func() (T, error)) (all T, err error) {
	const most = 100
	for range most {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}
