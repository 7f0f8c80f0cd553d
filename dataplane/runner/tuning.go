package runner

// Tuning changes how workers wait and share their time, so that a benchmark can compare the choices. The zero value is
// the default. A value out of its range counts as the nearest possible one.
type Tuning struct {
	Spin        Spin
	BurstFrames int  // frames taken from a ring at once, with 2 KiB of room for each: 1 to 256; 0: 64
	Bursts      int  // bursts of a ring before the next ring has its turn; 0: 1
	FixedTurn   bool // every round begins with the same port, not with the next one
	NoCoalesce  bool // a worker does not wait after a round with few frames
	EachFrame   bool // control work is done after each frame, not after each burst
}

// Spin says how long a worker without work goes on looking for some before it sleeps.
type Spin uint8

// The ways to spin.
const (
	SpinAdaptive Spin = iota // longer where sleeps end soon, not at all where they are long
	SpinNone
	SpinShort   // as SpinAdaptive does after little work, also after much
	SpinMost    // always as long as SpinAdaptive does at most
	SpinEndless // no sleep
)

// A schedule is a Tuning in numbers.
type schedule struct {
	frames, octets int // of a burst
	bursts         int // of a ring in a row
	step           int // arrivals between two looks at control work
	turn           int // ports by which the next round begins later
	adaptive       bool
	coalesce       bool
	spin           int64 // ns, at the start
	most           int64 // ns; as long as an adaptive spin becomes
}

func (t Tuning) schedule() schedule {
	p := schedule{frames: burstFrames, bursts: max(1, t.Bursts), step: burstArrivals, turn: 1,
		adaptive: t.Spin == SpinAdaptive || t.Spin == SpinShort, most: spinMax, coalesce: !t.NoCoalesce}
	if t.BurstFrames != 0 {
		p.frames = min(max(1, t.BurstFrames), burstArrivals)
	}
	p.octets = p.frames * (burstOctets / burstFrames)
	if t.FixedTurn {
		p.turn = 0
	}
	if t.EachFrame {
		p.step = 1
	}
	switch t.Spin {
	case SpinShort:
		p.most = spinFew
	case SpinMost:
		p.spin = spinMax
	case SpinEndless:
		p.spin = noDeadline
	}
	return p
}
