package headroom

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Found always equals the value computed at that moment, also after the link was down, at another speed, and without a
// peer.
func TestFoundIsWhatWouldBeComputed(t *testing.T) {
	w := newWire(settings(7), settings(8))
	p := w.ends[0]
	p.apply(1 << 30)
	check := func(when string) {
		t.Helper()
		assert.MustEqual(t, p.Found(), Octets(p.boundedMeasured()), "%s: bytes found", when)
	}
	steps := func(when string, d time.Duration) {
		for until := w.now + int64(d); w.step(until); {
			check(when)
		}
	}
	check("in the beginning")
	w.agree()
	steps("measuring", time.Second)
	first := p.Found()
	assert.MustBeTrue(t, first != 0, "nothing was found")
	w.delay[1] += 100_000
	steps("with a longer link", time.Second)
	assert.Equal(t, p.Found(), first+12_500, "with a link that is longer by 100 µs: B")
	limited := settings(7)
	limited.Limit = 8 * 1000
	p.Configure(limited, w.now)
	check("limited")
	assert.Equal(t, p.Found(), 1000, "limited to 1000 B")
	p.apply(840)
	assert.Equal(t, p.Found(), 840, "840 B of it in force")
	p.SetUp(false, w.now)
	check("down")
	assert.Equal(t, p.Found(), 0, "down: B")
}

// Every XOFF calls Found.
func TestFoundDoesNotAllocate(t *testing.T) {
	w := measured()
	assert.Equal(t, testing.AllocsPerRun(100, func() { w.ends[0].Found() }), 0, "allocations")
}

// The report has the newest result sent, and whether the peer has acknowledged it.
func TestReportOfResults(t *testing.T) {
	w := newWire(settings(7), settings(8))
	if r := w.report(0); r.ResultBits != 0 || r.ResultAcked {
		t.Errorf("before anything was measured: told %d bits, heard %v", r.ResultBits, r.ResultAcked)
	}
	w.lose = func(_ int, p macctl.MeasurementFrame) bool { return p.Operation == macctl.MeasureResultAck }
	w.agree()
	w.run(time.Second)
	r := w.report(0)
	assert.True(t, r.ResultBits == r.Measured.Bits() && !r.ResultAcked,
		"without acknowledgements: told %d bits of %d, heard %v", r.ResultBits, r.Measured.Bits(), r.ResultAcked)
	w.lose = nil
	w.run(time.Second)
	if r, other := w.report(0), w.report(1); r.ResultBits != other.PeerFound || !r.ResultAcked {
		t.Errorf("told %d bits, and the other end has heard %d: %v", r.ResultBits, other.PeerFound, r.ResultAcked)
	}
}

// A peer that agrees late has ignored earlier requests. Its first answer may be to a fallback request, which proves
// nothing against MAC Control frames.
func TestLateAgreementProvesNothing(t *testing.T) {
	for late := 300 * time.Millisecond; late < 1200*time.Millisecond; late += 7 * time.Millisecond {
		w := newWire(settings(7), settings(8))
		w.ends[0].SetAgreed(true, true, "b", w.now)
		w.run(late)
		w.ends[1].SetAgreed(true, true, "a", w.now)
		for range 200 {
			w.run(5 * time.Millisecond)
			assert.MustBeTrue(t, !w.ends[0].ControlDiscarded(), "discarded, with a peer that agreed %v late", late)
		}
		assert.True(t, w.ends[0].ControlPasses(),
			"MAC Control frames do not pass, with a peer that agreed %v late", late)
	}
}

// After a flap to a silent host the note comes again.
func TestFlapIsNotedAgain(t *testing.T) {
	w := measured()
	p := w.ends[0]
	p.SetUp(false, w.now)
	p.SetAgreed(true, false, "", w.now)
	p.Notes()
	p.SetUp(true, w.now)
	w.run(time.Minute)
	if notes := p.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "by hand") {
		t.Errorf("told %q, want one sentence about the headroom that is to be set by hand", notes)
	}
}

