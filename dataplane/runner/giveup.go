package runner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// refused tells whether the kernel will never take the frame that err concerns.
func refused(err error) bool {
	return err != nil && !errors.Is(err, port.ErrAgain) && !errors.Is(err, port.ErrDropped) && !errors.Is(err,
		port.ErrDown)
}

// An attempt is a frame that was sent and has not left.
type attempt struct {
	frame  uint64 // tells it apart from those that wait with it
	length int    // octets as it leaves
	at     int64  // time
}

// stuck is what a port knows of frames that the link drops each time.
type stuck struct {
	last   attempt
	since  int64 // when last.frame was dropped first
	length int   // of the last frame that was given up
	until  int64 // so long frames of that length and more are given up at once
}

// How long a frame is sent again that the link drops, which pause between two attempts makes a new beginning (a full
// queue of the peer drains while nothing is sent), and how long it is remembered that a frame was given up.
const (
	stuckLimit  = 1_000_000_000
	stuckGap    = 50_000_000
	stuckMemory = 10_000_000_000
)

// passed says that a frame of length octets has left: such frames are not hopeless.
func (s *stuck) passed(length int) {
	if length >= s.length {
		s.until = 0
	}
}

// givenUp tells whether a frame is to be given up: the link has dropped it for a second, or one that was not longer not
// long ago. It would hold up all others of its queue, and everybody who sends there.
func (t *portTask) givenUp(sw *dataplane.Switch, err error, a attempt) bool {
	if !errors.Is(err, port.ErrDropped) {
		return false
	}
	s := &t.stuck
	if a.at < s.until && a.length >= s.length {
		return true
	}
	if s.last.frame != a.frame || s.since == 0 || a.at-s.last.at > stuckGap {
		s.since = a.at
	}
	s.last = a
	if a.at-s.since < stuckLimit {
		return false
	}
	t.stuck = stuck{length: a.length, until: a.at + stuckMemory}
	sw.Note(dataplane.Event{Kind: dataplane.EventLinkDrops, Port: t.cfg.Name, Priority: -1,
		Text: fmt.Sprintf("the link drops each frame of %d octets, so that such frames are given up: "+
			"make the MTU of the interface at the far end as large as this port's, "+
			"or look for a queueing discipline (tc qdisc show) that refuses them", a.length)}, a.at)
	return true
}

// refusedFor names why the kernel will never take a frame.
func refusedFor(err error) dataplane.DropReason {
	if errors.Is(err, unix.EMSGSIZE) {
		return dataplane.DropOversize
	}
	return dataplane.DropSend
}
