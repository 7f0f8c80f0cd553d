package headroom

import (
	"time"

	"pfcswitch/macctl"
)

const (
	// SuperFrame, in octets, is the largest frame on a port that has no speed: there,
	// segmentation-offload frames are carried whole.
	SuperFrame int64 = 65_550
	// WireOverhead is what a frame costs on the wire beyond its octets in the buffer: FCS (4),
	// preamble and start delimiter (8), inter-packet gap (12).
	WireOverhead int64 = 24
	// ControlFrameBits is a PAUSE or PFC frame on the wire: 64 octets, preamble and gap.
	ControlFrameBits int64 = (64 + 20) * 8
)

// Inputs are what the calculated headroom of a port follows from. The same cable, burst and
// speed are assumed at the peer. No formula overflows while each of them is below 2^50 and
// Speed·Delay below 2^60 bits.
type Inputs struct {
	Speed    int64         // bit/s; 0: the port has no speed, macctl.NominalSpeed and SuperFrame apply
	MaxFrame int64         // octets of the largest frame without FCS; unused when Speed is 0
	Delay    time.Duration // propagation, one way
	Burst    int64         // wire octets the peer's shaper may send above its rate
	K        int64         // bits that neither formula nor frames can see: interface and higher-layer delay
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

// Eta is the headroom of the shared-buffer literature, 2·(C·D_prop + L_MTU) + response:
// the pause frame waits for a frame that is being sent, travels, is acted upon, the peer
// finishes the frame that it is sending, and that frame's last bit travels back. The published
// constant of 3840 B is the response limit of 10G; here it is that of the port's speed.
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

// PFCDelay is the delay value of IEEE 802.1Q, annex "Buffer requirements for PFC":
// 2·frame + PFC frame + 2·cable + higher-layer delay. The higher-layer delay is the response
// limit of the port's speed; the interface delays of both ends are Inputs.K, which Calculate adds.
func PFCDelay(in Inputs) Terms {
	frame, cable := in.frameBits(), in.cableBits()
	return Terms{
		{"largest frame before the PFC frame", frame},
		{"PFC frame", ControlFrameBits},
		{"cable, there and back", 2 * cable},
		{"higher-layer delay", macctl.ResponseLimitBits(in.Speed)},
		{"largest frame that the peer finishes", frame},
	}
}

// Floor is the least headroom of a port, in bits: PFCDelay without a cable, so that no measurement can make it less, and K.
func Floor(in Inputs) int64 {
	in.Delay = 0
	return PFCDelay(in).Bits() + in.K
}

// PauseDelay is what follows a PAUSE (IEEE 802.3 annex 31B):
// 2·frame + PAUSE frame + response limit + 2·C·D_prop.
func PauseDelay(in Inputs) Terms {
	frame, cable := in.frameBits(), in.cableBits()
	return Terms{
		{"largest frame before the PAUSE frame", frame},
		{"PAUSE frame", ControlFrameBits},
		{"response limit", macctl.ResponseLimitBits(in.Speed)},
		{"cable, there and back", 2 * cable},
		{"largest frame that the peer finishes", frame},
	}
}

// Calculation is the calculated headroom of an ingress queue with everything that it came from.
// All parts are in bits.
type Calculation struct {
	Eta       Terms // of the literature
	Delay     Terms // of the standard: PFCDelay or PauseDelay
	SendLimit int64 // the send call that may have begun when the pause frame arrives
	Burst     int64 // the peer's shaper
	K         int64 // configured by the operator
}

// Calculate applies the formulas to one port: with ModePause one headroom serves all priorities together,
// else each lossless priority has its own.
func Calculate(in Inputs, mode macctl.Mode) Calculation {
	delay := PFCDelay
	if mode == macctl.ModePause {
		delay = PauseDelay
	}
	return Calculation{
		Eta:       Eta(in),
		Delay:     delay(in),
		SendLimit: SendLimit(in.Speed, in.MaxFrame) * 8,
		Burst:     in.Burst * 8,
		K:         in.K,
	}
}

// Bits is max(Eta, Delay) + SendLimit + Burst + K: the bits that may still arrive after a pause
// frame was handed to the wire.
func (c Calculation) Bits() int64 { return c.Terms().Bits() }

// Terms are the parts that Bits is the sum of.
func (c Calculation) Terms() Terms {
	formula := Term{"eta", c.Eta.Bits()}
	if delay := c.Delay.Bits(); delay > formula.Bits {
		formula = Term{"delay", delay}
	}
	return Terms{formula, {"send call", c.SendLimit}, {"burst", c.Burst}, {"k", c.K}}
}

// Bytes is Bits in octets, rounded up.
func (c Calculation) Bytes() int64 { return Octets(c.Bits()) }

// DefaultXon is the resume threshold, in octets, that keeps a link busy: what the peer could
// have sent between the resume and its first frame's arrival. That is one quantum (the pause
// frame itself), the response limit and twice the cable.
func DefaultXon(in Inputs) int64 {
	return Octets(macctl.QuantumBits + macctl.ResponseLimitBits(in.Speed) + 2*in.cableBits())
}

func (in Inputs) frameBits() int64 {
	return (largestFrame(in.Speed, in.MaxFrame) + WireOverhead) * 8
}

func (in Inputs) cableBits() int64 { return BitsIn(in.Speed, in.Delay) }
