package bridge

import "time"

// A port is calm after CalmProbes probes of which none came back, and while no frame floods: then nothing goes round,
// whether there is a loop or not. The probes of a calm port are CalmInterval apart. The first frame that floods brings
// one at once.
const (
	CalmProbes   = 10
	CalmInterval = 10 * time.Second
)

// A calm tells how calm a port is.
type calm struct {
	probes int    // in a row of which none came back and between which no frame flooded, up to CalmProbes
	sent   int64  // when the last one left
	floods uint64 // Bridge.floods at that time
}

// calmDown follows a probe that leaves port i.
func (b *Bridge) calmDown(i int, now int64) {
	p := &b.ports[i]
	if c := &p.calm; c.floods != b.floods || p.guard.state != LoopWatching {
		c.probes = 0
	}
	p.calm = calm{min(p.calm.probes+1, CalmProbes), now, b.floods}
	if p.calm.probes == CalmProbes {
		p.guard.due, b.calm = whole(now, CalmInterval), true
	}
}

// stir ends the calm of port i.
func (b *Bridge) stir(i int) {
	p := &b.ports[i]
	p.guard.due = min(p.guard.due, p.calm.sent+int64(ProbeInterval))
	p.calm.probes, b.stirred = 0, true
}

// countFlood counts a frame that is flooded. It ends the calm of all ports.
func (b *Bridge) countFlood() {
	b.floods++
	if !b.calm {
		return
	}
	b.calm = false
	for i := range b.up.All() {
		b.stir(i)
	}
}

// TakeStirred reports whether the LoopDeadline of a port may have come nearer since the last call, because a frame was
// flooded or a probe came back.
func (b *Bridge) TakeStirred() (stirred bool) {
	stirred, b.stirred = b.stirred, false
	return stirred
}
