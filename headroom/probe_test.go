package headroom

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

var stranger = [6]byte{2, 0, 0, 0, 0, 9}

// asking returns a Probe that has just asked, its request, and the time.
func asking(t *testing.T, flags uint8) (*Probe, macctl.MeasurementFrame, int64) {
	t.Helper()
	s := settings(7)
	s.Flags = flags
	p, now := NewProbe(s), int64(1_000_000_000)
	p.SetUp(true, now)
	p.SetAgreed(true, true, "b", now)
	q, ok := p.Out(Moment{Now: now})
	assert.MustBeTrue(t, ok && q.Operation == macctl.MeasureRequest, "Out\n got %+v, %v\nwant a request", q, ok)
	return p, q, now
}

// replied returns the answer that a sound peer would give.
func replied(q macctl.MeasurementFrame) macctl.MeasurementFrame {
	a := q
	a.Peer, a.Operation, a.Area = stranger, macctl.MeasureAnswer, [2]uint64{5000, 7000}
	return a
}

// Forged and altered answers do not hide that a peer is silent. A peer whose answers cannot be used is not silent: no
// fallback requests follow, and one note says why the answers are ignored.
func TestForgedAnswersAreIgnored(t *testing.T) {
	const rtt = 40_000
	tests := []struct {
		name  string
		flags uint8
		forge func(a *macctl.MeasurementFrame, at *Moment)
		want  Ignored
	}{
		{"another session", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Session++ }, IgnoredUnasked},
		{"another sequence", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Sequence++ }, IgnoredUnasked},
		{"sixteen sequences later", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Sequence += maxOpenRequests },
			IgnoredUnasked},
		{"too late", 0, func(_ *macctl.MeasurementFrame, at *Moment) { at.Now += int64(2 * time.Second) },
			IgnoredUnasked},
		{"to everybody", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Group = true }, IgnoredAltered},
		{"other flags", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Flags = macctl.MeasureTwoStamps },
			IgnoredAltered},
		{"the other EtherType", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Fallback = !a.Fallback },
			IgnoredAltered},
		{"a reflection that was not asked for", 0,
			func(a *macctl.MeasurementFrame, _ *Moment) { a.Operation = macctl.MeasureRequest }, IgnoredAltered},
		{"an answer where a reflection was asked for", macctl.MeasureTwoStamps | macctl.MeasureLoopback,
			func(*macctl.MeasurementFrame, *Moment) {}, IgnoredAltered},
		{"another t1", macctl.MeasureTwoStamps, func(a *macctl.MeasurementFrame, _ *Moment) { a.Area[0] = 1 },
			IgnoredAltered},
		{"t3 before t2", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Area[1] = 4999 }, IgnoredBackwards},
		{"longer at the peer than on the way", 0,
			func(a *macctl.MeasurementFrame, _ *Moment) { a.Area[1] = 5000 + rtt + 1 }, IgnoredProportion},
		{"the largest turn-around", 0,
			func(a *macctl.MeasurementFrame, _ *Moment) { a.Area = [2]uint64{0, math.MaxUint64} }, IgnoredProportion},
		{"a clock of 2 ms", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Precision = 2_000_000 },
			IgnoredProportion},
		{"a reaction of 2 s", 0, func(a *macctl.MeasurementFrame, _ *Moment) { a.Reaction = 2_000_000_000 },
			IgnoredProportion},
		{"other flags, and the clock was set", 0, func(a *macctl.MeasurementFrame, at *Moment) {
			a.Flags, at.Clock = macctl.MeasureTwoStamps, 31
		}, IgnoredAltered},
		{"the clock was set", 0, func(_ *macctl.MeasurementFrame, at *Moment) { at.Clock += 1_000_000 }, IgnoredClock},
		{"the clocks disagree by a little more than stamps may", 0,
			func(_ *macctl.MeasurementFrame, at *Moment) { at.Clock -= 31 }, IgnoredClock},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, q, now := asking(t, tt.flags)
			a, at := replied(q), Moment{Now: now + rtt}
			tt.forge(&a, &at)
			p.Receive(a, now+rtt, at)
			assert.True(t, p.count.Ignored[tt.want] == 1 && p.count.Answered == 0,
				"ignored %v, answered %d\nwant %v", p.count.Ignored, p.count.Answered, tt.want)
			if tt.flags != 0 {
				return
			}
			p = agreed(settings(7))
			p.Notes()
			fallback, now := answerAll(p, 2, 4*manyInARow, tt.forge)
			r, notes := p.Report(now), strings.Join(p.Notes(), "\n")
			forged := tt.want == IgnoredUnasked || tt.want == IgnoredAltered
			assert.True(t, r.PeerSilent == forged && (fallback > 0) == forged && (r.Counters.Lost > 0) == forged &&
				r.Counters.Answered == 0, "silent %v, %d fallback requests, answered %d, lost %d", r.PeerSilent,
				fallback, r.Counters.Answered, r.Counters.Lost)
			silent := strings.Count(notes, "does not answer")
			unusable := strings.Count(notes, `could not be used, the newest being ignored as "`+tt.want.String()+`"`)
			assert.True(t, silent+unusable == 1 && (silent == 1) == forged, "notes %q", notes)
		})
	}
}

