package trunk

import "math"

// A MeterConfig is the profile of a two-rate three-colour marker (RFC 2698). Rates are in bit/s, bursts in octets, of the
// octets that frames are metered by.
type MeterConfig struct {
	CIR, PIR int64 // committed and peak rate; CIR ≤ PIR
	CBS, PBS int64 // depth of the two buckets, each at least one frame; at most MaxBurst
}

// MaxBurst is the deepest bucket, in octets: a credit and its difference to another one stay within 63 bits.
const MaxBurst = 256 << 20

// perOctet is the credit of one octet: credit is counted in bits × 10⁹, so that rate × nanoseconds needs no rounding.
const perOctet = 8 * 1_000_000_000

// A Meter is a two-rate three-colour marker (RFC 2698, section 3). Its two token buckets are filled lazily and exactly: a
// bucket that is looked at seldom holds to the bit what one that is looked at often does.
type Meter struct {
	committed, peak bucket
	last            int64 // time up to which tokens were earned
}

// A bucket is one of a meter's two.
type bucket struct {
	rate   int64 // bit/s
	depth  int64 // credit that it holds
	credit int64
	fill   int64 // ns after which it is full, whatever it lacks
}

// NewMeter returns a meter whose buckets are full at time now.
func NewMeter(c MeterConfig, now int64) Meter {
	m := Meter{last: now, committed: bucket{credit: c.CBS * perOctet}, peak: bucket{credit: c.PBS * perOctet}}
	m.configure(c)
	return m
}

// Configure changes the profile. What the buckets hold stays, as far as they are deep enough.
func (m *Meter) Configure(c MeterConfig, now int64) {
	m.earn(now)
	m.configure(c)
}

func (m *Meter) configure(c MeterConfig) {
	m.committed.configure(c.CIR, c.CBS*perOctet, c.PBS*perOctet)
	m.peak.configure(c.PIR, c.PBS*perOctet, c.PBS*perOctet)
}

// configure sets the rate in bit/s and the depth; below is how far the bucket may fall below zero.
func (b *bucket) configure(rate, depth, below int64) {
	b.rate, b.depth, b.fill = rate, depth, math.MaxInt64
	b.credit = max(min(b.credit, depth), -below)
	if rate > 0 {
		b.fill = (depth+below)/rate + 1
	}
}

// Colour meters a frame that arrived with a colour and takes its tokens. The colour never becomes better: with Green for
// every frame the meter is colour-blind, with the colour of an earlier meter colour-aware.
func (m *Meter) Colour(octets int64, before Colour, now int64) Colour {
	m.earn(now)
	cost := octets * perOctet
	if before == Red || m.peak.credit < cost {
		return Red
	}
	m.peak.credit -= cost
	if before == Yellow || m.committed.credit < cost {
		return Yellow
	}
	m.committed.credit -= cost
	return Green
}

// Take takes the tokens of a frame from both buckets without asking, down to minus the depth of the peak bucket.
func (m *Meter) Take(octets, now int64) {
	m.earn(now)
	cost, floor := octets*perOctet, -m.peak.depth
	m.committed.credit = max(m.committed.credit-cost, floor)
	m.peak.credit = max(m.peak.credit-cost, floor)
}

// earn adds what the time since the last call is worth. Time that goes back earns nothing: workers read their clocks
// before they get their turn.
func (m *Meter) earn(now int64) {
	elapsed := now - m.last
	if elapsed <= 0 {
		return
	}
	m.last = now
	m.committed.earn(elapsed)
	m.peak.earn(elapsed)
}

// earn needs no division, and does not overflow: in less than fill a rate earns no more than depth and debt.
func (b *bucket) earn(elapsed int64) {
	if elapsed >= b.fill {
		b.credit = b.depth
		return
	}
	b.credit = min(b.depth, b.credit+elapsed*b.rate)
}
