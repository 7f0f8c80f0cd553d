package traffic

import (
	"fmt"
	"time"

	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// base is the zero of the endpoint's clock.
var base = time.Now().Add(-time.Second)

func monotonic() int64 { return int64(time.Since(base)) }

// clockPair returns the endpoint's time and the real time of the same moment.
func clockPair() (now, wall int64) {
	t := time.Now()
	return int64(t.Sub(base)), t.UnixNano()
}

// Slots of an endpoint's rings: a sink takes 60 ms at 10 Gbit/s of full frames.
const (
	sinkSlots   = 16384
	senderSlots = 256
)

// open opens the port of an endpoint whose lossless ring takes the priorities in lossless.
func open(netns, name string, lossless uint8, slots int) (*port.AFPacket, port.Link, error) {
	l, err := port.Inspect(netns, name)
	if err != nil {
		return nil, l, err
	}
	c := classify.Config{Trust: classify.TrustPCP, DSCP: classify.DefaultDSCP()}
	fanout, err := c.Fanout(lossless)
	if err != nil {
		return nil, l, err
	}
	p, err := port.Open(port.Config{Interface: name, Netns: netns, LosslessSlots: slots, OtherSlots: slots,
		FrameSize: l.MTU + frame.HeaderOctets, SmallFrame: classify.SmallFrame, Fanout: fanout})
	return p, l, err
}

func macString(a uint64) string {
	var b [6]byte
	frame.PutAddress(b[:], a)
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
}