func TestAnswerCountsOnce(t *testing.T) {
	p, q, now := asking(t, 0)
	for range 3 {
		p.Receive(replied(q), now+40_000, Moment{Now: now + 50_000})
	}
	assert.True(t, p.count.Answered == 1 && p.count.Ignored[IgnoredUnasked] == 2,
		"answered %d, ignored %v\nwant one, and two unasked", p.count.Answered, p.count.Ignored)
	assert.Equal(t, p.estimate.trips.quantile(1), 38_000, "trip, want 40 µs on the way less 2 at the peer")
}

func TestStamped(t *testing.T) {
	p, q, now := asking(t, 0)
	p.Stamped(q.Session, q.Sequence, now-5, Moment{Now: now + 30_000}) // before the question was made: not believed
	p.Stamped(q.Session, q.Sequence, now+10_000, Moment{Now: now + 30_000})
	p.Stamped(q.Session, q.Sequence+1, now+20_000, Moment{Now: now + 30_000})
	p.Stamped(q.Session+1, q.Sequence, now+20_000, Moment{Now: now + 30_000}) // the peer's, sent back
	p.Receive(replied(q), now+40_000, Moment{Now: now + 40_000})
	assert.Equal(t, p.estimate.trips.quantile(1), 28_000, "trip")
}

// A stamp after the answer came would make the trip negative.
func TestStampAfterTheAnswer(t *testing.T) {
	p, q, now := asking(t, macctl.MeasureTwoStamps)
	p.Stamped(q.Session, q.Sequence, now+50_000, Moment{Now: now + 30_000})
	a := replied(q)
	a.Area = q.Area
	p.Receive(a, now+40_000, Moment{Now: now + 60_000})
	assert.True(t, p.count.Ignored[IgnoredBackwards] == 1, "ignored %v\nwant one backwards", p.count.Ignored)
}

func TestNothingWithoutAgreement(t *testing.T) {
	p := NewProbe(settings(7))
	p.SetUp(true, 1)
	request := group(stranger, macctl.Measurement{Operation: macctl.MeasureRequest, Session: 1})
	p.Receive(request, 5, Moment{Now: 5})
	_, ok := p.Out(Moment{Now: 10})
	assert.True(t, !ok, "something is sent")
	assert.True(t, p.count.Ignored[IgnoredNotAgreed] == 1, "ignored %v\nwant one not agreed", p.count.Ignored)
}

func TestManualRequired(t *testing.T) {
	const second = int64(time.Second)
	s := settings(7)
	p := NewProbe(s)
	p.SetInForce(12_345)
	expect := func(what string, now int64, required bool, notes ...string) {
		t.Helper()
		_, _ = p.Out(Moment{Now: now})
		got := p.Notes()
		assert.True(t, p.ManualRequired(now) == required,
			"%s: ManualRequired\n got %v\nwant %v", what, !required, required)
		assert.MustBeTrue(t, len(got) == len(notes), "%s: notes\n got %q\nwant %q", what, got, notes)
		for i := range notes {
			assert.Contains(t, got[i], notes[i], "%s: note", what)
		}
	}
	expect("link down", second, false)
	p.SetUp(true, 2*second)
	assert.Equal(t, p.Next(), 12*second, "Next: then somebody has to be told")
	p.SetAgreed(true, false, "", 3*second)
	expect("nobody has spoken yet", 3*second, false)
	expect("nobody speaks", 12*second, true, "no neighbour has said over LLDP that it measures headroom")
	expect("said once", 13*second, true)
	p.SetAgreed(true, false, "old-switch", 14*second)
	expect("a neighbour without the bit", 14*second, true,
		"neighbour old-switch does not measure headroom: the 12345 B of the buffer in force stay")
	p.SetAgreed(true, true, "old-switch", 15*second)
	expect("upgraded", 15*second, false, "neighbour old-switch measures headroom too")
	p.SetAgreed(true, false, "", 16*second)
	expect("gone", 16*second, true,
		"no neighbour has said over LLDP that it measures headroom: the 12345 B of the buffer in force stay")
	p.SetAgreed(false, true, "old-switch", 16*second)
	expect("back, and this end says nothing", 16*second, true,
		"this end does not tell its neighbour that it measures headroom, since its LLDP agent, DCBX or the bit "+
			"for that is off")
	p.SetAgreed(true, false, "old-switch", 16*second)
	expect("this end speaks, and the neighbour says nothing", 16*second, true,
		"neighbour old-switch does not measure headroom")
	s.Auto = false
	p.Configure(s, 17*second)
	expect("set by hand", 17*second, false)
}

