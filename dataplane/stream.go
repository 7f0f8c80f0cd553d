package dataplane

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// streamMarker stands in a plan for a frame of the port's stream, which has no descriptor.
const streamMarker = none - 1

// A stream fills a link with frames of one priority for a time, because the peer checks its headroom. Dequeue chooses
// its frames like the frames of a queue that never empties: by strict and weighted priority, within the port's speed,
// and not while the priority is paused. They take no buffer, and waiting data frames of the same priority go first.
type stream struct {
	frame []byte // as it leaves; never changed, since it is sent without the lock
	queue uint8
	until int64 // 0: there is none
}

// followStream begins, prolongs or ends the stream of p as its Prober says.
func (s *Switch) followStream(p *portState) {
	prio, until := p.cfg.Prober.Stream()
	if until <= s.now || !p.lossless(prio) {
		p.stream = stream{}
		return
	}
	if p.stream.until == 0 || p.stream.queue != prio {
		p.stream = stream{frame: streamFrame(&p.cfg, prio), queue: prio}
	}
	p.stream.until = until
}

// streaming returns the priority of the stream of p as a bit, 0 where there is none at this time.
func (p *portState) streaming(now int64) uint8 {
	if p.stream.until == 0 {
		return 0
	}
	if now >= p.stream.until {
		p.stream = stream{}
		return 0
	}
	return 1 << p.stream.queue
}

// IP header of a stream's frame.
const (
	streamHeader   = 20
	streamProtocol = 253 // for experiments (RFC 3692)
)

var (
	streamSource      = [4]byte{192, 0, 2, 1} // for documentation (RFC 5737): nobody has these addresses
	streamDestination = [4]byte{192, 0, 2, 2}
)

// streamFrame makes the longest frame of a priority that the port sends, to an address that no bridge forwards. The
// peer may trust the tag or the DSCP, so both say the priority.
//
//	 6 octets: 01-80-C2-00-00-0E
//	 6 octets: the port's address
//	 4 octets: priority tag
//	 2 octets: EtherType of IPv4
//	20 octets: IPv4 header: DSCP of the priority, TTL 1, protocol 253, addresses for documentation
//	 n octets: 0
func streamFrame(c *PortConfig, prio uint8) []byte {
	longest := c.MaxFrame
	if c.Classify.MTU > 0 {
		longest = min(longest, c.Classify.MTU+frame.HeaderOctets)
	}
	longest = max(longest, frame.HeaderOctets+streamHeader)
	b := make([]byte, longest+frame.TagOctets)
	copy(b, macctl.FallbackAddress[:])
	copy(b[frame.AddressOctets:], c.MAC[:])
	binary.BigEndian.PutUint16(b[tagAt:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(b[tagAt+2:], uint16(frame.MakeTCI(prio, false, 0)))
	binary.BigEndian.PutUint16(b[tagAt+frame.TagOctets:], frame.TypeIPv4)
	ip := b[frame.HeaderOctets+frame.TagOctets:]
	ip[0] = 0x45
	ip[1] = dscpOf(c, prio) << 2
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[8], ip[9] = 1, streamProtocol
	copy(ip[12:], streamSource[:])
	copy(ip[16:], streamDestination[:])
	binary.BigEndian.PutUint16(ip[10:], ^frame.Sum(ip[:streamHeader], 0))
	return b
}

// dscpOf returns a codepoint that has the priority here: its class selector where that is one, else the lowest.
func dscpOf(c *PortConfig, prio uint8) uint8 {
	selector := prio << 3
	if c.Classify.DSCP[selector] == prio {
		return selector
	}
	for dscp, p := range c.Classify.DSCP {
		if p == prio {
			return uint8(dscp)
		}
	}
	return selector
}

// streamAddress is where frames of a stream go. No bridge forwards it, and neither does a wired port.
var streamAddress = frame.Address(macctl.FallbackAddress[:])

// streamed counts the peer's streams (frames, octets) and the port's own (sent).
type streamed struct {
	frames [NumPriorities]uint64
	octets uint64 // on the wire
	sent   uint64 // octets without FCS
}

// ofStream reports whether a frame to streamAddress is of a stream.
func (a *Arrival) ofStream() bool {
	if a.header.EtherType != frame.TypeIPv4 || len(a.Data) < a.header.NetOffset+streamHeader {
		return false
	}
	ip := a.Data[a.header.NetOffset:]
	return ip[9] == streamProtocol && [4]byte(ip[12:]) == streamSource && [4]byte(ip[16:]) == streamDestination
}

// handleStream handles a frame of the peer's stream. The frame counts as use of the headroom, and goes no further.
func (s *Switch) handleStream(p *portState, a *Arrival) {
	p.count.StreamReceived++
	p.streamed.frames[a.priority]++
	p.streamed.octets += uint64(frame.WireOctets(len(a.Data)))
	if p.xoffSent != 0 {
		s.countAfterXoff(p, a)
	}
}

// HoldForHeadroomProbe sets or clears the hold of a headroom measurement on a priority of the peer of port i.
func (s *Switch) HoldForHeadroomProbe(i int, prio uint8, hold bool, now int64) {
	p := s.at(i, now)
	switch {
	case p == nil || prio >= NumPriorities:
	case !hold: // also for a priority that has become lossy
		s.releasePeer(p, prio, macctl.CauseHeadroomProbe)
	case p.lossless(prio):
		s.holdPeer(p, prio, macctl.CauseHeadroomProbe)
	}
}

// A HeadroomLook is what a check of the headroom sees of a priority of a port at one moment.
type HeadroomLook struct {
	Up       bool
	Own      bool   // no other cause holds the priority
	XoffSent bool   // the peer was told to stop, and that has left the delay line
	Xoffs    uint64 // how often it was
	After    int64  // octets on the wire that arrived after the newest XOFF had left
	Before   int64  // octets on the wire that had arrived before, and were read after
	Streamed uint64 // frames of the peer's stream with the priority
	Octets   uint64 // on the wire, of all frames that have come by the port
}

// LookAtHeadroom returns what a check sees of a priority of port i; nothing where there is no such port.
func (s *Switch) LookAtHeadroom(i int, prio uint8) (l HeadroomLook) {
	p := s.ports[i]
	if p == nil || prio >= NumPriorities {
		return l
	}
	u := &p.headroomUse[p.ingressQueueOf(prio)]
	return HeadroomLook{Up: p.up, Own: p.sender.Causes(prio)&^macctl.CauseHeadroomProbe == 0,
		XoffSent: p.xoffSent&(1<<prio) != 0 && !u.inLine, Xoffs: u.Xoffs, After: u.Last,
		Before: u.before, Streamed: p.streamed.frames[prio],
		Octets: p.count.ReceivedBytes + p.count.ReceivedFrames*frame.WireExtras + p.streamed.octets}
}
