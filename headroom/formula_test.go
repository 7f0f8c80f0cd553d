package headroom

import (
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

const (
	mbit int64 = 1_000_000
	gbit int64 = 1_000_000_000
)

// tagged is the largest frame at MTU 1500: header and one VLAN tag, no FCS.
const tagged int64 = 1518

func TestEta(t *testing.T) {
	tests := []struct {
		name string
		in   Inputs
		want int64 // octets
	}{
		// Published values for 100 m of fibre, where the frame length is meant on the wire.
		{"10G, 9216 octets", Inputs{Speed: 10 * gbit, MaxFrame: 9216 - WireOverhead, Delay: 500}, 2*(625+9216) + 3840},
		{"40G, 9216 octets", Inputs{Speed: 40 * gbit, MaxFrame: 9216 - WireOverhead, Delay: 500}, 2*(2500+9216) + 7552},
		{"10G, 1522 octets", Inputs{Speed: 10 * gbit, MaxFrame: 1522 - WireOverhead, Delay: 500}, 2*(625+1522) + 3840},
		{"1G, no cable", Inputs{Speed: gbit, MaxFrame: tagged}, 2*1542 + 128},
		{"no rate", Inputs{}, 2*(65_550+24) + 3840},
		{"no rate ignores the frame", Inputs{MaxFrame: tagged}, 2*(65_550+24) + 3840},
	}
	for _, tt := range tests {
		assert.Equal(t, Octets(Eta(tt.in).Bits()), tt.want, "%s: octets of Eta(%+v)", tt.name, tt.in)
	}
}

func TestTermsAreNamed(t *testing.T) {
	in := Inputs{Speed: gbit, MaxFrame: tagged, Delay: time.Microsecond}
	tests := []struct {
		name string
		got  Terms
		want Terms
	}{
		{"Eta", Eta(in), Terms{
			{"waiting", 12_336},
			{"propagation of the pause frame", 1000},
			{"processing", 1024},
			{"response", 12_336},
			{"propagation of the last frame", 1000},
		}},
		{"Delay of PFC", Delay(in, macctl.ModePFC), Terms{
			{"largest frame before the PFC frame", 12_336},
			{"PFC frame", 672},
			{"cable, there and back", 2000},
			{"higher-layer delay", 1024},
			{"largest frame that the peer finishes", 12_336},
		}},
		{"Delay of PAUSE", Delay(in, macctl.ModePause), Terms{
			{"largest frame before the PAUSE frame", 12_336},
			{"PAUSE frame", 672},
			{"cable, there and back", 2000},
			{"response limit", 1024},
			{"largest frame that the peer finishes", 12_336},
		}},
	}
	for _, tt := range tests {
		assert.Same(t, tt.got, tt.want, "%s: terms", tt.name)
	}
}

// The standard's delay value differs from eta by the pause frame alone when the interface delays
// are in K.
func TestDelayIsEtaAndThePauseFrame(t *testing.T) {
	for _, speed := range []int64{0, 10 * mbit, gbit, 25 * gbit, 400 * gbit} {
		in := Inputs{Speed: speed, MaxFrame: tagged, Delay: 3 * time.Microsecond}
		want := Eta(in).Bits() + 672
		assert.Equal(t, Delay(in, macctl.ModePFC).Bits(), want, "speed %d: PFC", speed)
		assert.Equal(t, Delay(in, macctl.ModePause).Bits(), want, "speed %d: PAUSE", speed)
	}
}

func TestCalculate(t *testing.T) {
	in := Inputs{Speed: gbit, MaxFrame: tagged, Burst: 62_500, K: 8001}
	want := int64(2*12_336+1024+672) + 6250*8 + 62_500*8 + 8001
	for _, fc := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
		c := Calculate(in, fc)
		assert.Equal(t, c.Bits(), want, "flow control %d: Bits", fc)
		assert.Equal(t, c.Bytes(), want/8+1, "flow control %d: Bytes, rounded up", fc)
	}
	assert.Equal(t, Calculate(in, macctl.ModePause).Delay[1].Name, "PAUSE frame", "Calculate(Pause) uses")
	assert.Equal(t, Calculate(in, macctl.ModePFC).Delay[1].Name, "PFC frame", "Calculate(PFC) uses")
}

