package bridge

import (
	"fmt"
	"math"
	"time"
)

const (
	// ProbeInterval is the time between two loop probes of a port.
	ProbeInterval = time.Second

	// DefaultHoldoff is how long flooding stays off after the last own probe came back, when Config leaves it open.
	DefaultHoldoff = 30 * time.Second

	// NoDeadline is the deadline of a port on which nothing is due.
	NoDeadline = math.MaxInt64
)

// LoopState is what loop detection makes of a port.
type LoopState uint8

// The states of loop detection on a port.
const (
	LoopIdle     LoopState = iota // the port is down, or its loop detection is off
	LoopWatching                  // probes are sent, none came back: frames flood
	LoopShut                      // a probe came back: no frame floods out of the port, or in by it
)

// String names the state.
func (s LoopState) String() string {
	switch s {
	case LoopIdle:
		return "idle"
	case LoopWatching:
		return "watching"
	case LoopShut:
		return "shut"
	}
	return fmt.Sprintf("LoopState(%d)", uint8(s))
}

// LoopReason is why loop detection changed the flooding of a port.
type LoopReason uint8

// The reasons of a LoopEvent.
const (
	NoLoopEvent   LoopReason = iota // nothing changed
	ProbeReturned                   // flooding off: an own probe came back
	HoldoffPassed                   // flooding on: none came back for the hold-off time
	LinkDown                        // flooding on, once the port is up again: the loop went with the link
	DetectionOff                    // flooding on: the port no longer looks for loops
)

// String says the reason in words.
func (r LoopReason) String() string {
	switch r {
	case NoLoopEvent:
		return "none"
	case ProbeReturned:
		return "own probe came back"
	case HoldoffPassed:
		return "no probe came back"
	case LinkDown:
		return "port down"
	case DetectionOff:
		return "loop detection off"
	}
	return fmt.Sprintf("LoopReason(%d)", uint8(r))
}

// loopGuard finds loops on one port. It moves between its states so:
//
//	         port up and loop: on               own probe back
//	┌──────┐ ────────────────────▶ ┌──────────┐ ─────────────────▶ ┌──────┐ ──┐ own probe back:
//	│ idle │                       │ watching │                    │ shut │   │ hold-off anew
//	└──────┘ ◀──────────────────── └──────────┘ ◀───────────────── └──────┘ ◀─┘
//	   ▲     port down or loop: off             hold-off passed       │
//	   └──────────────────────────────────────────────────────────────┘
//	                       port down or loop: off
//
// In watching and in shut a probe leaves every ProbeInterval, so that a loop that persists keeps the port shut. The
// first one leaves at the first tick.
type loopGuard struct {
	state    LoopState
	due      int64 // when the next probe leaves
	returned int64 // when the last probe came back; of LoopShut
	sequence uint32
}

// arm leaves idle.
func (g *loopGuard) arm() {
	if g.state == LoopIdle {
		g.state, g.due = LoopWatching, 0
	}
}

// disarm goes to idle, and tells whether flooding was off.
func (g *loopGuard) disarm() (wasShut bool) {
	wasShut = g.state == LoopShut
	g.state = LoopIdle
	return wasShut
}

// deadline is when tick has something to do.
func (g *loopGuard) deadline(holdoff int64) int64 {
	switch g.state {
	case LoopWatching:
		return g.due
	case LoopShut:
		return min(g.due, g.returned+holdoff)
	default:
		return NoDeadline
	}
}

// tick tells whether a probe is to be sent, and whether the hold-off has passed.
func (g *loopGuard) tick(now, holdoff int64) (send bool, reason LoopReason) {
	if g.state == LoopIdle {
		return false, NoLoopEvent
	}
	if g.state == LoopShut && now-g.returned >= holdoff {
		g.state, reason = LoopWatching, HoldoffPassed
	}
	if now < g.due {
		return false, reason
	}
	g.due = now + int64(ProbeInterval)
	g.sequence++
	return true, reason
}

// back notes that a probe came back.
func (g *loopGuard) back(now int64) LoopReason {
	switch g.state {
	case LoopWatching:
		g.state, g.returned = LoopShut, now
		return ProbeReturned
	case LoopShut:
		g.returned = now
	}
	return NoLoopEvent
}