// A measurement at one speed does not count at another.
func TestFoundForAnotherLink(t *testing.T) {
	w := measured()
	p := w.ends[0]
	assert.MustBeTrue(t, p.Target() != 0, "nothing was found")
	s := settings(7)
	s.Inputs.Speed *= 10
	p.Configure(s, w.now)
	assert.Equal(t, p.Target(), 0, "at ten times the speed the headroom is still")
	w.run(time.Second)
	assert.True(t, p.Target() != 0, "nothing is found any more")
	p.SetAgreed(true, false, "b", w.now)
	s.Min = 8 * (p.Target() + 1000)
	p.Configure(s, w.now)
	assert.Equal(t, p.Target(), Octets(s.Min), "headroom, want the new least one")
}

// reconfigured returns the settings of an end after a change of its link.
func reconfigured(before Settings, change func(*Inputs)) Settings {
	change(&before.Inputs)
	before.Calculated, before.Max = Calculate(before.Inputs, macctl.ModePFC).Bits(), 0
	return before
}

// A longer cable in the configuration counts at once, though the samples are those of the shorter one. Until new
// samples count, the target is never below the need of the longer cable.
func TestLongerCableByConfiguration(t *testing.T) {
	const short, long = 50 * time.Microsecond, 500 * time.Microsecond
	for _, interval := range []time.Duration{time.Second, 100 * time.Second} {
		for _, lowering := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, lowering %v", interval, lowering), func(t *testing.T) {
				all := [2]Settings{settings(7), settings(8)}
				for i := range all {
					all[i].Interval = interval
					all[i] = reconfigured(all[i], func(in *Inputs) { in.Delay = short })
				}
				w := newWire(all[0], all[1])
				w.delay = [2]int64{int64(short), int64(short)}
				w.agree()
				// what was calculated is more than what is found, and stays for now
				w.run(lowerAfter * interval * 3 / 4)
				if !lowering {
					w.run(2 * lowerAfter * interval)
				}
				p, set := w.ends[0], reconfigured(all[0], func(in *Inputs) { in.Delay = long })
				if has := p.target.bits; lowering != (has == all[0].Calculated) || has >= set.Calculated {
					t.Fatalf("before: %d bits", has)
				}
				w.delay = [2]int64{int64(long), int64(long)}
				p.Configure(set, w.now)
				assert.Equal(t, p.Reason(), "calculated", "reason, want that it was calculated")
				needs := BitsIn(gbit, 2*long) + 2*12_336 + ControlFrameBits + 8*all[1].Inputs.Burst
				until := w.now + lowerAfter*int64(interval)
				for ok := true; ok; ok = w.step(until) {
					if has := p.target.bits; has < needs || has < set.Calculated {
						t.Fatalf("%v after it: %d bits, the link needs %d, and %d are calculated",
							time.Duration(w.now-until)+lowerAfter*interval, has, needs, set.Calculated)
					}
				}
				w.run(2 * interval)
				if has := p.target.bits; has < needs || has >= set.Calculated {
					t.Errorf("in the end %d bits, the link needs %d, and %d are calculated", has, needs, set.Calculated)
				}
			})
		}
	}
}

// bounds are what the target of a Probe may be, in bits, whatever its peer does: the least is what is written, or else
// what IEEE 802.1Q asks for without a cable; the most that of all trips and what the peer's word may add, or a written
// limit. What was in force before may be more.
func bounds(s Settings) (least, most int64) {
	if least = s.Min; least == 0 {
		in := s.Inputs
		in.Delay = 0
		least = max(Delay(in, macctl.ModePFC).Bits(), Eta(in).Bits()) + in.K
	}
	word := s.Max
	word = cmp.Or(word, 4*s.Calculated)
	most = word + BitsIn(s.Inputs.Speed, max(10*time.Millisecond, 4*s.Inputs.Delay)+2*s.Precision)
	if s.Limit > 0 {
		most = s.Limit
	}
	return least, max(least, most, s.Calculated)
}

// However late a peer answers, and whatever it states, the target stays within its bounds.
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
