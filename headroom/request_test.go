package headroom

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// answerAll answers every request of a Probe for so many requests, each time with what spoil makes of a sound answer.
func answerAll(p *Probe, now int64, requests int, spoil func(a *macctl.MeasurementFrame, at *Moment)) (fallback int,
	after int64) {
	for range requests {
		now = max(now+1, p.nextRequest)
		drain(p, Moment{Now: now}, func(q macctl.MeasurementFrame) {
			if q.Fallback {
				fallback++
			}
			a, at := replied(q), Moment{Now: now + 40_000}
			spoil(&a, &at)
			p.Receive(a, now+40_000, at)
		})
	}
	return fallback, now
}

// passTime makes a Probe send for d, without a peer.
func passTime(p *Probe, from int64, d time.Duration) (now int64) {
	for now = from; now < from+int64(d); now = max(now+1, p.Next()) {
		drain(p, Moment{Now: now}, ignore)
	}
	return now
}

// A forged result raises the headroom of an end without a peer for some minutes, and not for ever.
func TestForgedResultWithoutAnswers(t *testing.T) {
	// a peer that answers once and then never is as good as none
	for _, answers := range []int{0, 1, settleSamples - 1} {
		p := agreed(settings(7))
		now := int64(1)
		for range answers {
			q, _ := p.Out(Moment{Now: now})
			p.Receive(replied(q), now+40_000, Moment{Now: now + 40_000})
			now = p.nextRequest
		}
		p.Receive(result(stranger, 99, 1<<31, maxHeadroomBits), now, Moment{Now: now})
		calculated := Octets(p.set.Calculated)
		assert.MustEqual(t, p.Target(), Octets(4*p.set.Calculated), "%d answers: after the result", answers)
		now = passTime(p, now, time.Duration(resultLife)-time.Second)
		assert.Equal(t, p.Target(), Octets(4*p.set.Calculated), "%d answers: while it counts", answers)
		now = passTime(p, now, 2*time.Second+lowerAfter*p.set.Interval)
		assert.Equal(t, p.Target(), calculated, "%d answers: target in the end, want the calculated one", answers)
		if r := p.Report(now); r.Received != 0 || r.PeerFound != 0 {
			t.Errorf("%d answers: still told: %d, %d", answers, r.Received, r.PeerFound)
		}
	}
}

// Repeats of another result do not prolong a forged one.
func TestForgedResultBeforeRepeatedOnes(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result(stranger, 99, 1, maxHeadroomBits), 1, Moment{Now: 1})
	now, small := int64(2), uint64(p.set.Calculated/2)
	for range 3 + lowerAfter*int(p.set.Interval)/int(time.Minute) {
		p.Receive(result([6]byte{2, 0, 0, 0, 0, 8}, 5, 1, small), now, Moment{Now: now})
		now = passTime(p, now, time.Minute)
	}
	assert.Equal(t, p.Target(), Octets(p.set.Calculated), "target, want the calculated one")
}

// One answer of the peer ends the results of other stations, and what followed from them.
func TestForgedResultBeforeTheOnlyAnswer(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result([6]byte{2, 0, 0, 0, 0, 8}, 99, 1, maxHeadroomBits), 1, Moment{Now: 1})
	p.acknowledge()
	q, _ := p.Out(Moment{Now: 2})
	p.Receive(replied(q), 40_000, Moment{Now: 40_000})
	passTime(p, 40_000, (lowerAfter+1)*p.set.Interval)
	assert.Equal(t, p.Target(), Octets(p.set.Calculated), "target, want the calculated one")
}

// A measurement before a flap does not rest on the peer's word: an expired result leaves it.
func TestForgottenResultLeavesWhatWasFound(t *testing.T) {
	a := settings(7)
	a.Inputs.Burst = 0
	w := newWire(a, settings(8))
	w.delay = [2]int64{300_000, 300_000}
	w.agree()
	w.run(10 * time.Second)
	p := w.ends[0]
	found := p.target.bits
	assert.MustBeTrue(t, found > p.set.Calculated,
		"found %d bits, no more than the calculated %d", found, p.set.Calculated)
	p.SetUp(false, w.now)
	p.SetUp(true, w.now)
	p.Receive(result(stranger, 99, 1, uint64(2*found)), w.now, w.moment(0))
	assert.Equal(t, p.target.bits, 2*found, "raised to")
	passTime(p, w.now, time.Duration(resultLife)+(lowerAfter+1)*p.set.Interval)
	assert.Equal(t, p.target.bits, found, "bits in the end, want those that were found")
}

