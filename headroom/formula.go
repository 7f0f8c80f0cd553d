package headroom

import (
	"math"
	"math/bits"
	"time"

	"pfcswitch/macctl"
)

const (
	// GSOFrame, in octets, is the largest frame on a port that has no speed, which carries GSO frames whole.
	GSOFrame int64 = 65_550
	// WireOverhead is what a frame costs on the wire beyond its octets in the buffer: FCS (4),
	// preamble and start delimiter (8), inter-packet gap (12).
	WireOverhead int64 = 24
	// ControlFrameBits is a PAUSE or PFC frame on the wire: 64 octets, preamble and gap.
	ControlFrameBits int64 = (64 + 20) * 8
)

// Inputs are what the calculated headroom of a port follows from. The same cable, burst and speed are assumed at the
// peer. No formula overflows while each input is below 2^50 and Speed·Delay below 2^60 bits.
type Inputs struct {
	Speed    int64         // bit/s; 0: the port has no speed, macctl.NominalSpeed and GSOFrame apply
	MaxFrame int64         // octets of the largest frame without FCS; unused when Speed is 0
	Delay    time.Duration // propagation, one way
	Burst    int64         // wire octets the peer's shaper may send above its rate
	K        int64         // bits beyond the formulas, of the operator: interface and higher-layer delay
}

// Term is one named part of a value, in bits.
type Term struct {
	Name string
	Bits int64
}

// Terms is a value as the sum of its named parts.
type Terms []Term

// Bits is the sum, in bits.
func (t Terms) Bits() int64 {
	var sum int64
	for _, term := range t {
		sum += term.Bits
	}
	return sum
}

// Eta is the headroom of the shared-buffer literature, 2·(C·D_prop + L_MTU) + response. The pause frame waits for a
// frame that is being sent, and travels. The peer acts, finishes its frame, and the last bit of that travels back. The
// published constant of 3840 B is the response limit of 10G; here the limit is that of the port's speed.
func Eta(in Inputs) Terms {
	frame, cable := in.frameBits(), in.cableBits()
	return Terms{
		{"waiting", frame},
		{"propagation of the pause frame", cable},
		{"processing", macctl.ResponseLimitBits(in.Speed)},
		{"response", frame},
		{"propagation of the last frame", cable},
	}
}

// Delay is the delay value of the standard: 2·frame + PFC or PAUSE frame + 2·C·D_prop + response limit of the port's
// speed. IEEE 802.1Q, annex "Buffer requirements for PFC", calls the limit the higher-layer delay; IEEE 802.3 annex 31B
// has it for PAUSE. The interface delays of both ends are Inputs.K, which Calculate adds.
func Delay(in Inputs, mode macctl.Mode) Terms {
	name, limit := "PFC frame", "higher-layer delay"
	if mode == macctl.ModePause {
		name, limit = "PAUSE frame", "response limit"
	}
	frame := in.frameBits()
	return Terms{
		{"largest frame before the " + name, frame},
		{name, ControlFrameBits},
		{"cable, there and back", 2 * in.cableBits()},
		{limit, macctl.ResponseLimitBits(in.Speed)},
		{"largest frame that the peer finishes", frame},
	}
}

// Floor is the least headroom of a port, in bits: the Delay of PFC without a cable, and K. No measurement goes below.
func Floor(in Inputs) int64 {
	in.Delay = 0
	return Delay(in, macctl.ModePFC).Bits() + in.K
}

// Calculation is the calculated headroom of an ingress queue with its parts, in bits.
type Calculation struct {
	Eta       Terms // of the literature
	Delay     Terms // of the standard
	SendLimit int64 // the peer's send call that may have begun when the pause frame arrives
	Burst     int64 // the peer's shaper
	K         int64 // configured by the operator
}

// Calculate applies the formulas to one port. With ModePause one headroom serves all priorities together, else each
// lossless priority has its own.
func Calculate(in Inputs, mode macctl.Mode) Calculation {
	return Calculation{Eta: Eta(in), Delay: Delay(in, mode), SendLimit: SendLimit(in.Speed, in.MaxFrame) * 8,
		Burst: in.Burst * 8, K: in.K}
}

// Bits is max(Eta, Delay) + SendLimit + Burst + K: the bits that may still arrive after a pause frame was handed to the
// wire.
func (c Calculation) Bits() int64 { return c.Terms().Bits() }

// Terms are the parts whose sum is Bits.
func (c Calculation) Terms() Terms {
	formula := Term{"eta", c.Eta.Bits()}
	if delay := c.Delay.Bits(); delay > formula.Bits {
		formula = Term{"delay", delay}
	}
	return Terms{formula, {"send call", c.SendLimit}, {"burst", c.Burst}, {"k", c.K}}
}

// Bytes is Bits in octets, rounded up.
func (c Calculation) Bytes() int64 { return Octets(c.Bits()) }