// When the agreement ends, nothing is sent and what was found stays in force.
func TestAgreementEnds(t *testing.T) {
	w := measured()
	found := w.ends[0].Target()
	w.ends[0].SetAgreed(true, false, "", w.now)
	before := len(w.sent)
	w.run(10 * time.Second)
	assert.True(t, len(w.sent) == before, "%d messages after the agreement ended", len(w.sent)-before)
	assert.True(t, w.ends[0].Target() == found && found != 0, "Target\n got %d\nwant %d", w.ends[0].Target(), found)
}

// A peer that answers for a while and then never leaves the headroom as it is, and is reported.
func TestPeerFallsSilent(t *testing.T) {
	w := measured()
	found := w.ends[0].Target()
	w.lose = func(from int, p macctl.MeasurementFrame) bool { return from == 1 }
	w.run(10 * time.Second)
	r := w.report(0)
	assert.True(t, r.PeerSilent && r.Counters.Lost != 0 && w.ends[0].Target() == found && !r.ControlDiscarded,
		"silent %v, lost %d, target %d, discarded %v\nwant silent, and %d as before", r.PeerSilent, r.Counters.Lost,
		w.ends[0].Target(), r.ControlDiscarded, found)
	notes := strings.Join(w.ends[0].Notes(), "\n")
	assert.True(t, strings.Count(notes, "does not answer") == 1,
		"notes\n got %q\nwant one about a peer that does not answer", notes)
}

// The fallback finds a link that discards MAC Control frames, and measures it.
func TestControlFramesDiscarded(t *testing.T) {
	for _, from := range []int{0, 1} {
		w := newWire(settings(7), settings(8))
		w.lose = func(end int, p macctl.MeasurementFrame) bool { return end == from && !p.Fallback }
		w.agree()
		w.run(5 * time.Second)
		r := w.report(0)
		assert.True(t, r.ControlDiscarded && !r.ControlPasses && !r.PeerSilent && r.Measured != nil,
			"lost from end %d: discarded %v, passes %v, silent %v\nwant discarded, and measured", from,
			r.ControlDiscarded, r.ControlPasses, r.PeerSilent)
		w.lose = nil
		w.run(time.Second)
		if r := w.report(0); r.ControlDiscarded || !r.ControlPasses {
			t.Errorf("they pass again: discarded %v, passes %v", r.ControlDiscarded, r.ControlPasses)
		}
	}
	w := measured()
	if r := w.report(0); !r.ControlPasses || r.ControlDiscarded {
		t.Errorf("a sound link: passes %v, discarded %v", r.ControlPasses, r.ControlDiscarded)
	}
}

