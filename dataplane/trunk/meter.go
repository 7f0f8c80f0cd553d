package trunk

import (
	"encoding/binary"
	"math"

	"pfcswitch/dataplane/frame"
)

// A MeterConfig is the profile of a two-rate three-colour marker (RFC 2698). Rates are in bit/s and bursts in octets,
// both of metered octets (see PacketOctets).
type MeterConfig struct {
	CIR, PIR int64 // committed and peak rate; CIR ≤ PIR
	CBS, PBS int64 // depth of the two buckets, each at least one frame; at most MaxBurst
}

// MaxBurst is the deepest bucket, in octets: credits and their differences stay within 63 bits.
const MaxBurst = 256 << 20

// perOctet is the credit of one octet. Credit counts bits × 10⁹, so that rate × nanoseconds needs no rounding.
const perOctet = 8 * 1_000_000_000

// A Meter is a two-rate three-colour marker (RFC 2698, section 3). Its two token buckets are filled lazily and
// exactly: their contents do not depend on how often they are looked at.
type Meter struct {
	committed, peak bucket
	last            int64 // time up to which tokens are accounted for
}

// A bucket is one of a meter's two token buckets.
type bucket struct {
	rate   int64 // bit/s
	depth  int64 // most credit that it holds
	credit int64
	fill   int64 // ns after which it is full, whatever its credit
}

// NewMeter returns a meter whose buckets are full at time now.
func NewMeter(c MeterConfig, now int64) Meter {
	m := Meter{last: now, committed: bucket{credit: c.CBS * perOctet}, peak: bucket{credit: c.PBS * perOctet}}
	m.configure(c)
	return m
}

// Configure changes the profile. The buckets keep their credit up to their new depth.
func (m *Meter) Configure(c MeterConfig, now int64) {
	m.refill(now)
	m.configure(c)
}

func (m *Meter) configure(c MeterConfig) {
	m.committed.configure(c.CIR, c.CBS*perOctet, c.PBS*perOctet)
	m.peak.configure(c.PIR, c.PBS*perOctet, c.PBS*perOctet)
}

// configure sets the rate in bit/s and the depth. below is how far the credit may fall below zero.
func (b *bucket) configure(rate, depth, below int64) {
	b.rate, b.depth, b.fill = rate, depth, math.MaxInt64
	b.credit = max(min(b.credit, depth), -below)
	if rate > 0 {
		b.fill = (depth+below)/rate + 1
	}
}

// Colour meters a frame that arrived with a colour and takes its tokens. The colour never becomes better. With Green
// for every frame the meter is colour-blind; with the colour of an earlier meter it is colour-aware.
func (m *Meter) Colour(octets int64, before Colour, now int64) Colour {
	m.refill(now)
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

// Take takes the tokens of a frame from both buckets unconditionally, down to minus the depth of the peak bucket.
func (m *Meter) Take(octets, now int64) {
	m.refill(now)
	cost, floor := octets*perOctet, -m.peak.depth
	m.committed.credit = max(m.committed.credit-cost, floor)
	m.peak.credit = max(m.peak.credit-cost, floor)
}

// refill adds tokens for the time since the last call. Time that goes back earns nothing: workers read their clocks
// before they get their turn.
func (m *Meter) refill(now int64) {
	elapsed := now - m.last
	if elapsed <= 0 {
		return
	}
	m.last = now
	m.committed.refill(elapsed)
	m.peak.refill(elapsed)
}

// refill needs no division and does not overflow: in less than fill a rate earns no more than depth and debt.
func (b *bucket) refill(elapsed int64) {
	if elapsed >= b.fill {
		b.credit = b.depth
		return
	}
	b.credit = min(b.depth, b.credit+elapsed*b.rate)
}

// A Colour is how well a frame conforms to a rate (RFC 2698).
type Colour uint8

// The colours, from the best to the worst.
const (
	Green  Colour = iota // within the committed rate
	Yellow               // above it, within the peak rate
	Red                  // above the peak rate
	NumColours
)

var colourNames = [NumColours]string{"green", "yellow", "red"}

// String returns the name as metrics print it.
func (c Colour) String() string {
	if c >= NumColours {
		return "invalid"
	}
	return colourNames[c]
}

// mayBePadded is the longest frame with padding, in octets without FCS. A tag may have been inserted after the padding.
const mayBePadded = 60 + frame.TagOctets

const (
	ipv4Octets = 20 // least header (RFC 791)
	ipv6Octets = 40 // header (RFC 8200)
)

// PacketOctets returns the octets of a frame that RFC 2698 meters: the IP packet with its header, without link header
// and padding. For other frames it returns all that follows the Ethernet header. b and h are as in frame.Flow.
func PacketOctets(b []byte, h *frame.Header) int {
	packet := b[h.NetOffset:]
	stated := len(packet)
	if len(b) > mayBePadded {
		return stated // ignore the header: nobody gets more through by understating its length
	}
	switch {
	case h.EtherType == frame.TypeIPv4 && len(packet) >= ipv4Octets:
		stated = int(binary.BigEndian.Uint16(packet[2:]))
	case h.EtherType == frame.TypeIPv6 && len(packet) >= ipv6Octets:
		stated = ipv6Octets + int(binary.BigEndian.Uint16(packet[4:]))
	}
	return min(max(stated, ipv4Octets), len(packet))
}
