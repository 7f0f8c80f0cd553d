package dataplane

import (
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
)

// The functions of this file decide about real frames and traced ones. They change nothing but what the bridge learns.

// A Trap is the part of the switch that handles a frame instead of forwarding it.
type Trap uint8

// The traps.
const (
	NotTrapped Trap = iota
	TrapMACControl
	TrapLLDP
	TrapStream
	TrapMeasurement
	TrapLoopProbe
	TrapOfAnotherLink // a measurement frame that is not for this port
	TrapOwnSource     // the source is the address of a port of this switch
	numTraps
)

func (s *Switch) trapOf(p *portState, a *Arrival) Trap {
	t := a.header.EtherType
	measurement := t == s.cfg.Measurement.Fallback && s.cfg.Measurement.RecognizesTagged(a.Data)
	switch {
	case t == frame.TypeMACControl:
		return TrapMACControl
	case t == frame.TypeLLDP:
		return TrapLLDP
	case a.header.Dst == streamAddress && a.ofStream():
		return TrapStream
	case measurement && s.measures(p, a):
		return TrapMeasurement
	case measurement && s.cfg.Measurement.StaysOnLink(a.Data):
		return TrapOfAnotherLink
	case t == bridge.ProbeEtherType && p.trunk == nil:
		if probe, err := bridge.ParseProbe(a.Data); err == nil && s.bridge.Own(probe) {
			return TrapLoopProbe
		}
	}
	if (a.header.Src^s.ownFirst)&s.ownSame == 0 && p.guardsOwnSources() && s.ownAddresses[a.header.Src] {
		return TrapOwnSource
	}
	return NotTrapped
}

// guardsOwnSources tells whether only a pretender, or a loop, sends by the port from an address of this switch. Over a
// wire or a trunk such a frame may come from anywhere, and the host behind a TAP uses the address of its wire.
func (p *portState) guardsOwnSources() bool {
	return p.trunk == nil && !p.cfg.Bridge.Wired && !p.cfg.TAP
}

// route returns where a frame goes: through the port's trunk, or over the bridge. The bridge learns the source where
// learn is set, once for each frame. refused is not DropNone where the port does not take the frame.
func (s *Switch) route(p *portState, a *Arrival, learn bool) (vid uint16, refused bridge.DropReason,
	d bridge.Decision) {
	if p.trunk != nil {
		return bridge.NoVLAN, bridge.DropNone, s.throughTrunk(p, a)
	}
	vid, refused = s.bridge.Ingress(p.index, a.header.Tagged, a.header.TCI.VID())
	switch {
	case refused != bridge.DropNone:
	case learn && a.learned:
		d = s.bridge.Retry(p.index, a.header.Dst, a.header.Src, vid, len(a.Data), s.now)
	case learn:
		d = s.bridge.Forward(p.index, a.header.Dst, a.header.Src, vid, len(a.Data), s.now)
		s.decidedUntil = s.bridge.Until()
		if n, ok := s.bridge.TakeNotice(); ok {
			s.noticeEvent(n)
		}
	default:
		d = s.bridge.Trace(p.index, a.header.Dst, a.header.Src, vid, s.now)
	}
	if d.Kind == bridge.Grouped {
		d = s.bridge.Pick(d, p.index, vid, frame.Flow(a.Data, &a.header))
	}
	s.followProbes()
	return vid, refused, d
}

// An admission is how a frame is charged, where it is not dropped.
type admission uint8

const (
	notAdmitted    admission = iota
	toIngressQueue           // lossless, to one port
	toEgressQueue            // lossy, to one port
	toEgressQueues           // flooded
)

// admission returns how a frame is charged and which egress queue it joins, or why it is dropped.
func (s *Switch) admission(p *portState, a *Arrival, vid uint16, d *bridge.Decision) (how admission, q uint8,
	why DropReason) {
	switch d.Kind {
	case bridge.Drop:
		return notAdmitted, 0, bridgeReason(d.Reason)
	case bridge.Flood:
		q, ok := s.floodQueue(p, a.priority)
		if !ok {
			return notAdmitted, 0, DropUnknownLossless
		}
		return toEgressQueues, q, 0
	}
	if why, filtered := s.filtered(p, s.ports[d.Port], a, vid); filtered {
		return notAdmitted, a.priority, why
	}
	if p.lossless(a.priority) {
		return toIngressQueue, a.priority, 0
	}
	return toEgressQueue, a.priority, 0
}

