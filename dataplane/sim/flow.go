package sim

import (
	"encoding/binary"
	"unsafe"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/ack"
	"pfcswitch/dataplane/dcqcn"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
)

// A FlowConfig is a stream of equal frames from one host to another.
type FlowConfig struct {
	From, To int // nodes
	Priority uint8
	Octets   int    // of a frame, without FCS, with its tag
	Rate     int64  // bit/s on the wire; 0: as much as the NIC sends
	Start    int64  // ns
	Stop     int64  // from then on no frame begins
	Frames   uint64 // that it sends in all, from Start on without delay; 0: until Stop, with a Latency
	Window   uint64 // frames that may be on their way without an acknowledgement; 0: any number
	DCQCN    bool   // frames are IPv4 with ECN, the receiver notifies of marks, and the sender slows down
	TTL      uint8  // switches that pass a frame on, up to MaxTTL: the next discards it, as routers do; 0: any number
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
	windowOctets              int64              // on the wire, that came in the window
	latency                   *dataplane.Latency // nil with Frames
	done                      int64              // when the last of Frames came; 0: not yet

	acks ack.Sender
	owed ack.Receiver // its NIC has to send an acknowledgement

	control *control // of DCQCN; nil: none
}

// The first octets of a flow's frame: a header with a priority tag, then the numbers.
const (
	numbersAt   = frame.HeaderOctets + frame.TagOctets // in a frame as it is sent
	numbers     = 4 + 8 + 8                            // flow, sequence number, time of sending; TTL+1 follows, or 0
	MaxTTL      = 254
	MinOctets   = 64        // the shortest tagged frame, without FCS
	maxCatchUp  = 2_000_000 // ns of its rate that a flow may send at once, as traffic's do
	testOctets0 = 0x88B5    // Local Experimental EtherType 1
	acksFlow    = 1 << 31   // bit of the flow's number: an acknowledgement
	notifies    = 1 << 30   // bit of the flow's number: a CNP
)

// FlowMemory is how many octets of memory a flow takes at least: sized with Frames, dcqcn under DCQCN.
func FlowMemory(sized, dcqcn bool) int64 {
	octets := int64(unsafe.Sizeof(flow{}))
	if !sized {
		octets += int64(unsafe.Sizeof(dataplane.Latency{}))
	}
	if dcqcn {
		octets += int64(unsafe.Sizeof(control{}))
	}
	return octets
}

// begin makes the flow ready to send. Its first frame leaves up to one frame time late, by the random number r, so that
// flows with the same start are not in step.
func (fl *flow) begin(speed int64, r uint64) {
	fl.wire, fl.acks.Window = int64(frame.WireOctets(fl.Octets)), fl.Window
	rate := speed
	if fl.Rate > 0 {
		rate = min(rate, fl.Rate)
	}
	if fl.Frames == 0 {
		fl.jitter = int64(r % uint64(max(1, fl.wire*8*nsPerSecond/rate)))
		fl.latency = &dataplane.Latency{}
	}
	if fl.DCQCN {
		fl.beginControl(speed, rate)
		return
	}
	depth := max(2*fl.wire, fl.Rate/8*maxCatchUp/nsPerSecond)
	fl.meter.Configure(fl.Rate, depth, fl.Start+fl.jitter)
	fl.meter.Take(depth - fl.wire)
}

// begins returns when the flow may send its first frame.
func (fl *flow) begins() int64 { return fl.Start + fl.jitter }

// ended reports whether the flow sends nothing more.
func (fl *flow) ended(now int64) bool { return now >= fl.Stop || fl.Frames > 0 && fl.sent == fl.Frames }

// due returns when the flow, which has begun and has not ended, has a frame to send, at time now or later. Never: an
// acknowledgement has to come first.
func (fl *flow) due(now int64) int64 {
	if !fl.acks.Open(fl.sent) {
		return never
	}
	if fl.control != nil {
		return fl.dueUnder(fl.control, now)
	}
	return fl.meter.When(fl.wire, now)
}

