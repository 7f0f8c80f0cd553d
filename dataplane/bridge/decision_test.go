package bridge

import (
	"fmt"
	"testing"
)

// TestNames fixes the names that stand in counters, captures and `show`.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{DropNone, "none"}, {DropFiltered, "filtered"}, {DropSamePort, "same-port"}, {DropPortDown, "port-down"},
		{DropStorm, "storm"}, {DropReason(99), "DropReason(99)"},
		{Drop, "drop"}, {Unicast, "unicast"}, {Flood, "flood"}, {Kind(99), "Kind(99)"},
		{NoCause, "none"}, {UnknownUnicast, "unknown unicast"}, {Broadcast, "broadcast"}, {Multicast, "multicast"},
		{Cause(99), "Cause(99)"},
		{NotMember, "not a member"}, {Untagged, "untagged"}, {Tagged, "tagged"}, {Form(99), "Form(99)"},
		{LoopIdle, "idle"}, {LoopWatching, "watching"}, {LoopShut, "shut"}, {LoopState(99), "LoopState(99)"},
		{NoLoopEvent, "none"}, {ProbeReturned, "own probe came back"}, {HoldoffPassed, "no probe came back"},
		{LinkDown, "port down"}, {DetectionOff, "loop detection off"}, {LoopReason(99), "LoopReason(99)"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%T: got %q, want %q", tt.v, got, tt.want)
		}
	}
}

// TestZeroDecision: a decision that nobody made must not send anything.
func TestZeroDecision(t *testing.T) {
	if d := (Decision{}); d.Kind != Drop || !d.Ports.Empty() {
		t.Errorf("the zero decision is %v to %v", d.Kind, d.Ports)
	}
}