// A value in force while this end measured is proven, with the peer's part. An expired result does not lower it, also
// after a flap to a silent peer.
func TestForgottenResultLeavesWhatWasInForce(t *testing.T) {
	w := measured()
	p := w.ends[0]
	p.Receive(result(w.address[1], 8, w.ends[1].results.sequence+1, uint64(2*p.set.Calculated)), w.now, w.moment(0))
	assert.MustEqual(t, p.target.bits, 2*p.set.Calculated, "raised to")
	p.SetUp(false, w.now)
	p.SetUp(true, w.now)
	p.Receive(result(w.address[1], 8, 99, 1000), w.now, w.moment(0))
	passTime(p, w.now, time.Duration(resultLife)+(lowerAfter+1)*p.set.Interval)
	assert.Equal(t, p.target.bits, 2*p.set.Calculated, "bits in the end, want those from before")
}

// A headroom that the peer's word has raised stays while nothing is measured, whatever is configured meanwhile.
func TestRaisedStaysWithoutAgreement(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result(stranger, 99, 1, maxHeadroomBits), 1, Moment{Now: 1})
	raised := p.Target()
	p.SetAgreed(true, false, "", 2)
	s := p.set
	for i := range int64(3) {
		p.Configure(s, i*int64(time.Hour))
	}
	got := p.Target()
	assert.True(t, got == raised, "%d, was %d", got, raised)
}

// A peer that delays its answers looks like a long link, up to longestRoundTrip and the configured size.
func TestOwnHeadroomIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int64 // octets
		back  time.Duration
		cable time.Duration
		far   bool
	}{
		{"1,000 km", 0, 10*time.Millisecond - 30*time.Microsecond, 0, false},
		{"a little more", 0, 10 * time.Millisecond, 0, true},
		{"as late as answers may be", 0, 900 * time.Millisecond, 0, true},
		{"longer cable that is written", 0, 19 * time.Millisecond, 5 * time.Millisecond, false},
		{"longer than that", 0, 20 * time.Millisecond, 5 * time.Millisecond, true},
		{"a size", 100_000, 9 * time.Millisecond, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := settings(7)
			a.Limit, a.Interval, a.Inputs.Delay = 8*tt.limit, time.Second, tt.cable
			w := newWire(a, settings(8))
			w.delay[1] = int64(tt.back)
			w.agree()
			w.run(20 * time.Second)
			p, r := w.ends[0], w.report(0)
			notes := strings.Join(p.Notes(), "\n")
			if tt.far {
				assert.True(t, r.Measured == nil && !r.PeerSilent && r.Counters.Answered == 0 &&
					r.Counters.Ignored[IgnoredProportion] >= 100, "measured %v, silent %v, answered %d, ignored %v",
					r.Measured, r.PeerSilent, r.Counters.Answered, r.Counters.Ignored)
				in := a.Inputs
				in.Delay = (time.Duration(w.delay[0]+w.delay[1]) + 1) / 2
				size := Octets(Calculate(in, macctl.ModePFC).Bits()) // by hand, for a cable as long
				const told = "are believed: where it is that long, set the headroom of this port by hand: " +
					"ports.p1.priorities.3.headroom: "
				var noted int64
				n, err := fmt.Sscan(notes[strings.LastIndex(notes, " ")+1:], &noted)
				assert.True(t, n == 1 && strings.Count(notes, told) == 1, "notes %q: %v", notes, err)
				looks := Octets(BitsIn(gbit, 2*time.Duration(w.turn))) // at other frames, before those that come back
				least, most := a.Packing.Bytes(size), a.Packing.Bytes(size+looks)
				assert.True(t, r.ManualRequired && min(noted, r.ManualBytes) >= least &&
					max(noted, r.ManualBytes) <= most, "by hand %v, %d B, told %d, want %d to %d", r.ManualRequired,
					r.ManualBytes, noted, least, most)
				w.delay[1] = int64(tt.back / 100)
				w.run(2 * time.Second)
				if r := w.report(0); r.ManualRequired || r.Measured == nil {
					t.Errorf("near again: by hand %v, measured %v", r.ManualRequired, r.Measured)
				}
				return
			}
			want := r.Measured.Bits()
			if tt.limit > 0 {
				want = 8 * tt.limit
			}
			if r.Target != want || r.Counters.Ignored[IgnoredProportion] != 0 || r.Wire() < BitsIn(gbit, tt.back) {
				t.Errorf("target %d, want %d; ignored %v; on the way %d", r.Target, want, r.Counters.Ignored, r.Wire())
			}
			n := strings.Count(notes, "headroom.max leaves 100000 B")
			assert.True(t, (n == 1) == (tt.limit > 0) && n <= 1, "told %d times", n)
			assert.True(t, !r.ManualRequired, "by hand, though it is measured")
		})
	}
}

