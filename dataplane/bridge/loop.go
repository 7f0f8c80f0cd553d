package bridge

import (
	"math"
	"time"
)

const (
	// ProbeInterval is the time between two loop probes while frames are flooded.
	ProbeInterval = time.Second

	// Holdoff is how long the flooding of a port stays off after the last own probe came back on the port.
	Holdoff = 5 * ProbeInterval

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
// probe leaves at the first tick, the second half an interval to one and a half later, when those of all ports leave.
type loopGuard struct {
	due      int64                // when the next probe leaves
	returned int64                // in LoopShut: when the last probe came back
	used     [probeWindow]PortSet // ports on which the newest probes came back, by sequence number modulo the window
	sequence uint32
	valid    uint32 // probes that may still come back: the newest ones, up to the window
	state    LoopState
}

// probeWindow is how many probes of a port may be under way. One that comes back later is no longer obeyed.
const probeWindow = 2

// arm leaves idle.
func (g *loopGuard) arm() {
	if g.state == LoopIdle {
		g.state, g.due = LoopWatching, 0
	}
}

// disarm goes to idle and tells whether flooding was off. Probes that are under way are no longer obeyed.
func (g *loopGuard) disarm() (wasShut bool) {
	wasShut = g.state == LoopShut
	g.state, g.valid = LoopIdle, 0
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
	g.due = whole(now, ProbeInterval)
	g.sequence++
	g.used[g.sequence%probeWindow] = PortSet{}
	g.valid = min(g.valid+1, probeWindow)
	return true, reason
}

// whole returns a whole multiple of a time: half of that time to one and a half after now. Those of all ports are the
// same, so that an idle switch seldom wakes up.
func whole(now int64, of time.Duration) int64 {
	every := int64(of)
	return ((now+every/2)/every + 1) * every
}

// use uses the probe of that sequence number up for port in. A probe that loops comes back once by each port of the
// loop; what comes back again, or late, may be a recording.
func (g *loopGuard) use(sequence uint32, in int) ProbeVerdict {
	if g.sequence-sequence >= g.valid {
		return ProbeLate
	}
	used := &g.used[sequence%probeWindow]
	if used.Has(in) {
		return ProbeUsed
	}
	used.Add(in)
	return ProbeReturns
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
	Reason     LoopReason
	Port       int // whose flooding changed
	Sender, In int // for ProbeReturned: the ports by which the probe left and came back
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
	if send {
		b.backOff(port, now)
	}
	if p = (Probe{Identity: b.identity.Public, Port: uint16(port), Sequence: g.sequence}); send {
		p.Authenticator = b.authenticator(&p)
	}
	return p, send, ev
}

// A ProbeVerdict is what HandleProbe thinks of a probe with this switch's identity.
type ProbeVerdict uint8

// The verdicts. Only ProbeReturns is a sign of a loop.
const (
	ProbeReturns ProbeVerdict = iota // sent by this switch, and here for the first time on this port
	ProbeUsed                        // it came back on this port before
	ProbeLate                        // not among the newest probes of the port that it names
	ProbeForged                      // not made by this switch: the authenticator is wrong
	NumProbeVerdicts
)

// String names the verdict as metrics do.
func (v ProbeVerdict) String() string { return nameOf("ProbeVerdict", probeVerdictNames, uint8(v)) }

var probeVerdictNames = []string{ProbeReturns: "returns", ProbeUsed: "used", ProbeLate: "late", ProbeForged: "forged"}

// Own tells whether a probe has this switch's identity. Another switch's is forwarded like any other frame.
func (b *Bridge) Own(p Probe) bool { return p.Identity == b.identity.Public }

// HandleProbe handles a probe with this switch's identity that port in received. The probe ends here. The event tells
// whether a port was shut for it.
func (b *Bridge) HandleProbe(p Probe, in int, now int64) (v ProbeVerdict, ev LoopEvent) {
	if int(p.Port) >= MaxPorts || p.Authenticator != b.authenticator(&p) {
		return ProbeForged, ev
	}
	sender := int(p.Port)
	if v = b.ports[sender].guard.use(p.Sequence, in); v != ProbeReturns {
		return v, ev
	}
	b.resume(sender)
	port := b.portToShut(sender, in)
	if reason := b.ports[port].guard.probeReturned(now); reason != NoLoopEvent {
		ev = b.updateSets(port, reason)
		ev.Sender, ev.In = sender, in
	}
	return v, ev
}

// portToShut returns the port to shut for a probe that left by sender and came back on in. That is in, with two
// exceptions: in does not look for loops itself, or sender is shut already, so that the loop is broken. Two looped
// ports see each other's probes, and shutting both would cut off what is behind them. If both are shut, only the
// hold-off of the higher port restarts, so that the other port comes back when its own reason is gone.
func (b *Bridge) portToShut(sender, in int) int {
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
	if p.backoff.probes = 0; p.loop && b.up.Has(i) {
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
