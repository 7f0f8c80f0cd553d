package sim

import (
	"encoding/binary"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
)

// A FlowConfig is a stream of equal frames from one host to another.
type FlowConfig struct {
	From, To int // nodes
	Priority uint8
	Octets   int   // of a frame, without FCS, with its tag
	Rate     int64 // bit/s on the wire; 0: as much as the NIC sends
	Start    int64 // ns
	Stop     int64 // from then on no frame begins
}

// A flow is what the sender and the receiver know of a FlowConfig.
type flow struct {
	FlowConfig
	src, dst uint64 // addresses
	wire     int64  // octets of a frame on the wire
	jitter   int64  // ns that it begins late
	meter    sched.Shaper

	sent, received, reordered uint64
	next                      uint64 // sequence number that follows the highest that came
	window                    [2]int64
	windowOctets              int64 // on the wire, that came in the window
	latency                   dataplane.Latency
}

// The first octets of a flow's frame: a header with a priority tag, then the numbers.
const (
	numbersAt   = frame.HeaderOctets + frame.TagOctets // in a frame as it is sent
	numbers     = 4 + 8 + 8                            // flow, sequence number, time of sending
	MinOctets   = 64                                   // the shortest tagged frame, without FCS
	maxCatchUp  = 2_000_000                            // ns of its rate that a flow may send at once, as traffic's do
	testOctets0 = 0x88B5                               // Local Experimental EtherType 1
)

// begin makes the flow ready to send. Its first frame leaves up to one frame time late, by the random number r, so that
// flows with the same start are not in step.
func (fl *flow) begin(speed int64, r uint64) {
	fl.wire = int64(frame.WireOctets(fl.Octets))
	rate := speed
	if fl.Rate > 0 {
		rate = min(rate, fl.Rate)
	}
	fl.jitter = int64(r % uint64(max(1, fl.wire*8*nsPerSecond/rate)))
	depth := max(2*fl.wire, fl.Rate/8*maxCatchUp/nsPerSecond)
	fl.meter.Configure(fl.Rate, depth, fl.Start+fl.jitter)
	fl.meter.Take(depth - fl.wire)
}

// due returns when the flow has a frame to send, at time now or later.
func (fl *flow) due(now int64) int64 {
	switch {
	case now >= fl.Stop:
		return never
	case now < fl.Start+fl.jitter:
		return fl.Start + fl.jitter
	}
	return fl.meter.When(fl.wire, now)
}

// build makes the next frame of the flow with number i, and counts it as sent.
func (fl *flow) build(t *transit, i int32, now int64) {
	t.octets, t.data = int32(fl.Octets), true
	b := t.head[:]
	frame.PutAddress(b, fl.dst)
	frame.PutAddress(b[frame.AddressOctets:], fl.src)
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets+2:], uint16(frame.MakeTCI(fl.Priority, false, 0)))
	binary.BigEndian.PutUint16(b[numbersAt-2:], testOctets0)
	binary.BigEndian.PutUint32(b[numbersAt:], uint32(i))
	binary.BigEndian.PutUint64(b[numbersAt+4:], fl.sent)
	binary.BigEndian.PutUint64(b[numbersAt+12:], uint64(now))
	clear(b[numbersAt+numbers:])
	fl.sent++
	fl.meter.Take(fl.wire)
}

// deliver counts a frame that has come to a host.
func (f *Fabric) deliver(h *host, b []byte, octets int) {
	header, ok := frame.Parse(b)
	if !ok || header.Dst != h.MAC || header.EtherType != testOctets0 || len(b) < header.NetOffset+numbers {
		return // flooded, and for another host
	}
	b = b[header.NetOffset:]
	fl := &f.flows[binary.BigEndian.Uint32(b)]
	sequence, sent := binary.BigEndian.Uint64(b[4:]), int64(binary.BigEndian.Uint64(b[12:]))
	fl.received++
	if sequence < fl.next {
		fl.reordered++
	}
	fl.next = max(fl.next, sequence+1)
	fl.latency.Record(f.now - sent)
	if f.now > fl.window[0] && f.now <= fl.window[1] {
		fl.windowOctets += int64(frame.WireOctets(octets))
	}
}
