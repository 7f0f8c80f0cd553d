package headroom

import (
	"errors"
	"fmt"
	"time"
)

// CheckSettings say how a Check is made.
type CheckSettings struct {
	Xoffs     int           // number of XOFFs
	Fill      time.Duration // for which the link is full before each XOFF
	Quiet     time.Duration // without a frame, after which the peer counts as stopped
	RoundTrip time.Duration // as far as it is known
}

// Limits of a Check.
const (
	MaxXoffs        = 10_000
	checkAnswer     = 300 * time.Millisecond // for the answer to one request for a stream
	checkAsks       = 5                      // requests without an answer
	checkPatience   = 2 * time.Second        // for frames of a granted stream, and for other causes to free the peer
	checkUnstopped  = 60 * time.Millisecond  // of frames after XOFF: the peer does not stop
	checkRenewAfter = MaxStream / 2
)

// A CheckInput is what a Check sees of its port at one moment. Octets are those on the wire.
type CheckInput struct {
	Now        int64
	Up         bool
	Exclusive  bool   // nothing but the Check holds the priority
	XoffSent   bool   // the newest frame sent holds the priority
	XoffCount  uint64 // XOFFs sent
	AfterXoff  int64  // octets that came after the newest XOFF had left
	BeforeXoff int64  // octets that had come before that, and were looked at after it
	Streamed   uint64 // frames of the stream that have come
	Octets     uint64 // of all frames that have come

	Granted  time.Duration // by the answer to the newest request
	Answered bool
}

// A CheckOutput is what the port has to do after a step.
type CheckOutput struct {
	Hold bool // hold the priority until the next step
	Ask  bool // ask for a stream of MaxStream
	Done bool // end the stream, and free the peer: the Check is over
}

// A Check proves a headroom by experiment. It makes the peer fill the link, sends XOFF, counts what still comes, and
// begins again. Steps drive the Check, about one each millisecond; its counts do not depend on their times:
//
//	ask ──▶ wait ──▶ fill ──▶ stop ──▶ drain ──▶ wait …
//
// Each state is a method that returns the next one, nil at the end.
type Check struct {
	set   CheckSettings
	state checkState
	err   error
	order CheckOutput

	attempts int
	askedAt  int64
	asked    bool

	since    int64 // of the state
	streamed uint64
	octets   uint64 // when the filling began
	xoffs    uint64
	after    int64
	afterAt  int64 // when after last grew
	lookedAt int64 // last step of drain

	result CheckResult
}

type checkState func(*Check, *CheckInput) checkState

// A CheckResult is what a Check has found so far.
type CheckResult struct {
	AfterXoff  []int64       // octets that came after each XOFF, in order of time
	BeforeXoff int64         // most octets that had come before an XOFF, and were looked at after it
	Unstopped  int           // XOFFs after which frames went on coming
	Filled     time.Duration // time for which the link was full
	Octets     uint64        // that came in that time
}

// NewCheck returns a Check that has not begun.
func NewCheck(s CheckSettings) *Check {
	s.Xoffs = min(max(s.Xoffs, 1), MaxXoffs)
	return &Check{set: s, state: (*Check).ask, result: CheckResult{AfterXoff: make([]int64, 0, s.Xoffs)}}
}

// Step takes the state of the port and returns what the port has to do.
func (c *Check) Step(l CheckInput) CheckOutput {
	c.order.Ask = false
	if c.order.Done {
		return c.order
	}
	if !l.Up {
		c.fail("the link went down")
		return c.order
	}
	if c.state = c.state(c, &l); c.state == nil {
		c.order.Done, c.order.Hold = true, false
	}
	return c.order
}

// Result returns what was found, and why the Check failed.
func (c *Check) Result() (CheckResult, error) { return c.result, c.err }

func (c *Check) fail(format string, args ...any) checkState {
	c.err = fmt.Errorf(format, args...)
	c.order = CheckOutput{Done: true}
	return nil
}

// ErrNoStream says that the peer does not fill the link.
var ErrNoStream = errors.New("the peer does not fill the link for this check: write headroom: {send_request: on} there")

