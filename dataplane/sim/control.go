package sim

import (
	"encoding/binary"

	"pfcswitch/dataplane/dcqcn"
	"pfcswitch/dataplane/frame"
)

// A ControlResult is what DCQCN has done to a flow.
type ControlResult struct {
	Marked   uint64 // frames that came with congestion experienced
	Sent     uint64 // CNPs, by the receiver
	Received uint64 // CNPs, while the flow was sending
	Rate     int64  // bit/s on the wire that the sender may send at the end
}

// A control is DCQCN of a flow: what its sender and its receiver know, and the IP header of its frames.
type control struct {
	ControlResult
	point    dcqcn.ReactionPoint
	receiver dcqcn.NotificationPoint
	interval int64 // ns between two CNPs
	rate     int64 // bit/s that the meter has
	ip       [ipOctets]byte
}

// The IP header of frames: IPv4 for experiments (RFC 3692), between addresses for benchmarks (RFC 2544).
const (
	ipOctets      = 20
	ipProtocol    = 253
	sourceIP      = 198<<24 | 18<<16 | 1
	destinationIP = 198<<24 | 19<<16 | 1
)

// beginControl makes the flow ready to send at the most, in bit/s, on a link of a speed.
func (fl *flow) beginControl(speed, most int64) {
	p := dcqcn.For(speed)
	c := &control{interval: p.Interval, rate: most}
	c.point.Start(p, most, fl.begins())
	ip := c.ip[:]
	ip[0], ip[1], ip[8], ip[9] = 0x45, frame.ECT0, 64, ipProtocol
	binary.BigEndian.PutUint16(ip[2:], uint16(fl.Octets-numbersAt))
	binary.BigEndian.PutUint32(ip[12:], sourceIP)
	binary.BigEndian.PutUint32(ip[16:], destinationIP)
	binary.BigEndian.PutUint16(ip[10:], ^frame.Sum(ip, 0))
	fl.control = c
	fl.meter.Configure(most, 2*fl.wire, fl.begins())
	fl.meter.Take(fl.wire)
}

// dueUnder is due of a flow with DCQCN. It looks again when the rate rises.
func (fl *flow) dueUnder(c *control, now int64) int64 {
	c.point.Advance(now)
	fl.adjust(c, now)
	return min(fl.meter.When(fl.wire, now), c.point.Next())
}

// adjust has the flow send at the rate of its reaction point.
func (fl *flow) adjust(c *control, now int64) {
	if rate := c.point.Rate(); rate != c.rate {
		c.rate = rate
		fl.meter.Configure(rate, 2*fl.wire, now)
	}
}

// notified says that a CNP came to the sender.
func (fl *flow) notified(now int64) {
	if c := fl.control; !fl.ended(now) {
		c.Received++
		c.point.Notified(now)
		fl.adjust(c, now)
	}
}

// marked says that a frame came with congestion experienced, and reports whether a CNP has to be sent.
func (fl *flow) marked(now int64) bool {
	c := fl.control
	c.Marked++
	if !c.receiver.Marked(c.interval, now) {
		return false
	}
	c.Sent++
	return true
}
