package headroom

import (
	"math"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// An acknowledgement states what is in force at the peer. Until that is the result, the result is repeated each
// interval.
func TestAcknowledgementSaysWhatIsInForce(t *testing.T) {
	a, b := settings(7), settings(8)
	a.Min = 8 * 200_000 // what a has in force has nothing to do with what it tells
	w := newWire(a, b)
	results := func() (n int) {
		for _, p := range w.sent {
			if p.Operation == macctl.MeasureResult {
				n++
			}
		}
		return n
	}
	w.delay = [2]int64{300_000, 300_000}
	inForce := w.ends[1].apply(Octets(b.Calculated))
	w.agree()
	w.run(a.Interval)
	r := w.report(0)
	assert.True(t, r.ResultAcked && !r.PeerApplied && r.PeerInForce == 8*inForce,
		"told %v, applied %v, the peer has %d of %d\nwant that it was told, and has what is calculated", r.ResultAcked,
		r.PeerApplied, r.PeerInForce, r.Measured.Bits())
	before := results()
	w.run(5 * a.Interval)
	n := results() - before
	assert.True(t, n >= 4 && n <= 6, "told %d times in 5 intervals", n)
	inForce = w.ends[1].apply(w.ends[1].Target())
	w.run(2 * a.Interval)
	r = w.report(0)
	assert.True(t, r.PeerApplied && r.PeerInForce == 8*inForce && r.PeerInForce >= r.Measured.Bits(),
		"applied %v, the peer has %d\nwant the %d that were set there", r.PeerApplied, r.PeerInForce, 8*inForce)
	before = results()
	w.run(10 * a.Interval)
	n = results() - before
	assert.True(t, n <= 1, "told %d times more, though it is in force", n)
	if notes := strings.Join(w.ends[0].Notes(), "\n"); strings.Contains(notes, "was told that the link needs") {
		t.Errorf("notes %q, though the peer was only late", notes)
	}
}

// A link that grows in every interval makes each result larger than what the peer has in force, which causes no note. A
// peer that does not apply results, since its pool is too small or its headroom is set by hand, causes one note.
func TestGrowingLinkIsNoShortage(t *testing.T) {
	for _, follows := range []bool{true, false} {
		w := newWire(settings(7), settings(8))
		w.delay = [2]int64{300_000, 300_000}
		w.ends[1].apply(1008)
		w.agree()
		for range 3 * shortAfter {
			w.delay[0] += 20_000
			w.run(settings(7).Interval)
			if follows { // always after it has acknowledged
				w.ends[1].apply(w.ends[1].Target())
			}
		}
		r, notes := w.report(0), strings.Join(w.ends[0].Notes(), "\n")
		const less = "neighbour b has a headroom of 1008 B in force, and was told that the link needs "
		n := strings.Count(notes, less)
		assert.True(t, n <= 1 && (n == 0) == follows && !r.PeerApplied && r.ResultAcked &&
			ignored(r)+ignored(w.report(1)) == 0, "the peer follows: %v; %d notes, applied %v, acknowledged %v: %q",
			follows, n, r.PeerApplied, r.ResultAcked, notes)
		assert.True(t, !follows || !strings.Contains(notes, "in force, and was told"), "notes %q", notes)
	}
}

// Acknowledgements of older results, or of other stations, do not count.
func TestForgedAcknowledgementsAreIgnored(t *testing.T) {
	for _, tt := range []struct {
		name  string
		forge func(a *macctl.MeasurementFrame)
		want  Ignored
	}{
		{"another session", func(a *macctl.MeasurementFrame) { a.Session++ }, IgnoredUnasked},
		{"another sequence", func(a *macctl.MeasurementFrame) { a.Sequence++ }, IgnoredUnasked},
		{"an older sequence", func(a *macctl.MeasurementFrame) { a.Sequence-- }, IgnoredUnasked},
		{"another wire part", func(a *macctl.MeasurementFrame) { a.Area[1]++ }, IgnoredAltered},
		{"to everybody", func(a *macctl.MeasurementFrame) { a.Group = true }, IgnoredAltered},
		{"of a stranger", func(a *macctl.MeasurementFrame) { a.Peer = stranger }, IgnoredStranger},
		{"more than is believed", func(a *macctl.MeasurementFrame) { a.Area[0] = maxHeadroomBits + 1 },
			IgnoredProportion},
		{"out of all proportion", func(a *macctl.MeasurementFrame) { a.Area[0] = math.MaxUint64 }, IgnoredProportion},
		{"sound", func(*macctl.MeasurementFrame) {}, NumIgnored},
		{"the most that is believed", func(a *macctl.MeasurementFrame) { a.Area[0] = maxHeadroomBits }, NumIgnored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWire(settings(7), settings(8))
			w.lose = func(_ int, p macctl.MeasurementFrame) bool { return p.Operation == macctl.MeasureResultAck }
			w.agree()
			w.run(time.Second)
			p := w.ends[0]
			a := macctl.MeasurementFrame{Measurement: p.results.sent, Peer: w.address[1]}
			a.Operation, a.Area[0] = macctl.MeasureResultAck, 123_456
			sound := a.Area[0]
			tt.forge(&a)
			before := p.count.Ignored
			p.Receive(a, w.now, w.moment(0))
			r := w.report(0)
			if tt.want == NumIgnored {
				assert.True(t, p.count.Ignored == before && r.ResultAcked && r.PeerInForce == int64(a.Area[0]),
					"ignored %v, told %v, the peer has %d", p.count.Ignored, r.ResultAcked, r.PeerInForce)
				p.Receive(a, w.now, w.moment(0))
				assert.Equal(t, p.count.Ignored[IgnoredUnasked], before[IgnoredUnasked]+1,
					"for the second time: ignored %v", p.count.Ignored)
				return
			}
			before[tt.want]++
			assert.True(t, p.count.Ignored == before && !r.ResultAcked && r.PeerInForce == 0,
				"ignored %v, told %v, the peer has %d\nwant %v", p.count.Ignored, r.ResultAcked, r.PeerInForce, tt.want)
			a = macctl.MeasurementFrame{Measurement: p.results.sent, Peer: w.address[1]}
			a.Operation, a.Area[0] = macctl.MeasureResultAck, sound
			p.Receive(a, w.now, w.moment(0))
			assert.Equal(t, w.report(0).PeerInForce, int64(sound), "the sound one after it is not taken")
		})
	}
}

