package dataplane

import (
	"fmt"
	"math/bits"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// An Arrival is one received frame. Its octets stay where they were received until the switch has sent every copy, or
// Settle has moved what must wait.
type Arrival struct {
	Data []byte // from the destination MAC, without FCS
	Vnet frame.VnetHeader
	At   int64 // when it arrived, by the switch's clock: meters and shapers count from here
	// of a frame longer than port.MaxFrame, which Data is only the start of; else 0
	Octets int

	header      frame.Header
	priority    uint8
	disposition disposition
	fault       DropReason // where bad: why it is dropped at once
	bad         bool
	waits       bool               // it is in a waiting room, or has been
	learned     bool               // the bridge has learned its source
	marked      bool               // this switch has set CE
	came        [markedOctets]byte // where marked: what the mark has changed, as it came
	copies      uint32             // descriptors that still refer to Data, linked by sibling
	fastOut     uint16             // FastPath
	fastUntil   int64              // FastPath; 0: the frames that follow it take the same way as this one
}

// Prepare parses and classifies an arrival. It does not use the switch, so it needs no lock.
func (a *Arrival) Prepare(c *classify.Config, maxFrame int) {
	a.copies, a.bad, a.waits, a.marked, a.disposition, a.fastUntil = none, false, false, false, 0, 0
	var ok bool
	if a.header, ok = frame.Parse(a.Data); !ok {
		a.priority, a.fault, a.bad = Unknown, DropMalformed, true
		return
	}
	a.priority = c.Priority(a.Data, a.header)
	limit := maxFrame
	if a.header.Tagged {
		limit += frame.TagOctets
	}
	if max(len(a.Data), a.Octets) > limit {
		a.fault, a.bad = DropOversize, true
	}
}

// Malformed says, after Prepare, that the frame is a GSO frame that cannot be segmented.
func (a *Arrival) Malformed() { a.fault, a.bad = DropMalformed, true }

// Stop says why Ingress returned before the end of a burst.
type Stop uint8

// The reasons to stop.
const (
	Done             Stop = iota // the whole burst was taken
	ThresholdCrossed             // a threshold was crossed: send XOFF, then go on
	FrameWaits                   // the next frame must wait in the receive ring: the waiting room is full
)

// Ingress takes the frames of a burst that port in received, from frame first on, and returns the number of the first
// frame that it did not take. The caller goes on with that frame: after ThresholdCrossed at once, after FrameWaits when
// frames have left the waiting room (LeaveRoom). Copies for ports of the calling worker join their egress queues while
// their octets stay in the arrival: after sending what may go now, Settle moves the rest. Copies for ports of other
// workers, and frames for the waiting room, are in Staged.
//
// realTimeOffset is the real-time clock less the switch's clock, for measurement frames.
func (s *Switch) Ingress(in int, burst []Arrival, first int, now, realTimeOffset int64) (int, Stop) {
	s.setTime(now)
	s.realTimeOffset, s.disposition, s.mayLeaveSoon = realTimeOffset, 0, false
	p := s.ports[in]
	if p == nil || !p.up {
		s.mayLeaveSoon = true
		s.ignore(p, burst[first:])
		return len(burst), Done
	}
	if s.expect(p, burst[first:]) {
		return first, ThresholdCrossed
	}
	first, stop := s.takeIn(p, burst, first)
	s.expectNothing(p)
	return first, stop
}

// takeIn takes the frames of a burst that p received, from frame first on, as Ingress says.
func (s *Switch) takeIn(p *portState, burst []Arrival, first int) (int, Stop) {
	for i := first; i < len(burst); i++ {
		off, trunkHolds := s.buffer.OffCount(), s.trunkHolds
		s.onlyLongQueues = false
		if !s.receive(p, &burst[i], uint32(i)) {
			return i, FrameWaits
		}
		s.mayLeaveSoon = s.mayLeaveSoon || !s.onlyLongQueues
		if s.disposition != 0 {
			s.setDisposition(&burst[i])
		}
		if s.buffer.OffCount() > off || s.trunkHolds != trunkHolds {
			return i + 1, ThresholdCrossed
		}
	}
	return len(burst), Done
}

// expect tells the buffer what a burst brings, so that XOFF leaves before the burst is admitted. It reports whether an
// ingress queue turned OFF.
func (s *Switch) expect(p *portState, burst []Arrival) bool {
	if p.cfg.Mode == macctl.ModeOff {
		return false
	}
	var bytes [NumPriorities]int64
	queues, off := p.expected, s.buffer.OffCount()
	for i := range burst {
		if a := &burst[i]; !a.bad && p.lossless(a.priority) && a.header.Dst != streamAddress { // streams take no buffer
			q := p.ingressQueueOf(a.priority)
			bytes[q] += s.buffer.Charge(len(a.Data))
			queues |= 1 << q
		}
	}
	s.arrived, p.expected = burst[0].At, queues
	for ; queues != 0; queues &= queues - 1 {
		q := bits.TrailingZeros8(queues)
		s.buffer.Expect(p.index, uint8(q), bytes[q])
	}
	return s.buffer.OffCount() > off
}

func (s *Switch) expectNothing(p *portState) {
	for ; p.expected != 0; p.expected &= p.expected - 1 {
		s.buffer.Expect(p.index, uint8(bits.TrailingZeros8(p.expected)), 0)
	}
}

// ignore counts frames that came in by a port that is down.
func (s *Switch) ignore(p *portState, burst []Arrival) {
	if p == nil {
		return
	}
	for i := range burst {
		s.count(p, &burst[i])
		s.drop(p, burst[i].priority, DropPortDown, p.undecided(&burst[i]))
		s.setDisposition(&burst[i])
	}
}

func (s *Switch) count(p *portState, a *Arrival) {
	if a.waits {
		return // it was counted on its way into the waiting room
	}
	if a.header.Dst != bridge.ProbeAddress {
		s.receivedFrames++
		p.dataFrames++
	}
	p.count.ReceivedFrames++
	p.count.ReceivedBytes += uint64(len(a.Data))
	if p.xoffSent != 0 {
		s.countAfterXoff(p, a)
	}
}

// receive takes one frame. It returns false where the frame must wait in the ring.
func (s *Switch) receive(p *portState, a *Arrival, index uint32) bool {
	if a.bad {
		s.count(p, a)
		s.drop(p, a.priority, a.fault, p.uncharged(a, a.fault))
		s.reportFault(p, a)
		return true
	}
	switch trap := s.trapOf(p, a); trap {
	case NotTrapped:
		if p.room.waiting>>p.ingressQueueOf(a.priority)&1 != 0 || !s.forward(p, a, index) {
			return s.enterRoom(p, a)
		}
	case TrapStream:
		s.handleStream(p, a)
	case TrapMeasurement:
		s.Measurement(p.index, a.Data, a.Vnet.NeedsCsum(), a.At, s.now, s.realTimeOffset)
	case TrapLoopProbe:
		s.handleLoopProbe(p, a)
	default: // of MAC Control and LLDP frames, a control ring or the agent's socket has a copy
		s.count(p, a)
		c := chargeLossy // nobody gets a control frame
		if trap == TrapOwnSource {
			c = p.uncharged(a, DropFiltered)
		}
		s.drop(p, a.priority, DropFiltered, c)
		s.reportForged(p, a, trap)
	}
	return true
}

// reportFault reports a frame that the port does not carry, the first of its kind for each configuration. Its sender
// goes on: no priority and no pause keeps such frames.
func (s *Switch) reportFault(p *portState, a *Arrival) {
	e := Event{Kind: EventOversize, Port: p.cfg.Name, Priority: -1}
	switch {
	case a.fault == DropMalformed && len(a.Data) == 0 && !p.reported[DropMalformed]:
		e.Kind, e.Text = EventMalformed, "a GSO frame came of a kind that the kernel hands to no packet socket "+
			"(SCTP, UDP fragmentation): such frames are dropped (malformed), those of lossless priorities too. "+
			"Switch it off at the station that sends them (ethtool -K eth0 tx-sctp-segmentation off; "+
			"in the network card of a virtual machine, host_ufo=off)"
	case a.fault == DropOversize && !p.reported[DropOversize]:
		e.Peer, e.Text = a.header.Src, p.tooLong(a)
	default:
		return
	}
	p.reported[a.fault] = true
	s.event(e)
}

// tooLong says what to do about a frame that is longer than the port carries.
func (p *portState) tooLong(a *Arrival) string {
	if a.Octets > port.MaxFrame {
		return fmt.Sprintf("a GSO frame of %d octets came (BIG TCP), and the switch takes %d: longer frames are "+
			"dropped (oversize), those of lossless priorities too. At the station that sends them: "+
			"ip link set dev eth0 gso_max_size 65536 gso_ipv4_max_size 65536", a.Octets, port.MaxFrame)
	}
	octets, mtu := len(a.Data), p.cfg.MaxFrame-frame.HeaderOctets
	if a.header.Tagged {
		octets -= frame.TagOctets
	}
	return fmt.Sprintf("a frame of %d octets came, and at an mtu of %d the port carries %d (a tag comes on top): "+
		"longer frames are dropped (oversize), those of lossless priorities too. Lower the MTU of the station that "+
		"sends them to %d, or raise ports.%s.mtu to %d (pfcswitch nic: --mtu)",
		octets, mtu, p.cfg.MaxFrame, mtu, p.cfg.Name, octets-frame.HeaderOctets)
}

// forgedTexts describe frames that no station may send.
var forgedTexts = [numTraps]string{
	TrapOfAnotherLink: "a measurement frame came that is not for this port: a host may want to change the headroom " +
		"of another link",
	TrapOwnSource: "a frame came whose source is the address of a port of this switch: a host pretends to be the " +
		"switch, or there is a loop",
}

// reportForged reports the first frame under a configuration that no station may send.
func (s *Switch) reportForged(p *portState, a *Arrival, t Trap) {
	if forgedTexts[t] != "" && !p.reportedTraps[t] {
		p.reportedTraps[t] = true
		s.event(Event{Kind: EventPort, Port: p.cfg.Name, Priority: -1, Peer: a.header.Src,
			Text: forgedTexts[t] + "; such frames are dropped (filtered)"})
	}
}

// forward takes a frame to its egress queues, or drops it. It returns false where the frame must wait for buffer.
func (s *Switch) forward(p *portState, a *Arrival, index uint32) bool {
	s.decidedUntil = 0
	vid, refused, d := s.route(p, a, true)
	s.forgetFastPaths()
	if refused != bridge.DropNone {
		s.count(p, a)
		why := bridgeReason(refused)
		s.drop(p, a.priority, why, p.uncharged(a, why))
		return true
	}
	return s.dispatch(p, a, index, vid, &d)
}

func (s *Switch) dispatch(p *portState, a *Arrival, index uint32, vid uint16, d *bridge.Decision) bool {
	how, q, why := s.admission(p, a, vid, d)
	if how == toIngressQueue {
		return s.admitLossless(p, a, index, vid, s.ports[d.Port])
	}
	s.count(p, a)
	s.overspeed(p, a)
	switch how {
	case toEgressQueue:
		out := s.ports[d.Port]
		s.onlyLongQueues = out.longQueue(q)
		if s.admitLossy(p, a, out, q, chargeLossy) {
			s.mark(out, a, q)
			s.enqueue(p, a, index, vid, out, q, chargeLossy)
		}
	case toEgressQueues:
		s.flood(p, a, index, vid, d, q)
	default:
		s.drop(p, a.priority, why, p.uncharged(a, why))
	}
	return true
}

// lossless tells whether frames of priority prio that arrive at the port are lossless.
func (p *portState) lossless(prio uint8) bool {
	return p.cfg.Mode == macctl.ModePause || p.cfg.Mode == macctl.ModePFC && p.cfg.Lossless>>prio&1 != 0
}

// overspeed counts frames that exceed the port's speed and twice its burst. Frames of one ring come in order. What has
// waited in another one meanwhile is older: the meter has no tokens of that time any more, and leaves it out.
func (s *Switch) overspeed(p *portState, a *Arrival) {
	if p.cfg.Speed == 0 || a.waits || a.At < p.meteredAt {
		return
	}
	p.meteredAt = a.At
	octets := int64(frame.WireOctets(len(a.Data)))
	if p.meter.Ready(octets, a.At) {
		p.meter.Take(octets)
		return
	}
	p.count.Overspeed++
	if p.count.Overspeed == 1 {
		s.event(Event{Kind: EventOverspeed, Port: p.cfg.Name, Priority: -1,
			Text: "the peer sends faster than this port's speed: set the speed of both ends alike"})
	}
}

// admitLossless charges a frame to its ingress queue. It returns false where the frame must wait for buffer.
func (s *Switch) admitLossless(p *portState, a *Arrival, index uint32, vid uint16, out *portState) bool {
	s.arrived, p.lastLosslessSource = a.At, a.header.Src
	s.onlyLongQueues = out.longQueue(a.priority)
	v := s.buffer.Admit(p.index, a.priority, len(a.Data))
	if v == buffer.Wait {
		s.startWait(p, a)
		return false
	}
	why, refused := duringXoff, v == buffer.DropHeadroom || v == buffer.DropHeadroomPool
	if refused {
		why = s.countNoRoom(p, a)
	}
	s.count(p, a)
	s.overspeed(p, a)
	switch {
	case v.Accepted():
		s.mark(out, a, a.priority)
		s.enqueue(p, a, index, vid, out, a.priority, chargeLossless)
	case v == buffer.DropOversize:
		s.drop(p, a.priority, DropOversize, chargeLossless)
	default:
		reason, effect := DropLosslessHeadroom, lostForHeadroom
		if v == buffer.DropHeadroomPool {
			reason, effect = DropHeadroomPool, lostForPool
		}
		s.drop(p, a.priority, reason, chargeLossless)
		s.noRoomEvent(p, a, why, EventLosslessDrop, effect)
		if why == afterXoff {
			s.peerEvent(p, EventIgnoresXoff, a.priority, moreThanHeadroom)
		}
	}
	return true
}

// admitLossy charges a frame to its egress queue, or drops it at the queue's threshold.
func (s *Switch) admitLossy(p *portState, a *Arrival, out *portState, q uint8, c charge) bool {
	if s.buffer.AdmitLossy(out.index, q, len(a.Data)) {
		return true
	}
	s.drop(p, a.priority, DropLossyThreshold, c)
	return false
}

// flood sends a copy to queue q of every port of the decision, never as lossless.
func (s *Switch) flood(p *portState, a *Arrival, index uint32, vid uint16, d *bridge.Decision, q uint8) {
	p.count.Copies += uint64(d.Ports.Len() - 1)
	s.onlyLongQueues = true
	c := chargeLossy
	if p.lossless(a.priority) {
		c = chargeDemoted
	}
	for i := range d.Ports.All() {
		out := s.ports[i]
		s.onlyLongQueues = s.onlyLongQueues && out.longQueue(q)
		if why, filtered := s.filtered(p, out, a, vid); filtered {
			s.drop(p, a.priority, why, c)
		} else if s.admitLossy(p, a, out, q, c) {
			s.enqueue(p, a, index, vid, out, q, c)
		}
	}
}

// enqueue appends a copy of the arrival to an egress queue, or stages it where another worker owns the port.
func (s *Switch) enqueue(p *portState, a *Arrival, index uint32, vid uint16, out *portState, q uint8, c charge) {
	out.closeGate(q)
	d := s.memory.allocDescriptor()
	if d == none {
		s.unadmit(p, a, out, q, c)
		return
	}
	dsc := &s.memory.descs[d]
	*dsc = descriptor{next: none, sibling: none, cell: none, arrival: index, length: uint32(len(a.Data)), vnet: a.Vnet,
		in: uint16(p.index), prio: a.priority, queue: q, charge: c}
	dsc.tag, dsc.tci = s.egressTag(out, a, vid)
	s.offerFastPath(p, out, a, dsc.tag)
	if out.owner == s.worker && !a.waits {
		dsc.sibling, a.copies = a.copies, d
		s.enterTrunk(out, dsc, a)
		s.deliver(out, d)
		return
	}
	if dsc.cell = s.memory.alloc(len(a.Data)); dsc.cell == none {
		s.memory.freeDescriptor(d)
		s.unadmit(p, a, out, q, c)
		return
	}
	s.enterTrunk(out, dsc, a)
	if a.waits {
		a.copies = d // for setDisposition
		s.memory.store(dsc.cell, a.Data)
		s.deliver(out, d)
		return
	}
	out.queues[q].staged++
	s.staged = append(s.staged, Move{desc: d, port: out.index, cell: dsc.cell, data: a.Data})
}

// unadmit takes the charge back where there is no descriptor, which the sizing of the memory excludes.
func (s *Switch) unadmit(p *portState, a *Arrival, out *portState, q uint8, c charge) {
	if c == chargeLossless {
		s.buffer.Release(p.index, a.priority, len(a.Data))
	} else {
		s.buffer.ReleaseLossy(out.index, q, len(a.Data))
	}
	s.drop(p, a.priority, DropBufferMemory, c)
}
