package api

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pfcswitch/headroom"
)

// What show headroom -v prints stands in a golden file: all that show headroom prints, and more.
func TestHeadroomDetail(t *testing.T) {
	r := answer(&fake{}, "headroom").(*Headroom)
	golden(t, "headroom-detail.txt", r.Detail())
	if !strings.HasPrefix(r.Detail(), r.Text()) {
		t.Errorf("the detail is not what else there is:\n%s", r.Detail())
	}
}

// The terms of each value are what it is the sum of: at 1 Gbit/s, with frames of 1518 + 24 octets on the wire, which are 12,336 bits,
// 1 km of cable (5000 bits), a response limit of 1024 bits, a send call of 50,000 and a burst of 500,000.
func TestHeadroomTermsAddUp(t *testing.T) {
	byHand := map[string]struct{ bits, octets, cells int64 }{
		"eta":        {2*12_336 + 2*5000 + 1024, 4462, 18},
		"delay":      {2*12_336 + 2*5000 + 1024 + 84*8, 4546, 18},
		"calculated": {36_368 + 50_000 + 500_000, 73_296, 287},
		"measured":   {22_060 + 50_000 + 2*12_336 + 84*8 + 500_000, 74_676, 292}, // 22 µs, and 30 ns twice; the reaction is no more than a send call
	}
	for _, p := range answer(&fake{}, "headroom").(*Headroom).Ports {
		for name, v := range map[string]*HeadroomValue{"eta": &p.Eta, "delay": &p.Delay, "calculated": &p.Calculated, "measured": p.Measured} {
			if v == nil {
				continue
			}
			if want := byHand[name]; v.Bits != want.bits || v.Bytes != want.octets || v.Cells != want.cells {
				t.Errorf("port %s: %s: %d bits, %d B, %d cells, by hand %+v", p.Port, name, v.Bits, v.Bytes, v.Cells, want)
			}
			sum := int64(0)
			for _, term := range v.Terms {
				sum += term.Bits
			}
			if len(v.Terms) < 4 || sum != v.Bits {
				t.Errorf("port %s: %s: %+v, and its %d terms are %d bits", p.Port, name, *v, len(v.Terms), sum)
			}
		}
		if p.Calculated.Bytes != p.CalculatedBytes {
			t.Errorf("port %s: calculated %d B, by its terms %d", p.Port, p.CalculatedBytes, p.Calculated.Bytes)
		}
	}
}

// A link of a thousand kilometres at 1 Gbit/s, under load for days, fits 120 columns.
func TestHeadroomFitsTheScreen(t *testing.T) {
	r := answer(&fake{}, "headroom").(*Headroom)
	in := headroom.Inputs{Speed: 1e9, MaxFrame: 9018, Delay: 5_000_000, Burst: 62_500}
	found := headroom.Finding{RoundTrip: 10_123_456, Precision: 30, Reaction: 1_234_567, Burst: 500_000}
	p, value := &r.Ports[0], valueOf(256)
	measured, bits := value(headroom.Measure(in, found)), int64(9_999_999)
	p.Port, p.Neighbor = "uplink-12", nonZero("spine-switch-number-two")
	p.Measured, p.Eta, p.Delay, p.CalculatedBytes = &measured, value(headroom.Eta(in)), value(headroom.PFCDelay(in)), 1_400_000
	p.PlainBits, p.PeerFoundBits, p.ReceivedBits, p.ToldBits, p.InForceBytes, p.InForceCells = &bits, &bits, &bits, &bits, 1_400_000, 5500
	p.Finding.TripNs, p.Finding.ReactionNs = int64(found.RoundTrip), int64(found.Reaction)
	p.Messages.Asked, p.Messages.Answered = 99_999_999, 99_999_999
	q := &p.Queues[0]
	q.Xoffs, q.SizeBytes, q.XonBytes, q.PeakBytes, q.RingBytes, q.RingFrames = 99_999_999, 1_400_000, 1_300_000, 1_399_000, 9_999_999, 99_999
	for line := range strings.Lines(r.Detail()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 120 {
			t.Errorf("%d columns:\n%s", n, line)
		}
	}
}