// Eta can be the larger one only where the two disagree on a term; the maximum must follow either.
func TestCalculationTakesTheLarger(t *testing.T) {
	for eta, delay := range map[int64]int64{9: 5, 5: 9} {
		c := Calculation{Eta: Terms{{"e", eta}}, Delay: Terms{{"d", delay}}, SendLimit: 1, Burst: 1, K: 1}
		assert.Equal(t, c.Bits(), 9+3, "eta %d, delay %d: bits", eta, delay)
	}
}

func TestDefaultXon(t *testing.T) {
	tests := []struct {
		in   Inputs
		want int64
	}{
		{Inputs{Speed: gbit, MaxFrame: tagged}, (512 + 1024) / 8},
		{Inputs{Speed: gbit, MaxFrame: tagged, Delay: 5 * time.Microsecond}, (512 + 1024 + 2*5000) / 8},
		{Inputs{Speed: 10 * gbit, MaxFrame: tagged}, (512 + 30_720) / 8},
		{Inputs{}, (512 + 30_720) / 8},
		{Inputs{Speed: gbit, Delay: 1}, (512+1024)/8 + 1}, // 2 bits more: rounded up
	}
	for _, tt := range tests {
		assert.Equal(t, DefaultXon(tt.in), tt.want, "DefaultXon(%+v)", tt.in)
	}
}

func TestSendLimit(t *testing.T) {
	const wire = tagged + WireOverhead
	tests := []struct {
		name         string
		speed, frame int64
		want         int64
	}{
		{"one frame at least", 10 * mbit, tagged, wire},
		{"50 us", gbit, tagged, 6250},
		{"64 frames at most", 100 * gbit, tagged, 64 * wire},
		{"no rate: one GSO frame", 0, tagged, GSOFrame + WireOverhead},
	}
	for _, tt := range tests {
		assert.Equal(t, SendLimit(tt.speed, tt.frame), tt.want, "%s: SendLimit(%d, %d)", tt.name, tt.speed, tt.frame)
	}
}

func TestDefaultBurst(t *testing.T) {
	tests := []struct{ speed, frame, want int64 }{
		{0, tagged, 0},
		{10 * mbit, tagged, 2 * 1542},
		{gbit, tagged, 62_500},
		{gbit, 65_535, 2 * (65_535 + 24)},
		{10 * gbit, tagged, 625_000},
	}
	for _, tt := range tests {
		assert.Equal(t, DefaultBurst(tt.speed, tt.frame), tt.want, "DefaultBurst(%d, %d)", tt.speed, tt.frame)
	}
}

func TestBitsIn(t *testing.T) {
	tests := []struct {
		speed int64
		d     time.Duration
		want  int64
	}{
		{gbit, time.Second, gbit},
		{gbit, 1, 1},
		{10 * mbit, 1, 1}, // a hundredth of a bit, rounded up
		{10 * mbit, 0, 0},
		{gbit, -time.Second, 0},
		{0, time.Microsecond, 10_000},
		{400 * gbit, time.Hour, 400 * gbit * 3600},
		{math.MaxInt64, time.Second, math.MaxInt64},
		{math.MaxInt64, time.Second + 1, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		assert.Equal(t, BitsIn(tt.speed, tt.d), tt.want, "BitsIn(%d, %v)", tt.speed, tt.d)
	}
}

func TestOctetsAndCells(t *testing.T) {
	for _, tt := range []struct{ bits, want int64 }{{0, 0}, {1, 1}, {8, 1}, {9, 2},
		{math.MaxInt64, math.MaxInt64/8 + 1}} {
		assert.Equal(t, Octets(tt.bits), tt.want, "Octets(%d)", tt.bits)
	}
	for _, tt := range []struct{ octets, cell, want int64 }{{0, 256, 0}, {1, 256, 1}, {256, 256, 1}, {257, 256, 2},
		{257, 1, 257}} {
		assert.Equal(t, Cells(tt.octets, tt.cell), tt.want, "Cells(%d, %d)", tt.octets, tt.cell)
	}
}
