package headroom

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// agreed returns a Probe whose link is up and whose peer measures too.
func agreed(s Settings) *Probe {
	p := NewProbe(s)
	p.SetUp(true, 1)
	p.SetAgreed(true, true, "b", 1)
	return p
}

// drain fetches all that a Probe has to send, and passes its requests to handle.
func drain(p *Probe, at Moment, handle func(q macctl.MeasurementFrame)) {
	for out, ok := p.Out(at); ok; out, ok = p.Out(at) {
		if out.Operation == macctl.MeasureRequest {
			handle(out)
		}
	}
}

func ignore(macctl.MeasurementFrame) {}

// group returns a message of a peer to the group address.
func group(from [6]byte, m macctl.Measurement) macctl.MeasurementFrame {
	return macctl.MeasurementFrame{Measurement: m, Peer: from, Group: true}
}

// result returns a result message.
func result(from [6]byte, session uint16, sequence uint32, bits uint64) macctl.MeasurementFrame {
	return group(from, macctl.Measurement{Operation: macctl.MeasureResult, Session: session, Sequence: sequence,
		Area: [2]uint64{bits, 0}})
}

// The calculated headroom is in force at first. The peer never lowers it, and own samples do not lower it at once.
func TestTheFirstValueDoesNotLower(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(result(stranger, 1, 1, 1000), 2, Moment{Now: 2})
	assert.Equal(t, p.Target(), Octets(p.set.Calculated), "target after a small result, want the calculated one")
	for i := range uint32(3) {
		later := 20 * int64(i) * int64(p.set.Interval)
		p.Receive(result(stranger, 1, 2+i, 1000), later, Moment{Now: later})
	}
	assert.Equal(t, p.Target(), Octets(p.set.Calculated),
		"target after small results for long, want the calculated one")
	a, b := settings(7), settings(8)
	a.Inputs.Burst, b.Inputs.Burst = 0, 0
	w := newWire(a, b)
	w.agree()
	for range 15 {
		w.run(a.Interval)
		assert.MustEqual(t, w.ends[0].Target(), Octets(a.Calculated), "at %d: target, want the calculated one", w.now)
	}
	w.run(5 * a.Interval)
	got := w.ends[0].Target()
	assert.True(t, got <= Octets(a.Calculated)/2, "after 20 intervals still %d", got)
}

// Intervals in which the link was down do not count towards lowering.
func TestAFlapDoesNotLower(t *testing.T) {
	a, b := settings(7), settings(8)
	a.Inputs.Burst, b.Inputs.Burst = 0, 0
	w := newWire(a, b)
	w.agree()
	w.run(10 * a.Interval)
	for _, up := range []bool{false, true} {
		w.now += int64(time.Minute)
		for _, p := range w.ends {
			p.SetUp(up, w.now)
		}
		w.flying = nil
	}
	w.run(10 * a.Interval)
	assert.Equal(t, w.ends[0].Target(), Octets(a.Calculated), "lowered to")
}

// A request that is sent back states nothing of the peer. Its burst is that of this end until a result states one.
func TestLoopbackBeforeAResult(t *testing.T) {
	a := settings(7)
	a.Flags = macctl.MeasureTwoStamps | macctl.MeasureLoopback
	w := newWire(a, settings(8))
	w.lose = func(_ int, p macctl.MeasurementFrame) bool { return p.Operation == macctl.MeasureResult }
	w.agree()
	w.run(time.Second)
	f := w.report(0).Finding
	assert.True(t, f.Burst == 8*62_500 && f.SendLimit == 0, "before a result: %+v", f)
	w.lose = nil
	w.run(time.Second)
	f = w.report(0).Finding
	assert.True(t, f.Burst == 8*62_500 && f.SendLimit == 8*SendLimit(gbit, tagged), "after it: %+v", f)
}

// Only results of the station that answers count.
func TestResultOfAStranger(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	p := w.ends[0]
	p.Receive(result(stranger, 99, 1<<31, maxHeadroomBits), w.now, w.moment(0))
	assert.MustEqual(t, p.Target(), Octets(4*p.set.Calculated), "before the first answer")
	w.lose = func(from int, p macctl.MeasurementFrame) bool {
		return from == 1 && p.Operation == macctl.MeasureResult
	}
	w.run(4 * time.Second)
	got := p.Target()
	assert.True(t, got <= Octets(p.set.Calculated), "the stranger's result still counts: %d", got)
	w.lose = nil
	w.run(time.Second)
	found := p.Target()
	assert.True(t, w.report(1).ResultAcked, "the peer's result was not heard")
	p.Receive(result(stranger, 99, 1<<31, maxHeadroomBits), w.now, w.moment(0))
	assert.True(t, p.Target() == found && p.count.Ignored[IgnoredStranger] == 1, "target %d, was %d; ignored %v",
		p.Target(), found, p.count.Ignored)
}

