package bridge

import "time"

// Loop probes of a port are BackoffInterval apart after BackoffAfter probes of which none came back, and while no frame
// is flooded: then nothing goes round, whether there is a loop or not. The first frame that is flooded brings a probe
// at once.
const (
	BackoffAfter    = 10
	BackoffInterval = 10 * time.Second
)

// A backoff tells how rare the loop probes of a port are.
type backoff struct {
	probes int    // in a row of which none came back and between which no frame flooded, up to BackoffAfter
	sent   int64  // when the last one left
	floods uint64 // Bridge.floods at that time
}

// backOff follows a probe that leaves port i.
func (b *Bridge) backOff(i int, now int64) {
	p := &b.ports[i]
	if c := &p.backoff; c.floods != b.floods || p.guard.state != LoopWatching {
		c.probes = 0
	}
	p.backoff = backoff{min(p.backoff.probes+1, BackoffAfter), now, b.floods}
	if p.backoff.probes == BackoffAfter {
		p.guard.due, b.backedOff = whole(now, BackoffInterval), true
	}
}

// resume makes the probes of port i frequent again.
func (b *Bridge) resume(i int) {
	p := &b.ports[i]
	p.guard.due = min(p.guard.due, p.backoff.sent+int64(ProbeInterval))
	p.backoff.probes, b.resumed = 0, true
}

// countFlood counts a frame that is flooded. It makes the probes of all ports frequent again.
func (b *Bridge) countFlood() {
	b.floods++
	if !b.backedOff {
		return
	}
	b.backedOff = false
	for i := range b.up.All() {
		b.resume(i)
	}
}

// TakeResumed reports whether the LoopDeadline of a port may have come nearer since the last call, because a frame was
// flooded or a probe came back.
func (b *Bridge) TakeResumed() (resumed bool) {
	resumed, b.resumed = b.resumed, false
	return resumed
}
