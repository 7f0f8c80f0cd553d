package dataplane

import (
	"errors"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/port"
)

// refused tells whether the kernel will never take the frame that err concerns.
func refused(err error) bool {
	return err != nil && !errors.Is(err, port.ErrAgain) && !errors.Is(err, port.ErrDropped) && !errors.Is(err, port.ErrDown)
}

// stuck is what a port knows of a frame that the link drops each time.
type stuck struct {
	since  int64 // when it was dropped first, 0 where none is
	length int   // of the last one that was given up
	until  int64 // so long frames of that length and more are given up at once
}

// How long a frame is sent again that the link drops, and how long it is remembered that it was given up.
const (
	stuckLimit  = 1_000_000_000
	stuckMemory = 10_000_000_000
)

// hopeless tells whether a frame of length octets is to be given up: the link has dropped it for a second, or one that was
// not longer not long ago. It would hold up all others of the port, and everybody who sends there.
func (t *portTask) hopeless(sw *Switch, err error, length int, now int64) bool {
	if !errors.Is(err, port.ErrDropped) {
		return false
	}
	if now < t.stuck.until && length >= t.stuck.length {
		return true
	}
	if t.stuck.since == 0 {
		t.stuck.since = now
	}
	if now-t.stuck.since < stuckLimit {
		return false
	}
	t.stuck = stuck{length: length, until: now + stuckMemory}
	sw.linkDrops(t.index, length)
	return true
}

// refusedFor names why the kernel will never take a frame.
func refusedFor(err error) DropReason {
	if errors.Is(err, unix.EMSGSIZE) {
		return DropOversize
	}
	return DropSend
}