// A message counts only from this very link: from the neighbour that LLDP names, a request or result at the group
// address, a result of the session of the neighbour's requests.
func TestOnlyTheLinkCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		forge func(m *macctl.MeasurementFrame)
		want  Ignored
	}{
		"to the port's own address": {func(m *macctl.MeasurementFrame) { m.Group = false }, IgnoredUnasked},
		"of another session":        {func(m *macctl.MeasurementFrame) { m.Session++ }, IgnoredStranger},
		"of another station":        {func(m *macctl.MeasurementFrame) { m.Peer = stranger }, IgnoredStranger},
		"a request of another station": {func(m *macctl.MeasurementFrame) {
			m.Operation, m.Peer = macctl.MeasureRequest, stranger
		}, IgnoredStranger},
		"an answer to nothing": {func(m *macctl.MeasurementFrame) {
			m.Operation, m.Group = macctl.MeasureAnswer, false
		}, IgnoredUnasked},
	} {
		w := newWire(settings(7), settings(8))
		w.lose = func(from int, p macctl.MeasurementFrame) bool {
			return from == 1 && p.Operation == macctl.MeasureResult
		}
		w.ends[0].SetNeighbour(w.address[1], w.now)
		w.agree()
		w.run(time.Second)
		p := w.ends[0]
		found, replies := p.Target(), p.count.Replies
		m := result(w.address[1], 8, 1, maxHeadroomBits)
		tt.forge(&m)
		p.Receive(m, w.now, w.moment(0))
		drain(p, w.moment(0), ignore)
		assert.True(t, p.Target() == found && p.count.Replies == replies && p.count.Ignored[tt.want] == 1,
			"%s: target %d, was %d; ignored %v", name, p.Target(), found, p.count.Ignored)
		p.Receive(result(w.address[1], 8, 1, maxHeadroomBits), w.now, w.moment(0))
		assert.True(t, p.Target() > found, "%s: after it the neighbour's own result does not count", name)
	}
}

// Nobody far away can guess what an answer must repeat: sessions and sequences begin at random.
func TestSequenceBeginsWhereItIsTold(t *testing.T) {
	s := settings(7)
	s.Sequence = 1<<32 - 2 // the count goes on beyond the largest number
	w := newWire(s, settings(8))
	w.agree()
	w.run(time.Second)
	assert.Equal(t, w.sent[0].Sequence, 1<<32-1, "the first request has number")
	r := w.report(0)
	assert.True(t, r.Measured != nil && r.ResultAcked && ignored(r)+ignored(w.report(1)) == 0, "%+v", r.Counters)
}

// Another neighbour on the link is measured anew.
func TestAnotherNeighbour(t *testing.T) {
	w := measured()
	p := w.ends[0]
	p.SetNeighbour(stranger, w.now)
	assert.True(t, p.Found() == 0 && p.Target() != 0, "measured %d, target %d", p.Found(), p.Target())
	w.address[1] = stranger
	w.run(time.Second)
	p.apply(p.Target())
	assert.True(t, p.Found() != 0 && w.report(0).ResultAcked, "the new neighbour was not measured")
}

// A forged result with the peer's address counts for some minutes. Then the peer's own result counts again.
func TestForgedResultIsForgotten(t *testing.T) {
	w := measured()
	p, found := w.ends[0], w.ends[0].Target()
	p.Receive(result(w.address[1], 8, w.ends[1].results.sequence+resultJump+1, maxHeadroomBits), w.now, w.moment(0))
	assert.True(t, p.Target() == found && p.count.Ignored[IgnoredProportion] == 1,
		"far ahead: target %d, was %d; ignored %v", p.Target(), found, p.count.Ignored)
	p.Receive(result(w.address[1], 8, w.ends[1].results.sequence+resultJump, maxHeadroomBits), w.now, w.moment(0))
	assert.MustEqual(t, p.Target(), Octets(4*p.set.Calculated), "target")
	w.run(time.Duration(resultLife) + 40*p.set.Interval)
	got := p.Target()
	assert.True(t, got <= found && got >= found*9/10 && p.results.peer.Area[0] != maxHeadroomBits && p.results.received,
		"target %d, was %d; peer %+v", got, found, p.results.peer)
}