func TestResultsAreBounded(t *testing.T) {
	s := settings(7)
	s.Max, s.Calculated = 4_000_000, 1000
	tests := []struct {
		name string
		m    macctl.Measurement
		want int64 // 0: ignored
	}{
		{"a value", macctl.Measurement{Area: [2]uint64{2_000_000, 1000}}, 2_000_000},
		{"more than may be", macctl.Measurement{Area: [2]uint64{maxHeadroomBits, 1000}}, 4_000_000},
		{"more than any buffer", macctl.Measurement{Area: [2]uint64{maxHeadroomBits + 1, 1000}}, 0},
		{"out of all proportion", macctl.Measurement{Area: [2]uint64{math.MaxUint64, math.MaxUint64}}, 0},
		{"too much in its parts", macctl.Measurement{Area: [2]uint64{1_000_000, 1000}, Burst: math.MaxUint32},
			4_000_000},
		{"parts that mean more here",
			macctl.Measurement{Area: [2]uint64{1000, 1000}, Reaction: 1_000_000, SendLimit: 50_000, Burst: 8000},
			1000 + 50_000 + 2*12_336 + 672 + 8000},
		{"a wire part above the whole", macctl.Measurement{Area: [2]uint64{1000, 2000}}, 0},
		{"a clock of 2 ms", macctl.Measurement{Area: [2]uint64{2_000_000, 1000}, Precision: 2_000_000}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := agreed(s)
			tt.m.Operation, tt.m.Sequence = macctl.MeasureResult, 5
			p.Receive(group(stranger, tt.m), 2, Moment{Now: 2})
			assert.Equal(t, p.target.bits, tt.want, "bits of the target")
			out, ok := p.Out(Moment{Now: 3})
			acked := ok && out.Operation == macctl.MeasureResultAck && out.Peer == stranger
			assert.True(t, acked == (tt.want != 0), "acknowledged %v: %+v", acked, out)
			assert.Equal(t, p.count.Results == 1 && p.count.Ignored[IgnoredProportion] == 0, tt.want != 0,
				"taken %d, ignored %v", p.count.Results, p.count.Ignored)
		})
	}
}

func TestOldResultsAreIgnored(t *testing.T) {
	p := agreed(settings(7))
	send := func(session uint16, sequence uint32, bits uint64) {
		m := macctl.Measurement{Operation: macctl.MeasureResult, Session: session, Sequence: sequence,
			Area: [2]uint64{bits, 0}}
		p.Receive(group(stranger, m), 2, Moment{Now: 2})
	}
	send(1, 5, 1_000_000)
	send(1, 4, 2_000_000) // replayed
	send(1, 5, 3_000_000) // altered
	send(1, 5, 1_000_000) // repeated: acknowledged again
	assert.True(t, p.count.Ignored[IgnoredOld] == 1 && p.count.Ignored[IgnoredAltered] == 1 && p.count.Results == 1,
		"ignored %v, taken %d\nwant one old, one altered, one taken", p.count.Ignored, p.count.Results)
	send(2, 1, 1_500_000) // a peer that began anew
	assert.Equal(t, p.target.bits, 1_500_000, "target, want that of the new session")
}

func TestRequestsAreBounded(t *testing.T) {
	p := agreed(settings(7))
	for i := range uint32(3 * maxPendingReplies) {
		m := macctl.Measurement{Operation: macctl.MeasureRequest, Session: 9, Sequence: i}
		p.Receive(group(stranger, m), 2, Moment{Now: 2})
	}
	assert.Equal(t, p.count.Ignored[IgnoredBusy], 2*maxPendingReplies, "busy")
	for i := range uint32(maxPendingReplies) {
		out, ok := p.Out(Moment{Now: 3})
		assert.MustBeTrue(t, ok && out.Operation == macctl.MeasureAnswer && out.Sequence == i &&
			out.Area == [2]uint64{2, 3}, "answer %d\n got %+v, %v", i, out, ok)
	}
}

func TestAnswerAcrossAClockStep(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(group(stranger, macctl.Measurement{Operation: macctl.MeasureRequest}), 2, Moment{Now: 2})
	out, ok := p.Out(Moment{Now: 3, Clock: 1_000_000})
	assert.True(t, (!ok || out.Operation != macctl.MeasureAnswer) && p.count.Ignored[IgnoredClock] == 1,
		"got %+v, ignored %v\nwant no answer", out, p.count.Ignored)
}

// The target is raised at once, lowered only after a hold, and never below what was wanted during it.
func TestTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g target
		type want struct{ at, bits int64 }
		var history []want
		now := int64(1)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(1, 60).Draw(t, "after")
			w := want{now, rapid.Int64Range(1, 100).Draw(t, "want")}
			history = append(history, w)
			g.set(w.bits, now, 100)
			for _, h := range history {
				assert.MustBeTrue(t, now-h.at >= 100 || g.bits >= h.bits,
					"at %d the target is %d, but %d was wanted at %d", now, g.bits, h.bits, h.at)
			}
		}
	})
}

// A stopped link forgets what was on its way.
func TestLinkDown(t *testing.T) {
	p, q, now := asking(t, 0)
	p.SetUp(false, now+1)
	p.SetUp(true, now+2)
	p.Receive(replied(q), now+40_000, Moment{Now: now + 40_000})
	assert.True(t, p.count.Ignored[IgnoredUnasked] == 1, "ignored %v\nwant the answer to be unasked", p.count.Ignored)
}
