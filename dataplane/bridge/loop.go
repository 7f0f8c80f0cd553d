package bridge

// A LoopEvent tells that loop detection changed the flooding of a port. The zero value tells that nothing changed.
type LoopEvent struct {
	Reason LoopReason
	Port   int // whose flooding changed
	Sender int // of ProbeReturned: the port that the probe had left by
	Where  int // of ProbeReturned: the port that it came back on
}

// Happened tells whether flooding changed.
func (e LoopEvent) Happened() bool { return e.Reason != NoLoopEvent }

// Flooding tells whether loop detection now lets the port flood.
func (e LoopEvent) Flooding() bool { return e.Reason != ProbeReturned }

// LoopState returns the state of loop detection on a port.
func (b *Bridge) LoopState(port int) LoopState { return b.ports[port].guard.state }

// LoopDeadline returns when LoopTick has something to do for a port, in nanoseconds; NoDeadline if never.
func (b *Bridge) LoopDeadline(port int) int64 { return b.ports[port].guard.deadline(b.holdoff) }

// LoopTick does what is due on a port at time now. If send is true, p is to be sent by that port, untagged and in
// a lossy class; a loop that joins only other VLANs of the port is not seen. The event tells if flooding is on again.
func (b *Bridge) LoopTick(port int, now int64) (p Probe, send bool, ev LoopEvent) {
	g := &b.ports[port].guard
	send, reason := g.tick(now, b.holdoff)
	if reason != NoLoopEvent {
		ev = b.changed(port, reason)
	}
	return Probe{Identity: b.identity, Port: uint16(port), Sequence: g.sequence}, send, ev
}

// Own tells whether this switch sent a probe.
func (b *Bridge) Own(p Probe) bool { return p.Identity == b.identity }

// HandleProbe is told of a probe that port in received. If own is false another switch sent it, and it is to be forwarded
// like any other frame; else it ends here. The event tells if a port was shut for it.
func (b *Bridge) HandleProbe(p Probe, in int, now int64) (own bool, ev LoopEvent) {
	if !b.Own(p) {
		return false, LoopEvent{}
	}
	sender := int(p.Port)
	port := b.suspect(sender, in)
	if reason := b.ports[port].guard.back(now); reason != NoLoopEvent {
		ev = b.changed(port, reason)
		ev.Sender, ev.Where = sender, in
	}
	return true, ev
}

// suspect chooses the port to shut for a probe that left by sender and came back on in. That is the one that received
// it, with two exceptions: it does not look for loops itself; or sender is shut already, so that the loop is broken.
// Two looped ports see each other's probes, and shutting both would cut off what is behind them. Of two ports that are
// shut, only the higher one is held, so that the other comes back once what shut it is gone.
func (b *Bridge) suspect(sender, in int) int {
	if sender >= MaxPorts {
		return in
	}
	s, r := b.LoopState(sender), b.LoopState(in)
	if r == LoopIdle || s == LoopShut && (r != LoopShut || sender > in) {
		return sender
	}
	return in
}

// watch starts or stops loop detection on a port, as its link and its setting say. why is the reason if it stops.
func (b *Bridge) watch(i int, why LoopReason) LoopEvent {
	p := &b.ports[i]
	if p.loop && b.up.Has(i) {
		p.guard.arm()
	} else if p.guard.disarm() {
		return b.changed(i, why)
	}
	b.changed(i, NoLoopEvent)
	return LoopEvent{}
}

// changed brings the sets that a frame looks at in line with the state of a port.
func (b *Bridge) changed(i int, reason LoopReason) LoopEvent {
	shut := b.ports[i].guard.state == LoopShut
	b.shut.put(i, shut)
	b.flooding.put(i, b.ports[i].flood && !shut)
	return LoopEvent{Reason: reason, Port: i}
}
