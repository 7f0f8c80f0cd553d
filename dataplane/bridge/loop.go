package bridge

import (
	"math"
	"time"
)

const (
	// ProbeInterval is the time between two loop probes of a port.
	ProbeInterval = time.Second

	// Holdoff is how long the flooding of a port stays off after the last own probe came back on the port.
	Holdoff = 30 * time.Second

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
func (s LoopState) String() string { return nameOf("LoopState", loopStateNames, uint8(s)) }

var loopStateNames = []string{LoopIdle: "idle", LoopWatching: "watching", LoopShut: "shut"}

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
func (r LoopReason) String() string { return nameOf("LoopReason", loopReasonNames, uint8(r)) }

var loopReasonNames = []string{NoLoopEvent: "none", ProbeReturned: "own probe came back",
	HoldoffPassed: "no probe came back", LinkDown: "port down", DetectionOff: "loop detection off"}

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
// In watching and in shut a probe leaves every ProbeInterval, so that a persistent loop keeps the port shut. The first
// probe leaves at the first tick.
type loopGuard struct {
	state    LoopState
	due      int64 // when the next probe leaves
	returned int64 // in LoopShut: when the last probe came back
	sequence uint32
}

// arm leaves idle.
func (g *loopGuard) arm() {
	if g.state == LoopIdle {
		g.state, g.due = LoopWatching, 0
	}
}

// disarm goes to idle and tells whether flooding was off.
func (g *loopGuard) disarm() (wasShut bool) {
	wasShut = g.state == LoopShut
	g.state = LoopIdle
	return wasShut
}

// deadline returns when tick has something to do.
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

// tick tells whether a probe is to be sent and whether the hold-off has passed.
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

// probeReturned notes that a probe came back.
func (g *loopGuard) probeReturned(now int64) LoopReason {
	switch g.state {
	case LoopWatching:
		g.state, g.returned = LoopShut, now
		return ProbeReturned
	case LoopShut:
		g.returned = now
	}
	return NoLoopEvent
}

// A LoopEvent tells that loop detection changed the flooding of a port. The zero value tells that nothing changed.
type LoopEvent struct {
	Reason LoopReason
	Port   int // whose flooding changed
}

// Happened tells whether flooding changed.
func (e LoopEvent) Happened() bool { return e.Reason != NoLoopEvent }

// Flooding tells whether loop detection now lets the port flood.
func (e LoopEvent) Flooding() bool { return e.Reason != ProbeReturned }

// LoopState returns the state of loop detection on a port.
func (b *Bridge) LoopState(port int) LoopState { return b.ports[port].guard.state }

// LoopDeadline returns when LoopTick has something to do for a port, in nanoseconds; NoDeadline if never.
func (b *Bridge) LoopDeadline(port int) int64 { return b.ports[port].guard.deadline(b.holdoff) }

// LoopTick does what is due on a port at time now. If send is true, the caller sends p by that port, untagged and in a
// lossy class. So a loop that joins only other VLANs of the port is not found. The event tells whether flooding is on
// again.
func (b *Bridge) LoopTick(port int, now int64) (p Probe, send bool, ev LoopEvent) {
	g := &b.ports[port].guard
	send, reason := g.tick(now, b.holdoff)
	if reason != NoLoopEvent {
		ev = b.updateSets(port, reason)
	}
	return Probe{Identity: b.identity, Port: uint16(port), Sequence: g.sequence}, send, ev
}

// Own tells whether this switch sent a probe.
func (b *Bridge) Own(p Probe) bool { return p.Identity == b.identity }

// HandleProbe handles a probe that port in received. If own is false, another switch sent the probe, and the caller
// forwards it like any other frame. Otherwise the probe ends here. The event tells whether a port was shut for it.
func (b *Bridge) HandleProbe(p Probe, in int, now int64) (own bool, ev LoopEvent) {
	if !b.Own(p) {
		return false, LoopEvent{}
	}
	port := b.portToShut(int(p.Port), in)
	if reason := b.ports[port].guard.probeReturned(now); reason != NoLoopEvent {
		ev = b.updateSets(port, reason)
	}
	return true, ev
}

// portToShut returns the port to shut for a probe that left by sender and came back on in. That is in, with two
// exceptions: in does not look for loops itself, or sender is shut already, so that the loop is broken. Two looped
// ports see each other's probes, and shutting both would cut off what is behind them. If both are shut, only the
// hold-off of the higher port restarts, so that the other port comes back when its own reason is gone.
func (b *Bridge) portToShut(sender, in int) int {
	if sender >= MaxPorts {
		return in
	}
	s, r := b.LoopState(sender), b.LoopState(in)
	if r == LoopIdle || s == LoopShut && (r != LoopShut || sender > in) {
		return sender
	}
	return in
}

// updateGuard starts or stops loop detection on a port according to its link and setting. why is the reason if it
// stops.
func (b *Bridge) updateGuard(i int, why LoopReason) LoopEvent {
	p := &b.ports[i]
	if p.loop && b.up.Has(i) {
		p.guard.arm()
	} else if p.guard.disarm() {
		return b.updateSets(i, why)
	}
	b.updateSets(i, NoLoopEvent)
	return LoopEvent{}
}

// updateSets brings the port sets of Forward in line with the loop state of port i.
func (b *Bridge) updateSets(i int, reason LoopReason) LoopEvent {
	shut := b.ports[i].guard.state == LoopShut
	b.shut.set(i, shut)
	b.flooding.set(i, b.ports[i].flood && !shut)
	return LoopEvent{Reason: reason, Port: i}
}
