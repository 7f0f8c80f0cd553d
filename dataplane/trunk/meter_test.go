package trunk

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

const (
	millisecond = 1_000_000
	second      = 1000 * millisecond
)

// profile earns 1000 octets a millisecond and 2000 at its peak.
var profile = MeterConfig{CIR: 8_000_000, PIR: 16_000_000, CBS: 3000, PBS: 5000}

// An arrival is a frame that a meter sees, with results computed by hand: its colour, and the tokens left.
type arrival struct {
	at              int64
	octets          int64
	before          Colour
	want            Colour
	committed, peak int64
}

func TestMeterByHand(t *testing.T) {
	for name, arrivals := range map[string][]arrival{
		"a burst uses up both buckets": {
			{0, 1000, Green, Green, 2000, 4000},
			{0, 1000, Green, Green, 1000, 3000},
			{0, 1000, Green, Green, 0, 2000},
			{0, 1000, Green, Yellow, 0, 1000},
			{0, 1000, Green, Yellow, 0, 0},
			{0, 1, Green, Red, 0, 0},
			{0, 1000, Green, Red, 0, 0},
		},
		"exactly what the bucket holds conforms": {{0, 3000, Green, Green, 0, 2000}, {0, 2000, Green, Yellow, 0, 0}},
		"one more than the committed bucket holds is yellow, and leaves that bucket alone": {
			{0, 3001, Green, Yellow, 3000, 1999},
			{0, 2000, Green, Red, 3000, 1999},
			{0, 1999, Green, Green, 1001, 0},
		},
		"time earns, up to the depth": {
			{0, 3000, Green, Green, 0, 2000},
			{millisecond, 1000, Green, Green, 0, 3000}, // 1000 and 4000 before it
			{millisecond + 500_000, 600, Green, Yellow, 500, 3400},
			{100 * second, 5001, Green, Red, 3000, 5000},
			{100 * second, 5000, Green, Yellow, 3000, 0},
		},
		"a rest of a token is kept": {
			{0, 3000, Green, Green, 0, 2000},
			{999, 1, Green, Yellow, 0, 2000},  // 0.999 and 2001.998 before it
			{1000, 1, Green, Green, 0, 2000},  // exactly 1 token: 0.999 + 0.001
			{1001, 1, Green, Yellow, 0, 1999}, // 2000.002 - 1
		},
		"colour-aware: no better than before": {
			{0, 1000, Yellow, Yellow, 3000, 4000},
			{0, 1000, Red, Red, 3000, 4000},
			{0, 4001, Yellow, Red, 3000, 4000},
			{0, 1000, Green, Green, 2000, 3000},
		},
		"time that goes back earns nothing, and is not earned twice": {
			{millisecond, 3000, Green, Green, 0, 2000},
			{0, 1, Green, Yellow, 0, 1999},
			{millisecond, 1, Green, Yellow, 0, 1998},
			{2 * millisecond, 1000, Green, Green, 0, 2998},
		},
	} {
		m := NewMeter(profile, 0)
		for i, a := range arrivals {
			got := m.Colour(a.octets, a.before, a.at)
			committed, peak := m.tokens(a.at)
			assert.True(t, got == a.want && committed == a.committed && peak == a.peak,
				"%s: arrival %d:\n got %v, tokens %d and %d\nwant %v, tokens %d and %d", name, i, got, committed, peak,
				a.want, a.committed, a.peak)
		}
	}
}

// tokens returns what the two buckets hold at time now, in whole octets, rounded down.
func (m *Meter) tokens(now int64) (committed, peak int64) {
	m.refill(now)
	return floorDiv(m.committed.credit), floorDiv(m.peak.credit)
}

func floorDiv(credit int64) int64 {
	if credit < 0 {
		return -((-credit + perOctet - 1) / perOctet)
	}
	return credit / perOctet
}

// Take may lead to debts, in either bucket down to minus the peak bucket's depth.
func TestMeterTakes(t *testing.T) {
	m := NewMeter(profile, 0)
	for i, tt := range []struct{ at, octets, committed, peak int64 }{
		{0, 4000, -1000, 1000},
		{0, 4000, -5000, -3000},
		{0, 4000, -5000, -5000},
		{millisecond, 0, -4000, -3000},
		{5 * millisecond, 0, 0, 5000},
		{100 * second, 0, 3000, 5000},
	} {
		m.Take(tt.octets, tt.at)
		if committed, peak := m.tokens(tt.at); committed != tt.committed || peak != tt.peak {
			t.Errorf("step %d: tokens %d and %d, want %d and %d", i, committed, peak, tt.committed, tt.peak)
		}
	}
}

func TestMeterConfigureKeepsTokens(t *testing.T) {
	m := NewMeter(profile, 0)
	m.Take(2500, 0)
	m.Configure(MeterConfig{CIR: 8_000, PIR: 8_000, CBS: 4000, PBS: 2000}, millisecond)
	if committed, peak := m.tokens(millisecond); committed != 1500 || peak != 2000 {
		t.Errorf("tokens %d and %d, want 1500, earned at the old rate, and 2000, the new depth", committed, peak)
	}
	m.Configure(MeterConfig{CIR: 0, PIR: 0, CBS: 4000, PBS: 2000}, millisecond)
	committed, _ := m.tokens(1000 * second)
	assert.True(t, committed == 1500, "a rate of 0 has earned: %d tokens", committed)
}

