package headroom

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A kernel stamp is ignored if the distance of the clocks has changed since the request. The round trip is longer then.
func TestDoubtfulStamp(t *testing.T) {
	p, q, now := asking(t, 0)
	p.Stamped(q.Session, q.Sequence, now+10_000, Moment{Now: now + 20_000, Clock: -31})
	p.Stamped(q.Session, q.Sequence, now+9_000, Moment{Now: now + 20_000, Clock: -30})
	p.Receive(replied(q), now+40_000, Moment{Now: now + 40_000})
	assert.Equal(t, p.estimate.trips.quantile(1), 29_000, "trip")
}

// A request is not answered if the distance of the clocks has changed since the message before.
func TestDoubtfulRequest(t *testing.T) {
	p := agreed(settings(7))
	ask := func(sequence uint32, at Moment) {
		m := macctl.Measurement{Operation: macctl.MeasureRequest, Session: 9, Sequence: sequence}
		p.Receive(group(stranger, m), at.Now-900, at)
	}
	ask(0, Moment{Now: 4000, Clock: 7_000_000}) // the first message: there is nothing to hold it against
	ask(1, Moment{Now: 5000, Clock: 7_000_000})
	ask(2, Moment{Now: 6000, Clock: 7_000_030})
	ask(3, Moment{Now: 7000, Clock: 8_000_000}) // set since then, maybe after the request had come
	ask(4, Moment{Now: 8000, Clock: 8_000_000})
	assert.True(t, p.waiting == 3 && p.count.Ignored[IgnoredClock] == 2,
		"%d of 5 are to be answered, ignored %v\nwant all but two", p.waiting, p.count.Ignored)
}

// Requests that came before such a change was seen are not answered either: in the same batch, or looked at later.
func TestDoubtfulRequests(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps func(p *Probe, ask func(stamp int64, at Moment))
		want  int // to be answered
	}{
		{"two at once", func(_ *Probe, ask func(int64, Moment)) {
			ask(7000, Moment{Now: 9000, Clock: 8_000_000})
			ask(7500, Moment{Now: 9000, Clock: 8_000_000})
		}, 0},
		{"after a look that sends nothing", func(p *Probe, ask func(int64, Moment)) {
			p.Out(Moment{Now: 9000, Clock: 8_000_000})
			ask(8999, Moment{Now: 9500, Clock: 8_000_000})
		}, 0},
		{"after another message", func(p *Probe, ask func(int64, Moment)) {
			p.Receive(macctl.MeasurementFrame{Measurement: macctl.Measurement{Operation: macctl.MeasureResultAck},
				Peer: stranger}, 7000, Moment{Now: 9000, Clock: 8_000_000})
			ask(8000, Moment{Now: 9500, Clock: 8_000_000})
		}, 0},
		{"that came since", func(p *Probe, ask func(int64, Moment)) {
			p.Out(Moment{Now: 9000, Clock: 8_000_000})
			ask(9001, Moment{Now: 9500, Clock: 8_000_000})
		}, 1},
		{"while the clocks agree", func(p *Probe, ask func(int64, Moment)) {
			p.Out(Moment{Now: 9000, Clock: 7_000_030})
			ask(8000, Moment{Now: 9500, Clock: 7_000_000})
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := agreed(settings(7))
			for p.Out(Moment{Now: 6000, Clock: 7_000_000}); p.Next() <= 6000; {
				p.Out(Moment{Now: 6000, Clock: 7_000_000})
			}
			before, sequence := p.count.Ignored[IgnoredClock], uint32(0)
			tt.steps(p, func(stamp int64, at Moment) {
				sequence++
				p.Receive(group(stranger, macctl.Measurement{Operation: macctl.MeasureRequest,
					Session: 9, Sequence: sequence}), stamp, at)
			})
			ignored := p.count.Ignored[IgnoredClock] - before
			assert.True(t, p.waiting == tt.want && ignored == uint64(sequence)-uint64(tt.want),
				"%d of %d are to be answered, %d ignored\nwant %d", p.waiting, sequence, ignored, tt.want)
		})
	}
}

// A clocked end converts stamps of its real-time clock, as the data plane does. That clock is set now and then. The
// program may also stand still between reading its two clocks, and then stamps come out too late.
type clocked struct {
	probe *Probe
	real  int64 // what the real-time clock is ahead
	gaps  int64
	set   bool // it was set: once, since set back by as much between two looks nobody sees
}

func (c *clocked) moment(t *rapid.T, now int64) Moment {
	gap := rapid.SampledFrom([]int64{0, 0, 0, 7, 15, 1_717}).Draw(t, "gap")
	if gap > 1000 { // no two long ones are alike
		c.gaps++
		gap += 10_000 * c.gaps
	}
	return Moment{Now: now, Clock: c.real - gap}
}

// passTime lets time pass, in which the clock may be set.
func (c *clocked) passTime(t *rapid.T, now *int64, most int64) {
	*now += rapid.Int64Range(0, most).Draw(t, "ns")
	if !c.set {
		step := rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, 10, -10, 600, -600, 45_000, -45_000, 3_005_000,
			-3_005_000}).Draw(t, "step")
		c.real, c.set = c.real+step, step != 0
	}
}

// convert converts a stamp at a moment, as the data plane does.
func convert(stamp int64, at Moment) int64 { return stamp - at.Clock }

// However clocks are set and read, the headroom is no smaller than the link: twice the stated precision covers all
// errors of stamps.
func TestPrecisionIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := settings(7)
		ends := [2]clocked{{probe: NewProbe(s), real: 1e15}, {probe: NewProbe(settings(8)), real: 2e15}}
		now, link := int64(1_000_000_000), rapid.Int64Range(0, 1_000_000).Draw(t, "one way")
		for i := range ends {
			ends[i].probe.SetUp(true, now)
			ends[i].probe.SetAgreed(true, true, "x", now)
		}
		a, b := &ends[0], &ends[1]
		for range rapid.IntRange(1, 30).Draw(t, "questions") {
			now = max(now+1, a.probe.Next())
			asked := a.moment(t, now)
			q, ok := a.probe.Out(asked)
			if !ok || q.Operation != macctl.MeasureRequest {
				continue
			}
			a.passTime(t, &now, 5_000)
			left, stamp := now, now+a.real
			a.passTime(t, &now, 2_000)
			after := a.moment(t, now)
			if sent := convert(stamp, after); sent >= asked.Now && sent <= after.Now {
				a.probe.Stamped(q.Session, q.Sequence, sent, after)
			}
			now = left + link
			stamp = now + b.real
			b.passTime(t, &now, 50_000)
			heard := b.moment(t, now)
			q.Group, q.Peer = true, [6]byte{2, 1}
			b.probe.Receive(q, min(convert(stamp, heard), heard.Now), heard)
			b.passTime(t, &now, 5_000)
			answer, ok := b.probe.answer(b.moment(t, now))
			if !ok {
				continue
			}
			now += link
			stamp = now + a.real
			a.passTime(t, &now, 50_000)
			back := a.moment(t, now)
			answer.Peer = [6]byte{2, 2}
			at := convert(stamp, back)
			if at > back.Now || at < back.Now-100_000_000 {
				at = back.Now
			}
			a.probe.Receive(answer, at, back)
		}
		if shortest := a.probe.estimate.trips; len(shortest.sorted) > 0 &&
			shortest.sorted[0]+2*s.Precision < time.Duration(2*link) {
			t.Fatalf("a trip of %v, and the link takes %v", shortest.sorted[0], time.Duration(2*link))
		}
	})
}
