package bridge

import "fmt"

// Kind is what happens to a frame.
type Kind uint8

// The kinds of a Decision.
const (
	Drop    Kind = iota // Reason tells why
	Unicast             // to Port
	Flood               // to every port in Ports; Cause tells why
	Grouped             // to a port of a group, whose number is Port: Pick chooses it
)

// String names the kind.
func (k Kind) String() string { return nameOf("Kind", kindNames, uint8(k)) }

var kindNames = []string{Drop: "drop", Unicast: "unicast", Flood: "flood", Grouped: "grouped"}

// Cause is why a frame floods.
type Cause uint8

// The causes of a flood.
const (
	NoCause        Cause = iota
	UnknownUnicast       // individual destination that is not in the filtering database
	Broadcast            // FF-FF-FF-FF-FF-FF
	Multicast            // any other group address
)

// String names the cause.
func (c Cause) String() string { return nameOf("Cause", causeNames, uint8(c)) }

var causeNames = []string{NoCause: "none", UnknownUnicast: "unknown unicast",
	Broadcast: "broadcast", Multicast: "multicast"}

// DropReason is why a frame is dropped. String gives the name that counters and captures use.
type DropReason uint8

// The reasons for which a bridge drops a frame.
const (
	DropNone DropReason = iota
	// VLAN not in the member set, reserved address, nowhere to flood to, or shut by loop detection
	DropFiltered
	DropSamePort    // the destination is where the frame came from
	DropPortDown    // every port that it should leave by, or the one that it came in by, is down
	DropStorm       // the ingress port has used up what it may flood
	DropSourceGuard // the source belongs to another port, or is not one of those that a secure port accepts
	DropFrameType   // the ingress port does not accept the frame's type: tagged, or untagged
)

// String returns the reason's name in counters.
func (r DropReason) String() string { return nameOf("DropReason", dropReasonNames, uint8(r)) }

var dropReasonNames = []string{DropNone: "none", DropFiltered: "filtered",
	DropSamePort: "same-port", DropPortDown: "port-down", DropStorm: "storm", DropFrameType: "frame-type",
	DropSourceGuard: "source-guard"}

// A Decision is the disposition of one frame. It holds no array, so that it is returned in registers.
type Decision struct {
	Kind   Kind
	Reason DropReason // of a Drop, else DropNone
	Cause  Cause      // of a Flood, else NoCause
	Port   int        // egress port of a Unicast, the number of the group of a Grouped, else -1
	// Ports are the egress ports of a Flood, or those that Pick chose among, until the bridge decides again: never
	// empty and never with the ingress port; else nil.
	Ports *PortSet
}

func drop(r DropReason) Decision { return Decision{Kind: Drop, Reason: r, Port: -1} }

// nameOf returns names[i], or the type and the number of a value without a name.
func nameOf(kind string, names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