// filtered returns why a frame that p received must not leave by out, if so.
func (s *Switch) filtered(p, out *portState, a *Arrival, vid uint16) (why DropReason, filtered bool) {
	switch {
	case s.tooLong(out, a, vid):
		return DropOversize, true
	case a.header.Tagged && a.header.EtherType == frame.TypeVLAN && s.hopsVLAN(p, out, a, vid):
		return DropDoubleTag, true
	}
	return 0, false
}

// tooLong reports whether a frame is longer than its egress port carries. Such a frame would never leave: the port's
// bucket is too small for it, or the kernel refuses it.
func (s *Switch) tooLong(out *portState, a *Arrival, vid uint16) bool {
	n := len(a.Data)
	if n <= out.cfg.MaxFrame {
		return false // a tag that is inserted here does not count
	}
	switch tag, _ := s.egressTag(out, a, vid); {
	case tag == tagStrip:
		n -= frame.TagOctets
	case tag == tagSet, tag == tagKeep && a.header.Tagged:
		n -= frame.TagOctets // nor does the frame's own tag
	}
	return n > out.cfg.MaxFrame
}

// hopsVLAN reports whether a frame with several tags would get from its VLAN into that of a later one, because out
// removes the first, or leaves it with a VID of 0, which receivers skip: out carries the VLAN of the first that has one
// behind it, or the first did not matter at p, as only a sender with that aim writes it. Else what follows the first
// tag is payload of a tunnel that ends at out.
func (s *Switch) hopsVLAN(p, out *portState, a *Arrival, vid uint16) bool {
	if s.bridge.Egress(out.index, vid) != bridge.Untagged {
		return false
	}
	rest, ok := a.Data, true
	inner := a.header
	for more := true; ok && more; more = inner.EtherType == frame.TypeVLAN && inner.TCI.VID() == 0 {
		rest = rest[frame.TagOctets:] // the next tag stands where the one before did
		inner, ok = frame.Parse(rest)
	}
	return !ok || out.cfg.Bridge.Tagged.Has(inner.TCI.VID()) || s.bridge.Egress(p.index, vid) == bridge.Untagged
}

func bridgeReason(r bridge.DropReason) DropReason {
	switch r {
	case bridge.DropSamePort:
		return DropSamePort
	case bridge.DropPortDown:
		return DropPortDown
	case bridge.DropStorm:
		return DropStorm
	case bridge.DropFrameType:
		return DropFrameType
	case bridge.DropSourceGuard:
		return DropSourceGuard
	}
	return DropFiltered
}

// floodQueue returns the egress queue by which a frame of priority prio that p received is flooded; ok is false where
// it must not be.
func (s *Switch) floodQueue(p *portState, prio uint8) (q uint8, ok bool) {
	if !p.lossless(prio) || p.cfg.TAP && s.cfg.Lossless&(1<<prio) == 0 {
		return prio, true
	}
	q = s.lossyQueue()
	return q, s.cfg.Demote && q != NumPriorities
}

// lossyQueue is the lowest priority that is lossy in this network, NumPriorities where none is.
func (s *Switch) lossyQueue() uint8 {
	for q := range uint8(NumPriorities) {
		if s.cfg.Lossless&(1<<q) == 0 {
			return q
		}
	}
	return NumPriorities
}

// egressTag decides about the VLAN tag (802.1Q 8.6.4). A frame that came priority-tagged keeps its tag on untagged
// egress unless the port strips it: else the next hop would lose the priority.
func (s *Switch) egressTag(out *portState, a *Arrival, vid uint16) (tagAction, uint16) {
	tagged := s.bridge.Egress(out.index, vid) == bridge.Tagged
	switch {
	case vid == bridge.NoVLAN:
		return tagKeep, 0
	case tagged && !a.header.Tagged:
		return tagInsert, uint16(a.priority)<<13 | vid
	case tagged && a.header.TCI.VID() != vid:
		return tagSet, uint16(a.header.TCI)&0xf000 | vid
	case !tagged && a.header.Tagged && (a.header.TCI.VID() != 0 || out.cfg.StripZero):
		return tagStrip, 0
	}
	return tagKeep, 0
}