// DefaultXon is the resume threshold, in octets, that keeps a link busy: what the peer could have sent between the XON
// and the arrival of its first frame. That is one quantum (the pause frame itself), the response limit and twice the
// cable.
func DefaultXon(in Inputs) int64 {
	return Octets(macctl.QuantumBits + macctl.ResponseLimitBits(in.Speed) + 2*in.cableBits())
}

func (in Inputs) frameBits() int64 { return (largestFrame(in.Speed, in.MaxFrame) + WireOverhead) * 8 }

func (in Inputs) cableBits() int64 { return BitsIn(in.Speed, in.Delay) }

// SendLimit is the most that a port hands to the kernel in one send call, in wire octets: max(1 frame, min(64 frames,
// speed × 50 µs)). A port looks for pause frames before every call, so this much may follow their arrival. The
// arguments are as in Inputs.
func SendLimit(speed, maxFrame int64) int64 {
	frame := largestFrame(speed, maxFrame) + WireOverhead
	return max(frame, min(64*frame, BitsIn(speed, 50*time.Microsecond)/8))
}

// DefaultBurst is the depth of a port's token bucket, in wire octets, where none is configured: max(2 frames, speed ×
// 500 µs). A port without a speed has no shaper and no burst.
func DefaultBurst(speed, maxFrame int64) int64 {
	if speed <= 0 {
		return 0
	}
	return max(2*(maxFrame+WireOverhead), BitsIn(speed, 500*time.Microsecond)/8)
}

// BitsIn is how many bits pass in d at a speed (bit/s; 0: macctl.NominalSpeed), rounded up and limited to the largest
// int64. The result is 0 for a negative d.
func BitsIn(speed int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(macctl.SpeedOrNominal(speed)), uint64(d))
	lo, carry := bits.Add64(lo, uint64(time.Second)-1, 0)
	if hi += carry; hi >= uint64(time.Second) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(hi, lo, uint64(time.Second))
	return int64(min(quotient, math.MaxInt64))
}

// Octets rounds bits up to whole octets.
func Octets(bits int64) int64 { return Cells(bits, 8) }

// Cells rounds octets up to whole buffer cells of the given size and returns their number.
func Cells(octets, cell int64) int64 {
	cells := octets / cell
	if octets%cell > 0 {
		cells++
	}
	return cells
}

func largestFrame(speed, maxFrame int64) int64 {
	if speed <= 0 {
		return GSOFrame
	}
	return maxFrame
}

// A Finding is what measuring a link has shown, as one of its ends knows it.
type Finding struct {
	// RoundTrip is the time t for which frames travel, there and back: (t4-t1) - (t3-t2) with four stamps, t4-t1 with
	// two.
	RoundTrip time.Duration
	Precision time.Duration // by which one stamp may be wrong
	Reaction  time.Duration // R: the longest time that the peer takes to act on a received frame
	SendLimit int64         // S: bits of the peer's largest send call; 0: not stated
	Burst     int64         // bits that the peer's shaper lets pass above its rate
}

// Measure is the headroom that a link needs by a finding: HDRM in US 2025/0267110, and the reaction of a peer that is
// software.
//
//	(t + 2·precision)·speed + min(R·speed, S) + 2·frame + measurement frame + K
//
// K is what frames cannot see: Inputs.K, and the peer's burst. Speed, MaxFrame and K are the port's own. R = 0 makes
// the plain formula.
func Measure(in Inputs, f Finding) Terms {
	frame := in.frameBits()
	return Terms{
		{"wire", in.WireBits(f)},
		{"reaction", reactionBits(in.Speed, f)},
		{"largest frame before the pause frame", frame},
		{"largest frame that the peer finishes", frame},
		{"measurement frame", ControlFrameBits},
		{"k", in.K},
		{"burst", f.Burst},
	}
}

// WireBits is the part of the headroom for the round trip, with the error of the stamps.
func (in Inputs) WireBits(f Finding) int64 { return BitsIn(in.Speed, f.RoundTrip+2*f.Precision) }

// PlainBits is the formula without the reaction and the peer's burst, in bits.
func (in Inputs) PlainBits(f Finding) int64 {
	f.Reaction, f.Burst = 0, 0
	return Measure(in, f).Bits()
}

// MeasuredXon is the resume threshold, in octets, that keeps a link busy by a finding: what the peer could have sent
// between the XON and the arrival of its first frame, in its reaction and the round trip. DefaultXon is the same by
// calculation.
func MeasuredXon(in Inputs, f Finding) int64 {
	return Octets(in.WireBits(f) + BitsIn(in.Speed, f.Reaction))
}

// reactionBits is what the peer sends before it stops. However late it is, one send call may follow at most.
func reactionBits(speed int64, f Finding) int64 {
	late := BitsIn(speed, f.Reaction)
	if f.SendLimit > 0 {
		return min(late, f.SendLimit)
	}
	return late
}