// A thousandth of the turnaround counts in the round trip, and against its limit.
func TestFarWithTheTurnAround(t *testing.T) {
	for _, tt := range []struct{ whole, turn time.Duration }{{10 * time.Millisecond, 0},
		{210 * time.Millisecond, 200*time.Millisecond + 200_200}} {
		for late, want := range []uint64{0, 1} {
			p, q, now := asking(t, 0)
			a := replied(q)
			a.Area = [2]uint64{0, uint64(tt.turn)}
			back := now + int64(tt.whole) + int64(late)
			p.Receive(a, back, Moment{Now: back})
			assert.Equal(t, p.count.Ignored[IgnoredProportion], want, "%v, of which %v at the peer, and %d ns: ignored",
				tt.whole, tt.turn, late)
		}
	}
}

// One late answer causes no note, and leaves the headroom.
func TestOneFarAnswer(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(10 * time.Second)
	found := w.ends[0].Target()
	for range 3 * manyInARow {
		w.delay[1] = 10_000_000
		w.run(12 * time.Millisecond)
		w.delay[1] = 20_000
		w.run(100 * time.Millisecond)
	}
	if r, notes := w.report(0), strings.Join(w.ends[0].Notes(), "\n"); strings.Contains(notes, "are believed") ||
		r.Counters.Ignored[IgnoredProportion] == 0 || w.ends[0].Target() != found {
		t.Errorf("target %d, was %d; ignored %v; told %q", w.ends[0].Target(), found, r.Counters.Ignored, notes)
	}
}

// With two stamps a late peer looks far away, and the note says so.
func TestFarByTwoStamps(t *testing.T) {
	const way, late = 40 * time.Microsecond, 50 * time.Millisecond
	const told = "the way to neighbour b and back, with how long it keeps a question, which only headroom.stamps: 4 " +
		"tells apart, takes 50.04ms, and no more than 10ms are believed"
	for _, flags := range []uint8{0, macctl.MeasureTwoStamps, macctl.MeasureTwoStamps | macctl.MeasureLoopback} {
		s := settings(7)
		s.Flags = flags
		p := agreed(s)
		for range manyInARow {
			asked := p.nextRequest
			q, ok := p.Out(Moment{Now: asked})
			for ; ok && q.Operation != macctl.MeasureRequest; q, ok = p.Out(Moment{Now: asked}) {
			}
			a := q
			a.Peer = stranger
			switch {
			case flags == 0:
				a.Operation, a.Area = macctl.MeasureAnswer, [2]uint64{5000, 5000 + uint64(late)}
			case flags&macctl.MeasureLoopback == 0:
				a.Operation = macctl.MeasureAnswer
			}
			back := asked + int64(way+late)
			p.Receive(a, back, Moment{Now: back})
			p.nextRequest = max(p.nextRequest, back)
		}
		notes := strings.Join(p.Notes(), "\n")
		if far := strings.Contains(notes, "are believed"); far != (flags != 0) || far != strings.Contains(notes, told) {
			t.Errorf("flags %d: %q\nwant that only two stamps tell of %q", flags, notes, told)
		}
	}
}