// Over 10 s the shares of the colours are those that RFC 2698 predicts, within 1 %: green up to CIR, yellow up to PIR,
// red above.
func TestMeterSharesOfColours(t *testing.T) {
	const cir, pir = 100_000_000, 200_000_000
	for _, offered := range []float64{50e6, 99e6, 150e6, 199e6, 300e6, 1000e6} {
		m := NewMeter(MeterConfig{CIR: cir, PIR: pir, CBS: 4096, PBS: 4096}, 0)
		var got [NumColours]float64
		octets := []int64{64, 1500, 576, 84}
		var sent float64
		for i := 0; sent < offered*10; i++ {
			n := octets[i%len(octets)]
			got[m.Colour(n, Green, int64(sent/offered*second))] += float64(8 * n)
			sent += float64(8 * n)
		}
		want := [NumColours]float64{math.Min(offered, cir), math.Min(math.Max(offered-cir, 0), pir-cir),
			math.Max(offered-pir, 0)}
		for c := range got {
			assert.True(t, math.Abs(got[c]/10-want[c]) <= 0.01*offered,
				"%.0f Mbit/s offered: %v %.2f Mbit/s, want %.2f within 1 %%", offered/1e6, Colour(c), got[c]/1e7,
				want[c]/1e6)
		}
	}
}

func drawProfile(t *rapid.T) MeterConfig {
	c := MeterConfig{CIR: rapid.Int64Range(0, 800_000_000_000).Draw(t, "cir")}
	c.PIR = rapid.Int64Range(c.CIR, 800_000_000_000).Draw(t, "pir")
	burst := rapid.OneOf(rapid.Int64Range(64, 100_000), rapid.Just(int64(MaxBurst)))
	c.CBS, c.PBS = burst.Draw(t, "cbs"), burst.Draw(t, "pbs")
	return c
}

// No bucket exceeds its depth, or the largest debt. In no interval from the start is more green than CIR·t + CBS, or
// more green and yellow than PIR·t + PBS. A meter that is called often equals one that is not.
func TestMeterProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawProfile(t)
		often, seldom := NewMeter(c, 0), NewMeter(c, 0)
		var now int64
		var green, passed float64
		for range rapid.IntRange(1, 100).Draw(t, "frames") {
			step := rapid.OneOf(rapid.Int64Range(0, 100_000), rapid.Int64Range(0, 1000*second)).Draw(t, "ns")
			for range rapid.IntRange(0, 3).Draw(t, "looks") {
				often.tokens(now + rapid.Int64Range(0, step).Draw(t, "look"))
			}
			now += step
			octets := rapid.Int64Range(1, 70_000).Draw(t, "octets")
			if rapid.IntRange(0, 5).Draw(t, "untested") == 0 {
				often.Take(octets, now)
				seldom.Take(octets, now)
			}
			before := Colour(rapid.IntRange(0, int(Red)).Draw(t, "before"))
			colour := often.Colour(octets, before, now)
			if other := seldom.Colour(octets, before, now); other != colour || colour < before {
				t.Fatalf("coloured %v and %v, before %v", colour, other, before)
			}
			switch colour {
			case Green:
				green += float64(octets)
				passed += float64(octets)
			case Yellow:
				passed += float64(octets)
			}
			limit := float64(c.CIR)/8e9*float64(now) + float64(c.CBS)
			assert.MustBeTrue(t, green <= limit*(1+1e-12), "%.1f octets green by %d ns, limit %.1f", green, now, limit)
			if limit := float64(c.PIR)/8e9*float64(now) + float64(c.PBS); passed > limit*(1+1e-12) {
				t.Fatalf("%.1f octets green or yellow by %d ns, limit %.1f", passed, now, limit)
			}
			committed, peak := often.tokens(now)
			assert.MustBeTrue(t, committed <= c.CBS && peak <= c.PBS && committed >= -c.PBS && peak >= -c.PBS,
				"tokens %d of %d and %d of %d", committed, c.CBS, peak, c.PBS)
			assert.MustBeTrue(t, often == seldom, "%+v, asked often\n%+v, asked seldom", often, seldom)
		}
	})
}

// If its frame is short enough to be padded, a packet is as long as its header says, and else as long as the frame.
func TestPacketOctets(t *testing.T) {
	stated := func(b []byte, at int, n byte) []byte { b[at+1] = n; return b }
	for _, tt := range []struct {
		name string
		b    []byte
		want int
	}{
		{"IPv4, whole", packet(), 46},
		{"IPv4, padded", stated(packet(), 18+2, 28), 28},
		{"IPv4, cut off", stated(packet(), 18+2, 200), 46},
		{"IPv4, less than its header", stated(packet(), 18+2, 3), 20},
		{"IPv4, understated in a long frame", stated(append(packet(), 0), 18+2, 28), 47},
		{"IPv6, padded", stated(packet6()[:60], 14+4, 1), 41},
		{"IPv6, understated in a long frame", stated(packet6(), 14+4, 1), 66},
		{"too short for a header", packet()[:18+19], 19},
		{"no IP", append(packet()[:16], 0x88, 0xB5, 0, 0), 2},
	} {
		h, ok := frame.Parse(tt.b)
		assert.MustBeTrue(t, ok, "%s: malformed", tt.name)
		assert.Equal(t, PacketOctets(tt.b, &h), tt.want, "%s: octets", tt.name)
	}
}