// A result that is sent back as its acknowledgement proves only that it arrived.
func TestAcknowledgementThatIsAnEcho(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.lose = func(_ int, p macctl.MeasurementFrame) bool { return p.Operation == macctl.MeasureResultAck }
	w.agree()
	w.run(time.Second)
	p := w.ends[0]
	a := macctl.MeasurementFrame{Measurement: p.results.sent, Peer: w.address[1]}
	a.Operation = macctl.MeasureResultAck
	p.Receive(a, w.now, w.moment(0))
	if r := w.report(0); !r.ResultAcked || !r.PeerApplied || r.PeerInForce != r.ResultBits {
		t.Errorf("told %v, applied %v, the peer seems to have %d of %d", r.ResultAcked, r.PeerApplied, r.PeerInForce,
			r.ResultBits)
	}
}

// No acknowledgement counts before a result was sent.
func TestAcknowledgementOfNothing(t *testing.T) {
	p := agreed(settings(7))
	p.Receive(macctl.MeasurementFrame{Measurement: macctl.Measurement{Operation: macctl.MeasureResultAck, Session: 7,
		Area: [2]uint64{800, 0}}, Peer: stranger}, 2, Moment{Now: 2})
	if r := p.Report(2); p.count.Ignored[IgnoredUnasked] != 1 || r.ResultAcked || r.PeerInForce != 0 {
		t.Errorf("ignored %v, told %v, the peer has %d", p.count.Ignored, r.ResultAcked, r.PeerInForce)
	}
}

// The reason of a target is a measurement, the peer's result, or the least.
func TestReason(t *testing.T) {
	expect := func(p *Probe, want string) {
		t.Helper()
		got := p.Reason()
		assert.True(t, got == want, "%q, want %q, target %d", got, want, p.Target())
	}
	p := agreed(settings(7))
	expect(p, "calculated")
	p.Receive(result(stranger, 1, 1, uint64(p.set.Calculated)-1), 2, Moment{Now: 2})
	expect(p, "calculated")
	p.Receive(result(stranger, 1, 2, uint64(p.set.Calculated)+8), 3, Moment{Now: 3})
	expect(p, "told by neighbour b")

	s := settings(7)
	s.Min = 2 * s.Calculated
	w := newWire(s, settings(8))
	w.delay = [2]int64{300_000, 300_000}
	w.agree()
	w.run(time.Second)
	expect(w.ends[0], "headroom.min")
	expect(w.ends[1], "measured")
	w.delay = [2]int64{1000, 1000}
	w.run(time.Minute)
	expect(w.ends[1], "less has been enough for 16 intervals")

	set := func(i int, change func(*Settings)) { // as an apply does
		s := w.ends[i].set
		change(&s)
		w.ends[i].Configure(s, w.now)
	}
	set(1, func(*Settings) {})
	expect(w.ends[1], "measured")
	set(1, func(s *Settings) { s.Limit = 8 * 10_000 })
	w.run(time.Minute)
	expect(w.ends[1], "headroom.max allows no more")
	set(1, func(s *Settings) { s.Limit, s.Min = 0, 8*300_000 })
	expect(w.ends[1], "headroom.min")
	set(1, func(s *Settings) { s.Min = 0 })
	expect(w.ends[1], "measured or told before")
	set(1, func(s *Settings) { s.Inputs.Speed *= 10 })
	expect(w.ends[1], "calculated")

	set(0, func(s *Settings) { s.Min, s.Limit = 0, 8*1000 })
	w.run(time.Minute)
	expect(w.ends[0], "headroom.max allows no more")
	set(0, func(*Settings) {})
	expect(w.ends[0], "the least that IEEE 802.1Q asks for")
}

// A headroom that a size in headroom.max cuts off has that as its reason, whether it rises or falls. So has one for
// which the peer wants more than it gets.
func TestReasonOfALimit(t *testing.T) {
	s := settings(7)
	s.Limit = 2 * s.Calculated
	w := newWire(s, settings(8))
	w.delay = [2]int64{2_000_000, 2_000_000}
	w.agree()
	w.run(time.Second)
	if p := w.ends[0]; p.target.bits != s.Limit || p.Reason() != "headroom.max allows no more" {
		t.Errorf("%d bits of %d: %q", p.target.bits, s.Limit, p.Reason())
	}
	p := agreed(settings(7))
	p.Receive(result(stranger, 1, 1, maxHeadroomBits), 2, Moment{Now: 2})
	assert.Equal(t, p.Reason(), "headroom.max allows no more", "told of more than may be")
}

// An end with more in force than is believed acknowledges the largest value that is, and the result is not repeated for
// ever.
func TestAcknowledgementOfMore(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.ends[1].apply(maxHeadroomBits/8 + 256)
	w.agree()
	w.run(time.Second)
	if r := w.report(0); !r.PeerApplied || r.PeerInForce != maxHeadroomBits || ignored(r) != 0 {
		t.Errorf("applied %v, the peer has %d, ignored %v", r.PeerApplied, r.PeerInForce, r.Counters.Ignored)
	}
}
