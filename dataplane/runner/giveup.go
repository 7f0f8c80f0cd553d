package runner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// refused reports whether the kernel will never take the frame of err.
func refused(err error) bool {
	return err != nil && !errors.Is(err, port.ErrAgain) && !errors.Is(err, port.ErrDropped) && !errors.Is(err,
		port.ErrDown)
}

// An attempt is a frame that was sent and has not left.
type attempt struct {
	frame  uint64 // differs between frames that wait
	length int    // octets as it leaves
	at     int64  // time
}

// stuck is the state of a port whose link drops a frame each time.
type stuck struct {
	last   attempt
	since  int64 // when last.frame was first dropped
	length int   // of the last frame that was given up
	until  int64 // until then, frames of that length and more are given up at once
}

const (
	stuckLimit  = 1_000_000_000  // ns for which a dropped frame is sent again
	stuckGap    = 50_000_000     // ns between two attempts after which stuckLimit starts anew: a full queue drains
	stuckMemory = 10_000_000_000 // ns for which a given-up length is remembered
)

// passed reports that the link has passed a frame of length octets.
func (s *stuck) passed(length int) {
	if length >= s.length {
		s.until = 0
	}
}

// givenUp reports whether a frame is to be given up, because it would block its queue and all senders to it: the link
// has dropped it for a second, or has recently dropped a frame of this length or a shorter one for a second.
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
