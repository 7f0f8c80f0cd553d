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

// trapOf returns the trap of a frame.
func (s *Switch) trapOf(p *portState, a *Arrival) Trap {
	switch t := a.header.EtherType; {
	case t == frame.TypeMACControl:
		return TrapMACControl
	case t == frame.TypeLLDP:
		return TrapLLDP
	case a.header.Dst == streamAddress && a.ofStream():
		return TrapStream
	case t == s.cfg.Measurement.Fallback && s.measures(p, a):
		return TrapMeasurement
	case t == s.cfg.Measurement.Fallback && s.cfg.Measurement.StaysOnLink(a.Data):
		return TrapOfAnotherLink
	case t == bridge.ProbeEtherType && p.trunk == nil:
		if probe, err := bridge.ParseProbe(a.Data); err == nil && s.bridge.Own(probe) {
			return TrapLoopProbe
		}
	}
	if !p.cfg.TAP && s.ownAddresses[a.header.Src] { // the host behind a TAP uses the address of its wire
		return TrapOwnSource
	}
	return NotTrapped
}

// route returns where a frame goes: through the port's trunk, or over the bridge. The bridge learns the source where
// learn is set. member is false where the port is no member of the frame's VLAN.
func (s *Switch) route(p *portState, a *Arrival, learn bool) (vid uint16, member bool, d bridge.Decision) {
	if p.trunk != nil {
		return bridge.NoVLAN, true, s.throughTrunk(p, a)
	}
	vid, member = s.bridge.Ingress(p.index, a.header.Tagged, a.header.TCI.VID())
	switch {
	case !member:
		return vid, false, d
	case learn:
		return vid, true, s.bridge.Forward(p.index, a.header.Dst, a.header.Src, vid, len(a.Data), s.now)
	}
	return vid, true, s.bridge.Trace(p.index, a.header.Dst, a.header.Src, vid, s.now)
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
	switch {
	case s.tooLong(s.ports[d.Port], a, vid):
		return notAdmitted, a.priority, DropOversize
	case p.lossless(a.priority):
		return toIngressQueue, a.priority, 0
	}
	return toEgressQueue, a.priority, 0
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

func bridgeReason(r bridge.DropReason) DropReason {
	switch r {
	case bridge.DropSamePort:
		return DropSamePort
	case bridge.DropPortDown:
		return DropPortDown
	case bridge.DropStorm:
		return DropStorm
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
