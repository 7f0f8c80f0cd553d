package headroom

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

func drawInputs(t *rapid.T) Inputs {
	return Inputs{
		Speed:    rapid.Int64Range(0, 800*gbit).Draw(t, "speed"),
		MaxFrame: rapid.Int64Range(64, 65_550).Draw(t, "frame"),
		Delay:    time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "delay")),
		Burst:    rapid.Int64Range(0, 1<<32).Draw(t, "burst"),
		K:        rapid.Int64Range(0, 1<<40).Draw(t, "k"),
	}
}

// A longer cable, a larger frame, a deeper burst or a larger K never needs less headroom.
func TestCalculateIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInputs(t)
		more := in
		more.MaxFrame += rapid.Int64Range(0, 1000).Draw(t, "more frame")
		more.Delay += time.Duration(rapid.Int64Range(0, 1000).Draw(t, "more delay"))
		more.Burst += rapid.Int64Range(0, 1000).Draw(t, "more burst")
		more.K += rapid.Int64Range(0, 1000).Draw(t, "more k")
		for _, fc := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
			small, large := Calculate(in, fc).Bits(), Calculate(more, fc).Bits()
			assert.MustBeTrue(t, large >= small,
				"flow control %d: %+v needs %d bits, %+v only %d", fc, in, small, more, large)
		}
	})
}

// The headroom holds what the slowest legal peer sends: the frame that our pause frame waits for, the response time,
// the frame and the send call that it had begun, its shaper's burst, and a cable full in both directions.
func TestCalculateCoversTheSlowestLegalPeer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInputs(t)
		wire := largestFrame(in.Speed, in.MaxFrame) + WireOverhead
		arrives := 2*wire*8 + 2*BitsIn(in.Speed, in.Delay) + macctl.ResponseLimitBits(in.Speed) +
			SendLimit(in.Speed, in.MaxFrame)*8 + in.Burst*8
		got := Calculate(in, macctl.ModePFC).Bits()
		assert.MustBeTrue(t, got >= arrives, "Calculate(%+v)\n got %d bits\nwant at least %d", in, got, arrives)
	})
}
