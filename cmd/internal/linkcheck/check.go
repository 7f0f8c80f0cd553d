// Package linkcheck finds out what passes a link, by requests to the other end.
//
//	check.go   Run: the requests in their order, and what follows from the answers
//	ask.go     one request with its retries; Answer: the other end, where no switch runs
//	tests.go   PFC, tag, MTU, checksum, round trip; what is known where nobody answers
//	port.go    the interface of a port of a running switch
//	wire.go    frames on a real interface
//
// The other end is a switch, a host NIC, or Answer. The requests are echo frames (macctl), which take one of three
// paths: as PAUSE and PFC, as ordinary frames that bridges do not forward, and as frames that bridges forward. Each
// request names the path of its answer, so that the two directions are tested apart.
package linkcheck

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// Options say what is to be checked.
type Options struct {
	Interface, Netns string
	Count            int           // round trips
	Patience         time.Duration // for one answer
	VLAN             uint16        // of the tag that is tried; 0: a priority tag
	Format           macctl.MeasurementFormat
}

// DefaultOptions are those of a quick check with frames of the default form.
func DefaultOptions() Options {
	return Options{Count: 200, Patience: 200 * time.Millisecond, Format: macctl.DefaultMeasurementFormat}
}

// Check reports what is wrong with the options.
func (o *Options) Check() error {
	switch {
	case o.Count < 1 || o.Count > maxTrips:
		return fmt.Errorf("%d round trips: 1 to %d are possible", o.Count, maxTrips)
	case o.Patience < time.Millisecond || o.Patience > 10*time.Second:
		return fmt.Errorf("a patience of %v: 1ms to 10s are possible", o.Patience)
	case o.VLAN > 4094:
		return fmt.Errorf("VLAN %d: 0 (a priority tag) to 4094 are possible", o.VLAN)
	}
	return nil
}

// A Wire carries frames to the other end and back. Times are ns of the real-time clock.
type Wire interface {
	// Send sends a frame that starts with its destination; v names what the link has to finish. stamp is the time of
	// sending: the kernel's where kernel is true, else the time before the call.
	Send(b []byte, v frame.VnetHeader) (stamp int64, kernel bool, err error)
	// Receive waits for a frame up to the time until; ok is false where none came.
	Receive(until int64) (h Received, ok bool)
	// Now reads the clock.
	Now() int64
	// Address is the MAC address of this end.
	Address() [6]byte
	// MaxFrame is the longest frame, in octets, that the interface takes.
	MaxFrame() int
}

// Received is a received frame.
type Received struct {
	Data            []byte
	Stamp           int64
	PartialChecksum bool // it came with the mark that its checksum is left to the receiver
}

// A checker is one run of all tests.
type checker struct {
	ctx           context.Context
	o             *Options
	wire          Wire
	session       uint16
	sequence      uint32
	base          macctl.EchoPath // that is answered
	peer          [6]byte
	controlPasses bool              // both ways
	overdue       map[uint32]answer // round trips without an answer within the patience, by sequence number
	way           macctl.EchoPath   // of round trips
	late          []answer          // answers to those
	counts        linkCounts
	report        *api.LinkCheck
}

// Run checks a link. It returns an error when ctx ends first.
func Run(ctx context.Context, o *Options, w Wire, session uint16) (*api.LinkCheck, error) {
	c := &checker{ctx: ctx, o: o, wire: w, session: session, report: &api.LinkCheck{Schema: api.Schema,
		Interface: o.Interface, OwnBytes: w.MaxFrame(), Checks: []api.LinkTest{}}}
	if o.Netns != "" {
		c.report.Netns = &o.Netns
	}
	if c.findPeer() {
		c.runTests()
	} else {
		c.reportSilence()
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted: what was found till then says nothing")
	}
	return c.report, nil
}

// runTests asks a peer that answers.
func (c *checker) runTests() {
	peer := net.HardwareAddr(c.peer[:]).String()
	c.report.Peer = &peer
	c.pfc()
	c.tag()
	c.mtu()
	c.checksum()
	c.roundTrip()
	c.report.Pass = true
	for _, t := range c.report.Checks {
		c.report.Pass = c.report.Pass && t.Verdict != api.LinkFail
	}
}

// findPeer finds the first path that is answered on the same path.
func (c *checker) findPeer() bool {
	for _, path := range []macctl.EchoPath{macctl.PathFallback, macctl.PathControl, macctl.PathBridged} {
		if a, ok := c.request(request{path: path, answerPath: path}); ok {
			c.base, c.peer = path, a.Source
			return true
		}
	}
	return false
}

func (c *checker) add(t api.LinkTest) { c.report.Checks = append(c.report.Checks, t) }

func (c *checker) addFailed(t api.LinkTest, text, remedy string) {
	t.Verdict, t.Text, t.Remedy = api.LinkFail, text, &remedy
	c.add(t)
}
