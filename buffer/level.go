package buffer

// Level is a number of bytes with its highest values, as SONiC keeps them: persistent, user and windowed watermark.
type Level struct {
	Now        int64 // at this moment
	Persistent int64 // highest since the port (or the Manager) began
	User       int64 // highest since ClearUser
	Window     int64 // highest in the last complete window, which RotateWindow closed
}

// Occupancy is what a queue or a pool holds, by segment. A lossy pool has only Shared.
type Occupancy struct{ Private, Shared, Headroom Level }

// A gauge is a Level under change. The data path moves only now and peak. The watermarks follow when somebody clears,
// rotates or looks.
type gauge struct {
	now, peak                int64 // peak: since the last fold
	persistent, user, window int64
	last                     int64 // window before this one
}

func (g *gauge) add(n int64) {
	g.now += n
	g.peak = max(g.peak, g.now)
}

func (g *gauge) fold() {
	g.persistent = max(g.persistent, g.peak)
	g.user = max(g.user, g.peak)
	g.window = max(g.window, g.peak)
	g.peak = g.now
}

func (g *gauge) clearUser() {
	g.fold()
	g.user = g.now
}

func (g *gauge) rotate() {
	g.fold()
	g.last, g.window = g.window, g.now
}

// restart clears the watermarks and keeps the bytes.
func (g *gauge) restart() { *g = gauge{now: g.now, peak: g.now} }

func (g *gauge) level() Level {
	g.fold()
	return Level{Now: g.now, Persistent: g.persistent, User: g.user, Window: g.last}
}

type segmentBytes struct{ private, shared, headroom int64 }

// plus returns the sum of s and sign times n.
func (s segmentBytes) plus(sign int64, n segmentBytes) segmentBytes {
	return segmentBytes{s.private + sign*n.private, s.shared + sign*n.shared, s.headroom + sign*n.headroom}
}

// segments are the gauges of a lossless queue, and of the lossless pool as the sum of its queues.
type segments struct{ private, shared, headroom gauge }

func (s *segments) bytes() segmentBytes {
	return segmentBytes{s.private.now, s.shared.now, s.headroom.now}
}

func (s *segments) total() int64 { return s.private.now + s.shared.now + s.headroom.now }

func (s *segments) add(n segmentBytes) {
	s.private.add(n.private)
	s.shared.add(n.shared)
	s.headroom.add(n.headroom)
}

func (s *segments) sub(n segmentBytes) { s.add(segmentBytes{}.plus(-1, n)) }

func (s *segments) set(n segmentBytes) { s.add(n.plus(-1, s.bytes())) }

func (s *segments) each(do func(*gauge)) {
	do(&s.private)
	do(&s.shared)
	do(&s.headroom)
}

func (s *segments) occupancy() Occupancy {
	return Occupancy{Private: s.private.level(), Shared: s.shared.level(), Headroom: s.headroom.level()}
}

// ClearUser starts the user watermarks of all queues and pools again, from the bytes held now. The other watermarks do
// not move.
func (m *Manager) ClearUser() { m.eachGauge((*gauge).clearUser) }

// RotateWindow closes the current window of all watermarks and opens the next. Snapshot shows the closed window.
func (m *Manager) RotateWindow() { m.eachGauge((*gauge).rotate) }

func (m *Manager) eachGauge(do func(*gauge)) {
	m.lossless.used.each(do)
	do(&m.lossy.used)
	for _, p := range m.ports {
		if p != nil {
			p.eachGauge(do)
		}
	}
}

func (p *port) eachGauge(do func(*gauge)) {
	p.used.each(do)
	for k := range p.ingress {
		p.ingress[k].used.each(do)
		do(&p.egress[k].used)
	}
}