// build makes the next frame of the flow with number i, and counts it as sent.
func (fl *flow) build(t *transit, i int32, now int64) {
	fl.fill(t, uint32(i), fl.sent, now)
	fl.sent++
	fl.meter.Take(fl.wire)
	if fl.control != nil {
		fl.control.point.Sent(int64(fl.Octets))
		fl.adjust(fl.control, now)
	}
}

// answer makes what the receiver of a flow sends: an acknowledgement that says what has come, or a CNP.
func (fl *flow) answer(t *transit, number uint32, now int64) {
	if number&notifies == 0 {
		fl.owed.Leaves()
		number |= acksFlow
	}
	fl.fill(t, number, fl.next, now)
}

// fill makes a frame with the numbers of a flow.
func (fl *flow) fill(t *transit, number uint32, sequence uint64, now int64) {
	octets, priority, src, dst := fl.Octets, fl.Priority, fl.src, fl.dst
	if number&(acksFlow|notifies) != 0 {
		octets, src, dst = MinOctets, dst, src
	}
	if number&notifies != 0 {
		priority = dcqcn.Priority
	}
	t.octets, t.data = int32(octets), true
	b := t.head[:]
	frame.PutAddress(b, dst)
	frame.PutAddress(b[frame.AddressOctets:], src)
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets+2:], uint16(frame.MakeTCI(priority, false, 0)))
	binary.BigEndian.PutUint16(b[numbersAt-2:], testOctets0)
	b = b[numbersAt:]
	if number&(acksFlow|notifies) == 0 && fl.control != nil {
		binary.BigEndian.PutUint16(t.head[numbersAt-2:], frame.TypeIPv4)
		b = b[copy(b, fl.control.ip[:]):]
	}
	binary.BigEndian.PutUint32(b, number)
	binary.BigEndian.PutUint64(b[4:], sequence)
	binary.BigEndian.PutUint64(b[12:], uint64(now))
	clear(b[numbers:])
	if fl.TTL > 0 {
		b[numbers] = fl.TTL + 1
	}
}

// expires has a switch take one off the TTL of a frame that it gets, and reports whether it discards the frame.
func (s *shard) expires(b []byte) bool {
	header, ok := frame.Parse(b)
	at := header.NetOffset + numbers
	if header.EtherType == frame.TypeIPv4 {
		at += ipOctets
	}
	if !ok || len(b) <= at || header.EtherType != frame.TypeIPv4 && header.EtherType != testOctets0 || b[at] == 0 {
		return false
	}
	left := &b[at]
	*left--
	return *left == 0
}

// deliver counts a frame that has come to a host.
func (s *shard) deliver(h *host, b []byte, octets int) {
	header, ok := frame.Parse(b)
	at := header.NetOffset
	switch {
	case !ok || header.Dst != h.MAC:
		return // flooded, and for another host
	case header.EtherType == frame.TypeIPv4:
		at += ipOctets
	case header.EtherType != testOctets0:
		return
	}
	if len(b) < at+numbers {
		return
	}
	marked := frame.CE(b, header.NetOffset, header.EtherType)
	b = b[at:]
	number := binary.BigEndian.Uint32(b)
	fl := &s.flows[number&^(acksFlow|notifies)]
	sequence, sent := binary.BigEndian.Uint64(b[4:]), int64(binary.BigEndian.Uint64(b[12:]))
	if number&acksFlow != 0 {
		fl.acks.Acknowledged(sequence)
		s.sendAtHost(h)
		return
	}
	if number&notifies != 0 {
		fl.notified(s.now)
		s.sendAtHost(h)
		return
	}
	if fl.received++; fl.received == fl.Frames {
		fl.done = s.now
	}
	if sequence < fl.next {
		fl.reordered++
	}
	fl.next = max(fl.next, sequence+1)
	if fl.latency != nil {
		fl.latency.Record(s.now - sent)
	}
	if s.now > fl.window[0] && s.now <= fl.window[1] {
		fl.windowOctets += int64(frame.WireOctets(octets))
	}
	if fl.Window > 0 && fl.owed.Came() {
		h.answer(fl.Priority, number)
		s.sendAtHost(h)
	}
	if marked && fl.marked(s.now) {
		h.answer(dcqcn.Priority, number|notifies)
		s.sendAtHost(h)
	}
}