// ask asks for the stream until there is an answer.
func (c *Check) ask(l *CheckInput) checkState {
	switch {
	case c.asked && l.Answered && l.Granted == 0:
		c.err = ErrNoStream
		return nil
	case c.asked && l.Answered:
		c.streamed = l.Streamed
		return c.enter(l, (*Check).wait)
	case c.asked && l.Now-c.askedAt < int64(checkAnswer):
		return (*Check).ask
	case c.attempts == checkAsks:
		return c.fail("the peer has not answered %d requests to fill the link: it is older than they are, "+
			"or does not hear them", checkAsks)
	}
	c.attempts++
	c.request(l)
	return (*Check).ask
}

func (c *Check) request(l *CheckInput) { c.asked, c.askedAt, c.order.Ask = true, l.Now, true }

// renew asks again before the stream ends. Another request follows one that is lost.
func (c *Check) renew(l *CheckInput) {
	if l.Now-c.askedAt >= int64(checkRenewAfter) {
		c.request(l)
	}
}

func (c *Check) enter(l *CheckInput, s checkState) checkState {
	c.since = l.Now
	return s
}

func (c *Check) endOfStream() checkState {
	return c.fail("the peer fills the link no longer: its time for that is used up for now, or it is configured anew")
}

// wait waits until frames of the stream come, and no other cause holds the peer.
func (c *Check) wait(l *CheckInput) checkState {
	c.renew(l)
	switch {
	case l.Answered && l.Granted == 0:
		return c.endOfStream()
	case l.Exclusive && l.Streamed > c.streamed:
		c.octets, c.streamed = l.Octets, l.Streamed
		return c.enter(l, (*Check).fill)
	case l.Now-c.since < int64(checkPatience):
		return (*Check).wait
	case !l.Exclusive:
		return c.fail("the priority is held for other reasons all the time (see show pfc): " +
			"take load off what the port's frames go to")
	case len(c.result.AfterXoff) > 0:
		return c.endOfStream()
	}
	return c.fail("the peer fills the link, as it says, but no frame of it comes: does it give its frames " +
		"the same priority, and is its MTU no larger? Both ends need the same trust and priorities")
}

// fill keeps the link full for a while.
func (c *Check) fill(l *CheckInput) checkState {
	c.renew(l)
	// The time varies, so that XOFF meets all phases of what the peer does periodically.
	least := int64(c.set.Fill) + int64(c.set.Fill)*int64(len(c.result.AfterXoff)%8)/8
	full := l.Streamed > c.streamed // otherwise XOFF would stop nothing
	c.streamed = l.Streamed
	switch {
	case !l.Exclusive || l.XoffSent || l.Now-c.since > least+int64(checkPatience):
		return c.enter(l, (*Check).wait)
	case l.Now-c.since < least || !full:
		return (*Check).fill
	}
	c.result.Filled += time.Duration(l.Now - c.since)
	c.result.Octets += l.Octets - c.octets
	c.xoffs, c.order.Hold = l.XoffCount, true
	return c.enter(l, (*Check).stop)
}

// stop waits until XOFF has left.
func (c *Check) stop(l *CheckInput) checkState {
	switch {
	case l.XoffSent && l.XoffCount > c.xoffs:
		c.after, c.afterAt, c.lookedAt = l.AfterXoff, l.Now, l.Now
		return c.enter(l, (*Check).drain)
	case l.Now-c.since < int64(checkPatience):
		return (*Check).stop
	}
	return c.fail("XOFF does not leave the port")
}

// drain counts until no more frames come. Steps are far apart when this machine stood still. Nobody knows then how long
// frames went on coming, so that time does not count against the peer.
func (c *Check) drain(l *CheckInput) checkState {
	if gap := l.Now - c.lookedAt; gap > int64(c.set.Quiet) {
		c.since += gap
	}
	c.lookedAt = l.Now
	if l.AfterXoff > c.after {
		c.after, c.afterAt = l.AfterXoff, l.Now
	}
	c.result.BeforeXoff = max(c.result.BeforeXoff, l.BeforeXoff)
	unstopped := l.Now-c.since >= int64(checkUnstopped+c.set.RoundTrip)
	if l.Now-c.afterAt < int64(c.set.Quiet+c.set.RoundTrip) && !unstopped {
		return (*Check).drain
	}
	if unstopped {
		c.result.Unstopped++
	}
	c.result.AfterXoff = append(c.result.AfterXoff, c.after)
	if len(c.result.AfterXoff) == c.set.Xoffs {
		return nil
	}
	c.streamed, c.order.Hold = l.Streamed, false
	return c.enter(l, (*Check).wait)
}
