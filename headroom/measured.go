package headroom

import "time"

// A Finding is what measuring a link has shown, as one of its ends knows it.
type Finding struct {
	// RoundTrip is the time t, (t4-t1) - (t3-t2) with four stamps and t4-t1 with two: what the frames spend on the way,
	// there and back.
	RoundTrip time.Duration
	Precision time.Duration // by which one stamp may be wrong
	Reaction  time.Duration // R: how late the peer acts on what it receives, at its worst
	SendLimit int64         // S: bits of the peer's largest send call; 0: not stated
	Burst     int64         // bits that the peer's shaper lets pass above its rate
}

// Measure is the headroom that a link needs by a finding, HDRM in US 2025/0267110, with the reaction of a peer that is
// software beside it:
//
//	(t + 2·precision)·speed + min(R·speed, S) + 2·frame + measurement frame + K
//
// K is what frames cannot see: that of the operator, and the peer's burst. Speed, MaxFrame and K are the port's own.
// With R = 0 it is the plain formula.
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

// WireBits is the part of the headroom that the way there and back takes, with what stamps may be wrong by.
func (in Inputs) WireBits(f Finding) int64 { return BitsIn(in.Speed, f.RoundTrip+2*f.Precision) }

// PlainBits is the formula without the reaction and the peer's burst, in bits.
func (in Inputs) PlainBits(f Finding) int64 {
	f.Reaction, f.Burst = 0, 0
	return Measure(in, f).Bits()
}

// MeasuredXon is the resume threshold, in octets, that keeps a link busy by a finding: what the peer could have sent from the
// resume to its first frame's arrival, which is its reaction and the way there and back. DefaultXon is the same by calculation.
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
