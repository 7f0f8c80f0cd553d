package dataplane

import "pfcswitch/dataplane/bridge"

// A DropReason names why a frame was not forwarded. The same name is the metric label, the table column and the event.
type DropReason uint8

// The reasons. Ring, Send, LosslessHeadroom and BufferMemory are faults when they hit a lossless priority; the others
// are decisions.
const (
	DropFiltered         DropReason = iota // VLAN not in the member set, reserved address, nowhere to flood
	DropSamePort                           // the destination is behind the ingress port
	DropUnknownLossless                    // a lossless frame would have to be flooded
	DropLossyThreshold                     // the egress queue has its share of the lossy pool
	DropLosslessHeadroom                   // lossless frame beyond the headroom
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
	DropDoubleTag                          // two tags, of which the first would be removed and show the second
	NumDropReasons
)

var dropNames = [NumDropReasons]string{
	"filtered", "same-port", "unknown-lossless", "lossy-threshold", "lossless-headroom", "buffer-memory",
	"red", "meter-red",
	"watchdog", "ring", "send", "oversize", "malformed", "port-down", "storm", "source-guard", "frame-type",
	"double-tag",
}

// String returns the name as metrics print it.
func (r DropReason) String() string { return dropNames[r] }

// faultTexts say for events what a fault is. Those of DropRing are in ringLost's callers.
var faultTexts = [NumDropReasons]string{
	DropLosslessHeadroom: "lossless-headroom: the headroom was full, and buffer.ring_hold is off",
	DropBufferMemory:     "buffer-memory: the packet memory had no room, though the buffer had: a fault of this switch",
	DropSend:             "send: the kernel refused the frame at the port that it was to leave by",
}

// fault tells whether the reason breaks the promise when it hits a lossless priority.
func (r DropReason) fault() bool {
	return r == DropLosslessHeadroom || r == DropBufferMemory || r == DropRing || r == DropSend
}

// Unknown is the index of frames lost in a receive ring, whose priority nobody has read.
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
	Streamed, StreamReceived  uint64
	ControlLost               uint64 // MAC Control frames that their ring had no room for
	HostDrops                 uint64 // frames of the host that its queues towards a TAP had no room for
	Overspeed                 uint64 // frames that came faster than the port's speed and burst
	Drops                     [NumPriorities + 1][NumDropReasons]uint64
	LosslessDrops             [NumPriorities + 1]uint64
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

// drop counts a dropped frame of port p. lossless says that it was admitted, or was to be, as lossless.
func (s *Switch) drop(p *portState, prio uint8, r DropReason, lossless bool) {
	p.count.Drops[prio][r]++
	s.disposition = dropped(r, lossless)
	if lossless && r.fault() {
		p.count.LosslessDrops[prio]++
		s.peerEvent(p, EventLosslessDrop, prio, faultTexts[r])
	}
}
