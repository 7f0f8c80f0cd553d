package dataplane

import (
	"slices"
	"strings"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// A TraceResult is what would become of a frame that a port received now. The functions that decide on real frames
// fill it. Nothing is learned, charged or counted.
type TraceResult struct {
	Config PortConfig // of the port that the frame arrives at
	Up     bool
	Octets int // of the frame, or of the first of its Pieces
	Pieces int // segments of a GSO frame; 1 for all others

	Header   frame.Header
	DSCP     int // 0–63; -1 where it is no IP packet
	Priority uint8
	Lossless bool // on arrival at this port

	Faulty   bool // it is dropped at once: malformed, or longer than the port carries
	Trap     Trap
	Trunk    string // that carries the frame, "" where the bridge does
	VLAN     uint16 // bridge.NoVLAN through a trunk and over a wire
	Member   bool   // the port is a member of VLAN
	Station  bridge.Entered
	Known    string // port of Station
	Ways     []int  // ports of Station's group that other flows may take, and this one has; nil without a group
	Decision bridge.Decision
	Demoted  bool // from its lossless priority to the queue that Copies name

	Marks      bool                // it can get an ECN mark
	Ingress    *buffer.TraceResult // of a frame that is charged to a lossless ingress queue
	XoffWanted bool                // the peer is held already, for whatever cause
	InRing     bool                // an earlier frame of its ingress queue waits for buffer, and this one behind it

	Copies  []Copy // by egress port
	Waits   bool   // in the receive ring, until there is room
	Dropped bool   // no copy goes on
	Reason  DropReason
}

// A Copy is a frame on its way out by one port.
type Copy struct {
	Port     int
	Name     string
	MaxFrame int
	Speed    int64 // bit/s, 0 is no limit
	Served   sched.Queue
	Queue    uint8
	Octets   int  // as it leaves
	Tagged   bool // it leaves with a tag, Tag
	Tag      frame.TCI
	Dropped  bool
	Reason   DropReason
	Lossy    *buffer.LossyTraceResult // where the frame is charged to the egress queue

	AheadFrames int   // that wait in the queue
	AheadOctets int64 // without FCS
	PortOctets  int64 // that wait at the port, on the wire
	PausedNs    int64 // for how long yet the peer holds the queue, if nothing comes; 0 where it does not
	Discards    bool  // the watchdog empties the queue
	MarkShare   float64
}

// ceOctets holds the longest headers up to the ECN field and the checksum over it: those of a tagged IPv6 packet.
const ceOctets = frame.HeaderOctets + frame.TagOctets + 40

// Trace tells what would become of frame b, with the virtio header v, if port in received it at time now. ok is false
// where there is no such port.
func (s *Switch) Trace(in int, b []byte, v frame.VnetHeader, now int64) (f TraceResult, ok bool) {
	if uint(in) >= MaxPorts || s.ports[in] == nil {
		return f, false
	}
	s.setTime(now)
	p := s.ports[in]
	f = TraceResult{Config: p.cfg, Up: p.up, DSCP: -1, Pieces: 1, XoffWanted: p.sender.XoffWanted() != 0}
	a := Arrival{Data: slices.Clone(b), Vnet: v, At: now}
	refused := f.cut(&a)
	f.Octets = len(a.Data)
	if a.Prepare(&p.cfg.Classify, p.cfg.MaxFrame); refused {
		a.Malformed()
	}
	f.Header, f.Priority = a.header, a.priority
	f.InRing = p.room.waiting>>p.ingressQueueOf(a.priority)&1 != 0
	f.Marks = frame.MarkCE(slices.Clone(a.Data[:min(len(a.Data), ceOctets)]), a.header.NetOffset, a.header.EtherType)
	f.Lossless = !a.bad && p.lossless(a.priority)
	if dscp, isIP := frame.DSCP(a.Data, a.header.NetOffset, a.header.EtherType); isIP && a.priority != Unknown {
		f.DSCP = int(dscp)
	}
	s.traceFrame(&f, p, &a)
	return f, true
}

// cut replaces a GSO frame by its first segment, where the port segments. refused is a frame that cannot be segmented.
func (f *TraceResult) cut(a *Arrival) (refused bool) {
	switch {
	case !f.Config.Cut:
		return false
	case !a.Vnet.IsGSO():
		if a.Vnet.NeedsCsum() && frame.CompleteChecksum(a.Data, a.Vnet) {
			a.Vnet = frame.VnetHeader{}
		}
		return false
	}
	var c frame.Segmenter
	if c.Reset(a.Data, a.Vnet) != frame.NotRefused {
		return true
	}
	f.Pieces = c.Left()
	first := make([]byte, c.MaxOctets())
	a.Data, a.Vnet = first[:c.Next(first)], frame.VnetHeader{}
	return false
}

// traceFrame mirrors Ingress and receive.
func (s *Switch) traceFrame(f *TraceResult, p *portState, a *Arrival) {
	switch {
	case !p.up:
		f.drop(DropPortDown)
		return
	case a.bad:
		f.Faulty = true
		f.drop(a.fault)
		return
	}
	if f.Trap = s.trapOf(p, a); f.Trap != NotTrapped {
		switch f.Trap {
		case TrapMACControl, TrapLLDP, TrapOfAnotherLink, TrapOwnSource:
			f.drop(DropFiltered)
		}
		return
	}
	var refused bridge.DropReason
	f.VLAN, refused, f.Decision = s.route(p, a, false)
	f.Member = refused != bridge.DropFiltered
	switch {
	case p.trunk != nil:
		f.Trunk = p.trunk.cfg.Name
	case refused != bridge.DropNone:
		f.drop(bridgeReason(refused))
		return
	default:
		f.Station = s.bridge.Lookup(a.header.Dst, f.VLAN, s.now)
		s.traceStation(f)
	}
	s.traceDispatch(f, p, a)
}

// traceStation says where the destination is, and which ways lead there.
func (s *Switch) traceStation(f *TraceResult) {
	behind := f.Station.Group
	if f.Station.Known && f.Station.Port >= 0 {
		behind.Add(f.Station.Port)
	}
	var names []string
	for i := range behind.All() {
		if s.ports[i] != nil {
			names = append(names, s.ports[i].cfg.Name)
		}
	}
	f.Known = strings.Join(names, ", ")
	if f.Decision.Kind == bridge.Unicast && f.Decision.Ports != nil {
		f.Ways = slices.Collect(f.Decision.Ports.All())
		f.Decision.Ports = nil // the next decision has them
	}
}

// traceDispatch mirrors dispatch.
func (s *Switch) traceDispatch(f *TraceResult, p *portState, a *Arrival) {
	how, q, why := s.admission(p, a, f.VLAN, &f.Decision)
	if how == toEgressQueues {
		s.traceFlood(f, p, a, q)
		return
	}
	if how == notAdmitted {
		f.drop(why)
	}
	if f.Decision.Kind != bridge.Unicast {
		return
	}
	out := s.ports[f.Decision.Port]
	c := s.copyTo(out, a, f.VLAN, q)
	switch how {
	case notAdmitted:
		c.drop(why)
	case toIngressQueue:
		s.traceAdmission(f, p, a)
	default:
		if s.traceLossy(&c, out, a, 0); c.Dropped {
			f.drop(c.Reason)
		}
	}
	f.Copies = append(f.Copies, c)
}

// traceAdmission mirrors admitLossless.
func (s *Switch) traceAdmission(f *TraceResult, p *portState, a *Arrival) {
	predicted := s.buffer.Trace(p.index, a.priority, len(a.Data))
	f.Ingress = &predicted
	switch predicted.Verdict {
	case buffer.Accept, buffer.AcceptHeadroom:
	case buffer.Wait:
		f.Waits = true
	case buffer.DropOversize:
		f.drop(DropOversize)
	case buffer.DropHeadroomPool:
		f.drop(DropHeadroomPool)
	default:
		f.drop(DropLosslessHeadroom)
	}
}

// traceLossy mirrors admitLossy after earlier copies have taken so many octets. It returns the octets of this copy.
func (s *Switch) traceLossy(c *Copy, out *portState, a *Arrival, taken int64) int64 {
	predicted := s.buffer.TraceLossy(out.index, c.Queue, len(a.Data), taken)
	if c.Lossy = &predicted; !predicted.Accepted {
		c.drop(DropLossyThreshold)
		return 0
	}
	return predicted.Size
}

// traceFlood mirrors flood.
func (s *Switch) traceFlood(f *TraceResult, p *portState, a *Arrival, q uint8) {
	f.Demoted = q != a.priority
	going, taken := 0, int64(0)
	for i := range f.Decision.Ports.All() {
		c := s.copyTo(s.ports[i], a, f.VLAN, q)
		c.MarkShare = 0 // flooded copies are not marked
		if why, filtered := s.filtered(p, s.ports[i], a, f.VLAN); filtered {
			c.drop(why)
		} else {
			taken += s.traceLossy(&c, s.ports[i], a, taken)
		}
		if !c.Dropped {
			going++
		}
		f.Copies = append(f.Copies, c)
	}
	f.Decision.Ports = nil // the next decision has them
	if going == 0 {
		f.drop(f.Copies[0].Reason)
	}
}

// copyTo returns how a frame would leave by queue q of out, and what waits before it.
func (s *Switch) copyTo(out *portState, a *Arrival, vid uint16, q uint8) Copy {
	c := Copy{Port: out.index, Name: out.cfg.Name, MaxFrame: out.cfg.MaxFrame, Speed: out.cfg.Speed,
		Served: out.cfg.Egress[q], Queue: q, Octets: len(a.Data), Tagged: a.header.Tagged, Tag: a.header.TCI,
		AheadFrames: out.queues[q].frames + out.queues[q].staged, AheadOctets: out.count.QueueBytes[q],
		PortOctets: out.waitingOctets(0), Discards: out.discardQueues&(1<<q) != 0}
	switch action, tci := s.egressTag(out, a, vid); action {
	case tagStrip:
		c.Octets, c.Tagged, c.Tag = c.Octets-frame.TagOctets, false, 0
	case tagInsert:
		c.Octets, c.Tagged, c.Tag = c.Octets+frame.TagOctets, true, frame.TCI(tci)
	case tagSet:
		c.Tag = frame.TCI(tci)
	}
	if out.cfg.Mode != macctl.ModeOff && out.receiver.Paused(s.now)&(1<<q) != 0 {
		c.PausedNs = max(1, out.receiver.FreeSince(q)-s.now)
	}
	c.MarkShare = out.cfg.ECN[q].share(out.count.QueueBytes[q])
	return c
}

func (f *TraceResult) drop(r DropReason) { f.Dropped, f.Reason = true, r }

func (c *Copy) drop(r DropReason) { c.Dropped, c.Reason = true, r }
