package bridge

import "fmt"

// Kind is what happens to a frame.
type Kind uint8

// The kinds of a Decision.
const (
	Drop    Kind = iota // Reason tells why
	Unicast             // to Port
	Flood               // to every port in Ports; Cause tells why
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Drop:
		return "drop"
	case Unicast:
		return "unicast"
	case Flood:
		return "flood"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

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
func (c Cause) String() string {
	switch c {
	case NoCause:
		return "none"
	case UnknownUnicast:
		return "unknown unicast"
	case Broadcast:
		return "broadcast"
	case Multicast:
		return "multicast"
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// DropReason is why a frame is dropped. String gives the name that counters and captures use.
type DropReason uint8

// The reasons for which a bridge drops a frame.
const (
	DropNone     DropReason = iota
	DropFiltered            // VLAN not in the member set, reserved address, nowhere to flood to, or shut by loop detection
	DropSamePort            // the destination is where the frame came from
	DropPortDown            // every port that it should leave by, or the one that it came in by, is down
	DropStorm               // the ingress port has used up what it may flood
)

// String returns the reason's name in counters.
func (r DropReason) String() string {
	switch r {
	case DropNone:
		return "none"
	case DropFiltered:
		return "filtered"
	case DropSamePort:
		return "same-port"
	case DropPortDown:
		return "port-down"
	case DropStorm:
		return "storm"
	}
	return fmt.Sprintf("DropReason(%d)", uint8(r))
}

// A Decision is the fate of one frame.
type Decision struct {
	Kind   Kind
	Reason DropReason // of a Drop, else DropNone
	Cause  Cause      // of a Flood, else NoCause
	Port   int        // egress port of a Unicast, else -1
	Ports  PortSet    // egress ports of a Flood, never empty and never with the ingress port; else empty
}

func drop(r DropReason) Decision { return Decision{Kind: Drop, Reason: r, Port: -1} }
