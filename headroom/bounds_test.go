package headroom

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/macctl"
)

// bounds are what the target of a Probe may be, in bits, whatever its peer does: the least is what is written, or else
// what IEEE 802.1Q asks for without a cable; the most that of all trips and what the peer's word may add, or a written
// limit. What was in force before may be more.
func bounds(s Settings) (least, most int64) {
	if least = s.Min; least == 0 {
		in := s.Inputs
		in.Delay = 0
		least = max(PFCDelay(in).Bits(), Eta(in).Bits()) + in.K
	}
	word := s.Max
	if word == 0 {
		word = 4 * s.Calculated
	}
	most = word + BitsIn(s.Inputs.Speed, max(10*time.Millisecond, 4*s.Inputs.Delay)+2*s.Precision)
	if s.Limit > 0 {
		most = s.Limit
	}
	return least, max(least, most, s.Calculated)
}

// However late a peer answers, and whatever it says of itself and of what it has found, the headroom that is wanted
// stays within the bounds that are set.
func TestHeadroomStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settings(7)
		size := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 8*s.Calculated))
		s.Min, s.Max, s.Limit = size.Draw(t, "least"), size.Draw(t, "most"), size.Draw(t, "limit")
		s.Inputs.Speed = rapid.SampledFrom([]int64{1e8, 1e9, 1e10, 0}).Draw(t, "speed")
		s.Inputs.Delay = time.Duration(rapid.SampledFrom([]int64{0, 0, 1e6, 1e7}).Draw(t, "cable"))
		least, most := bounds(s)
		p, peer := agreed(s), [6]byte{2, 0, 0, 0, 0, 8}
		now, sequence := int64(1_000_000_000), uint32(0)
		duration := rapid.OneOf(rapid.Uint32Range(0, 100_000), rapid.Uint32Range(0, 1_000_000_000), rapid.Uint32())
		for range rapid.IntRange(1, 40).Draw(t, "questions") {
			now = max(now+1, p.nextRequest)
			for {
				q, ok := p.Out(Moment{Now: now})
				if !ok {
					break
				}
				if q.Operation != macctl.MeasureRequest {
					continue
				}
				asked := now
				now += int64(min(duration.Draw(t, "held back"), 990_000_000))
				a := q
				a.Operation, a.Peer = macctl.MeasureAnswer, peer
				a.Area = [2]uint64{5, 5 + uint64(min(int64(duration.Draw(t, "turn-around")), now-asked))}
				a.Reaction, a.Precision = min(duration.Draw(t, "reaction"), 1e9),
					min(duration.Draw(t, "precision"), 1e6)
				a.SendLimit, a.Burst = rapid.Uint32().Draw(t, "send limit"), rapid.Uint32().Draw(t, "burst")
				p.Receive(a, now, Moment{Now: now})
				if sequence++; rapid.Bool().Draw(t, "a result") {
					r := result(peer, 3, sequence, rapid.Uint64().Draw(t, "found"))
					r.Burst = a.Burst
					p.Receive(r, now, Moment{Now: now})
				}
				break
			}
			if got := p.target.bits; got != 0 && (got < least || got > most) {
				t.Fatalf("wanted are %d bits: the least is %d, the most %d, and %d were in force", got, least, most,
					s.Calculated)
			}
		}
		if r := p.Report(now); p.estimate.Settled() && (r.Target == 0 || r.RoundTrips.Max > p.longestRoundTrip()) {
			t.Fatalf("settled, and %d is wanted; trips %+v", r.Target, r.RoundTrips)
		}
	})
}