// A result that the peer repeats does not expire.
func TestResultsAreRepeated(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(2 * time.Duration(resultLife))
	for i := range w.ends {
		if r := w.report(i); r.PeerFound == 0 || !r.ResultAcked || ignored(r) != 0 {
			t.Errorf("end %d: peer found %d, told %v, ignored %v", i, r.PeerFound, r.ResultAcked, r.Counters.Ignored)
		}
	}
}

// 100 km of cable that is not configured fit, at every speed and with a small burst. So they do with a peer that
// answers late, and with four stamps and two.
func TestBoundLeavesRoom(t *testing.T) {
	for _, speed := range []int64{0, 1e8, 1e9, 1e10} {
		for _, burst := range []int64{4096, DefaultBurst(speed, tagged)} {
			for _, flags := range []uint8{0, macctl.MeasureTwoStamps} {
				a := settings(7)
				in := Inputs{Speed: speed, MaxFrame: tagged, Burst: burst}
				a.Inputs, a.Calculated, a.Flags = in, Calculate(in, macctl.ModePFC).Bits(), flags
				b := a
				b.Session = 8
				w := newWire(a, b)
				w.delay, w.turn = [2]int64{500_000, 500_000}, 200_000
				w.agree()
				w.run(3 * time.Second)
				r := w.report(0)
				if ignored(r) != 0 || r.Target < r.Measured.Bits() || r.Wire() < BitsIn(speed, time.Millisecond) {
					t.Errorf("%d bit/s, burst %d, flags %d: measured %d, of which %d on the way, target %d, ignored %v",
						speed, burst, flags, r.Measured.Bits(), r.Wire(), r.Target, r.Counters.Ignored)
				}
				if notes := strings.Join(w.ends[0].Notes(), "\n"); strings.Contains(notes, "headroom.max") {
					t.Errorf("%d bit/s, burst %d: told %q", speed, burst, notes)
				}
			}
		}
	}
}

// The calculated headroom bounds only what rests on the peer's word: its reaction without a send limit, its burst, the
// precision of its clock, and its result.
func TestThePeersWordIsBounded(t *testing.T) {
	for name, lie := range map[string]func(a *macctl.MeasurementFrame){
		"reaction":  func(a *macctl.MeasurementFrame) { a.Reaction, a.SendLimit = 1e9, 0 },
		"burst":     func(a *macctl.MeasurementFrame) { a.Burst = 1<<32 - 1 },
		"precision": func(a *macctl.MeasurementFrame) { a.Precision, a.Burst = 1e6, 1e7 },
	} {
		p, q, now := asking(t, 0)
		for range settleSamples {
			a := replied(q)
			lie(&a)
			p.Receive(a, now+5_002_000, Moment{Now: now + 5_002_000})
			now = max(p.nextRequest, now+6_000_000)
			q, _ = p.Out(Moment{Now: now})
		}
		p.updateTarget(now + growthPeriod)
		want := p.set.Inputs.WireBits(Finding{RoundTrip: 5*time.Millisecond + 2, Precision: p.set.Precision}) +
			4*p.set.Calculated
		if got := p.target.bits; got != want || p.count.Ignored != [NumIgnored]uint64{} {
			t.Errorf("%s: target %d, want %d; ignored %v", name, got, want, p.count.Ignored)
		}
		notes := strings.Join(p.Notes(), "\n")
		assert.True(t, strings.Count(notes, fmt.Sprintf("headroom.max leaves %d B", Octets(want))) == 1,
			"%s: told %q", name, notes)
	}
}

