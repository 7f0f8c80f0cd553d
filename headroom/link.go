package headroom

import (
	"math"
	"math/bits"
	"time"

	"pfcswitch/macctl"
)

// SendLimit is the most that a port hands to the kernel in one send call, in wire octets:
// max(1 frame, min(64 frames, speed × 50 µs)). A pause frame is looked for before every call, so
// this much may follow its arrival. Arguments as in Inputs.
func SendLimit(speed, maxFrame int64) int64 {
	frame := largestFrame(speed, maxFrame) + WireOverhead
	return max(frame, min(64*frame, BitsIn(speed, 50*time.Microsecond)/8))
}

// DefaultBurst is the depth of a port's token bucket, in wire octets, where none is configured:
// max(2 frames, speed × 500 µs). A port without a rate has no shaper and no burst.
func DefaultBurst(speed, maxFrame int64) int64 {
	if speed <= 0 {
		return 0
	}
	return max(2*(maxFrame+WireOverhead), BitsIn(speed, 500*time.Microsecond)/8)
}

// BitsIn is how many bits pass in d at a speed (bit/s; 0: macctl.NominalSpeed), rounded up and limited
// to the largest int64. It is 0 for a negative d.
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
func Octets(bits int64) int64 {
	octets := bits / 8
	if bits%8 > 0 {
		octets++
	}
	return octets
}

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
		return SuperFrame
	}
	return maxFrame
}
