package dataplane

import (
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
)

// A DropReason names why a frame was not forwarded. The same name is the metric label, the table column and the event.
type DropReason uint8

// The reasons.
const (
	DropFiltered         DropReason = iota // VLAN not in the member set, reserved address, nowhere to flood
	DropSamePort                           // the destination is behind the ingress port
	DropUnknownLossless                    // a lossless frame would have to be flooded
	DropLossyThreshold                     // the egress queue has its share of the lossy pool
	DropLosslessHeadroom                   // lossless frame beyond the headroom
	DropHeadroomPool                       // lossless frame for which an over-subscribed headroom pool had no room
	DropBufferMemory                       // packet memory ran out before the accounting
	DropRED                                // random early discard of a trunk
	DropMeterRed                           // coloured red by a trunk's meter
	DropWatchdog                           // discarded to break a deadlock
	DropRing                               // the receive ring was full
	DropSend                               // the kernel refused the frame
	DropOversize                           // longer than the port carries
	DropMalformed                          // not an Ethernet frame, or a GSO frame that cannot be cut
	DropPortDown                           // the egress port went down
	DropStorm                              // the ingress port's flooding limit
	DropSourceGuard                        // the source belongs to another port, or is not one that the port accepts
	DropFrameType                          // a type of frame, tagged or untagged, that the ingress port does not accept
	DropDoubleTag                          // two tags, of which the first would go, or be skipped, and show the second
	NumDropReasons
)

// A dropClass is how drops for a reason count where they hit a lossless priority.
type dropClass uint8

// The classes. README.md says why each reason has its class.
const (
	fault      dropClass = iota + 1 // Counters.LosslessDrops: the promise is broken
	deliberate                      // Counters.LosslessDiscarded: the configuration, or the network, wants the drop
	noLoss                          // neither: there is no receiver, or no frame
)

var dropReasons = [...]struct {
	name  string // as metrics print it
	class dropClass
}{
	DropFiltered:         {"filtered", deliberate},
	DropSamePort:         {"same-port", noLoss},
	DropUnknownLossless:  {"unknown-lossless", deliberate},
	DropLossyThreshold:   {"lossy-threshold", deliberate},
	DropLosslessHeadroom: {"lossless-headroom", fault},
	DropHeadroomPool:     {"lossless-headroom-pool", fault},
	DropBufferMemory:     {"buffer-memory", fault},
	DropRED:              {"red", deliberate},
	DropMeterRed:         {"meter-red", deliberate},
	DropWatchdog:         {"watchdog", deliberate},
	DropRing:             {"ring", fault},
	DropSend:             {"send", fault},
	DropOversize:         {"oversize", deliberate},
	DropMalformed:        {"malformed", noLoss},
	DropPortDown:         {"port-down", deliberate},
	DropStorm:            {"storm", deliberate},
	DropSourceGuard:      {"source-guard", deliberate},
	DropFrameType:        {"frame-type", deliberate},
	DropDoubleTag:        {"double-tag", deliberate},
}

// The table has as many reasons as there are.
var _ = [1]struct{}{}[len(dropReasons)-int(NumDropReasons)]

// String returns the name as metrics print it.
func (r DropReason) String() string { return dropReasons[r].name }

// faultTexts say for events what a fault is. Those of DropRing are in ringLost's callers; of frames without room,
// noRoomEvent says why.
var faultTexts = [NumDropReasons]string{
	DropBufferMemory: "buffer-memory: the packet memory had no room, though the buffer had: a fault of this switch",
	DropSend:         "send: the kernel refused the frame at the port that it was to leave by",
}

// Unknown is the index of frames whose priority is not known: they were lost in a receive ring, or in a delay line.
const Unknown = NumPriorities

// Counters of one port. They only grow, as long as the switch runs.
type Counters struct {
	ReceivedFrames, ReceivedBytes uint64 // data frames that left the ring, after cutting; octets without FCS
	SentFrames, SentBytes         uint64 // data frames that the kernel took
	Copies                        uint64 // flood copies beyond the first, of frames received here
	LoopProbesSent                uint64 // loop probes, not counted as data
	// LoopProbesReceived are those with this switch's identity, by what it thinks of them.
	LoopProbesReceived [bridge.NumProbeVerdicts]uint64
	// frames of the port's own stream for a check of the peer's headroom, and of the peer's, not counted as data
	Streamed, StreamReceived uint64
	ControlLost              uint64 // MAC Control frames that their ring had no room for
	HostDrops                uint64 // frames of the host that its queues towards a TAP had no room for
	Overspeed                uint64 // frames that came faster than the port's speed and burst
	Drops                    [NumPriorities + 1][NumDropReasons]uint64
	LosslessDrops            [NumPriorities + 1]uint64 // of Drops: lossless frames that were lost by a fault
	// of Drops: the other frames of lossless priorities that a receiver has missed
	LosslessDiscarded         [NumPriorities + 1][NumDropReasons]uint64
	Marked                    [NumPriorities]uint64 // ECN CE by egress queue, set here
	RingHoldNs                uint64                // time that a lossless frame waited in the ring for buffer
	RingHoldBytes             uint64
	RingFramesMax             uint64 // most frames seen waiting in the lossless rings
	QueueBytes, QueueBytesMax [NumPriorities]int64
	// frames that left an egress queue, or that the watchdog discarded there
	QueueSent, QueueDiscarded [NumPriorities]uint64
	Forwarded                 [NumPriorities]uint64 // of those that left, the ones that took the fast path
	AssistXoffs               uint64                // XOFF that the driver's programs sent for all that is lossless
}

// drop counts a dropped frame of port p, which is charged to c, or would have been.
func (s *Switch) drop(p *portState, prio uint8, r DropReason, c charge) {
	p.count.Drops[prio][r]++
	s.disposition = dropped(r, c == chargeLossless)
	switch class := dropReasons[r].class; {
	case c == chargeLossy || class == noLoss:
	case c == chargeLossless && class == fault:
		p.count.LosslessDrops[prio]++
		if text := faultTexts[r]; text != "" {
			s.peerEvent(p, EventLosslessDrop, prio, text)
		}
	default:
		p.count.LosslessDiscarded[prio][r]++
	}
}

// uncharged is what a frame counts as that p drops for reason r before it is charged. Over a bridge, no receiver misses
// a frame to a group that has nowhere to go.
func (p *portState) uncharged(a *Arrival, r DropReason) charge {
	bridged := p.trunk == nil && !p.cfg.Bridge.Wired
	if (r == DropFiltered || r == DropPortDown) && frame.IsGroup(a.header.Dst) && bridged {
		return chargeLossy
	}
	return p.undecided(a)
}

// undecided is what a frame counts as that p drops before it is decided where to. Over a bridge, no receiver misses a
// frame to a reserved address, which is not forwarded.
func (p *portState) undecided(a *Arrival) charge {
	if !p.lossless(a.priority) || bridge.Reserved(a.header.Dst) && !p.cfg.Bridge.Wired {
		return chargeLossy
	}
	return chargeLossless
}