// A peer that claims no round trip, a send limit of a bit and no burst gets no less than IEEE 802.1Q asks for, and K.
func TestLiesDoNotLowerBelowTheFloor(t *testing.T) {
	for speed, want := range map[int64]int64{ // bits
		1e8:  2*12_336 + 672 + 512,
		1e9:  2*12_336 + 672 + 1024,
		1e10: 2*12_336 + 672 + 30_720,
		0:    2*(65_550+24)*8 + 672 + 30_720,
	} {
		s := settings(7)
		s.Inputs.Speed, s.Inputs.Delay, s.Inputs.K, s.Precision = speed, time.Millisecond, 800, 0
		want += s.Inputs.K
		s.Calculated = Calculate(s.Inputs, macctl.ModePFC).Bits()
		p, now := agreed(s), int64(1)
		for range 100 * perInterval {
			if q, _ := p.Out(Moment{Now: now}); q.Operation == macctl.MeasureRequest {
				a := replied(q)
				a.Area, a.SendLimit, a.Burst, a.Reaction, a.Precision = [2]uint64{0, 100}, 1, 0, 0, 0
				p.Receive(a, now+100, Moment{Now: now + 100})
			}
			now = max(now+1, p.nextRequest)
		}
		assert.True(t,
			p.measuredNeed() < want && p.target.bits == want && p.Reason() == "less has been enough for 16 intervals",
			"%d bit/s: found %d, wanted %d: %s; want %d", speed, p.measuredNeed(), p.target.bits, p.Reason(), want)
		s.Min = 1 // a person may have less
		p.Configure(s, now)
		p.updateTarget(now + lowerAfter*int64(s.Interval))
		assert.True(t, p.target.bits == p.measuredNeed(),
			"%d bit/s: with less allowed %d are wanted", speed, p.target.bits)
	}
}

// A send limit below a frame lowers nothing.
func TestSendLimitOfABit(t *testing.T) {
	p, q, now := asking(t, 0)
	for range settleSamples {
		a := replied(q)
		a.SendLimit, a.Area = 1, [2]uint64{5000, 25_000}
		p.Receive(a, now+40_000, Moment{Now: now + 40_000})
		now = p.nextRequest
		q, _ = p.Out(Moment{Now: now})
	}
	r := p.Report(now)
	assert.Equal(t, r.Reaction(), p.set.Inputs.frameBits(), "reaction in bits, want a frame")
	c := p.set.Inputs.parametersOf(&macctl.Measurement{SendLimit: 0})
	assert.Equal(t, c.sendLimit, 0, "not stated")
}

// The worst of the newest claims counts. Older claims do not.
func TestClaimWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w parameterWindow
		var all []peerParameters
		draw := rapid.Custom(func(t *rapid.T) peerParameters {
			return peerParameters{time.Duration(rapid.IntRange(0, 9).Draw(t, "precision")),
				time.Duration(rapid.IntRange(0, 9).Draw(t, "reaction")),
				rapid.Int64Range(0, 9).Draw(t, "limit"), rapid.Int64Range(0, 9).Draw(t, "burst")}
		})
		for range rapid.IntRange(1, 20).Draw(t, "runs") {
			c := draw.Draw(t, "claims")
			for range rapid.IntRange(1, windowSamples/2).Draw(t, "times") {
				all = append(all, c)
				w.add(c)
			}
		}
		least, most := all[len(all)-1], all[len(all)-1]
		for _, c := range all[max(0, len(all)-windowSamples/2):] {
			least = least.worst(c)
		}
		for _, c := range all[max(0, len(all)-windowSamples):] {
			most = most.worst(c)
		}
		got := w.worst()
		assert.MustBeTrue(t, got.worst(least) == got && got.worst(most) == most,
			"got %+v, want between %+v and %+v", got, least, most)
	})
}

// A neighbour with a new name is still measured, without a note.
func TestRename(t *testing.T) {
	w := measured()
	p := w.ends[0]
	p.Notes()
	samples := w.report(0).RoundTrips.Samples
	for i := range 100 {
		p.SetAgreed(true, true, strings.Repeat("b", 1+i%7), w.now)
	}
	if r := w.report(0); r.RoundTrips.Samples != samples || r.Neighbour != "bb" {
		t.Errorf("%d samples, were %d; neighbour %q", r.RoundTrips.Samples, samples, r.Neighbour)
	}
	notes := p.Notes()
	assert.True(t, notes == nil, "told %q", notes)
}

// A peer that changes its mind all the time does not fill the log.
func TestNotesAreFew(t *testing.T) {
	p, told := NewProbe(settings(7)), 0
	p.SetUp(true, 1)
	const seconds = 1000
	for i := range int64(seconds) {
		p.SetAgreed(true, i%2 == 0, "b", i*int64(time.Second))
		told += len(p.Notes())
	}
	most := maxNotes + seconds/10 + 1
	assert.True(t, told <= most && told >= maxNotes, "told %d times in %d s, want at most %d", told, seconds, most)
}
