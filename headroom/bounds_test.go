package headroom

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// A late is a wire whose end 1 keeps requests for d and does not say so.
func late(a Settings, d time.Duration) *wire {
	w := newWire(a, settings(8))
	w.delay[1] += int64(d)
	w.agree()
	return w
}

// However late a peer answers, its port gets no more than its share. A note says so once, with what to write.
func TestShare(t *testing.T) {
	s := settings(7)
	s.Inputs.Speed *= 10
	s.Calculated = Calculate(s.Inputs, 0).Bits()
	for name, tt := range map[string]struct {
		share, least int64
		late         time.Duration
		bounded      bool
	}{
		"late":                            {s.Calculated + 8*100_000, 0, 9 * time.Millisecond, true},
		"not late":                        {s.Calculated + 8*100_000, 0, 0, false},
		"no bound":                        {0, 0, 9 * time.Millisecond, false},
		"the configuration asks for more": {s.Calculated, 2 * s.Calculated, 9 * time.Millisecond, true},
	} {
		s.Share, s.Min = tt.share, tt.least
		w := late(s, tt.late)
		w.run(10 * time.Second)
		r, notes := w.report(0), strings.Join(w.ends[0].Notes(), "\n")
		want, found := max(tt.share, tt.least), r.Measured.Bits()
		assert.True(t, (!tt.bounded || r.Target == want) && (tt.bounded || r.Target >= found),
			"%s: target %d, share %d, measured %d", name, r.Target, tt.share, found)
		n := strings.Count(notes, "headroom.share leaves ")
		assert.True(t, n <= 1 && (n == 1) == tt.bounded, "%s: %d notes: %q", name, n, notes)
		assert.Equal(t, r.Bound, map[bool]string{true: boundShare}[tt.bounded], "%s: bound", name)
	}
}

// A share that becomes smaller bounds what was found at once, and one that grows lets it in again.
func TestShareIsConfigured(t *testing.T) {
	s := settings(7)
	s.Share = s.Calculated + 8*100_000
	w := late(s, 9*time.Millisecond)
	w.run(10 * time.Second)
	p := w.ends[0]
	assert.MustEqual(t, w.report(0).Target, s.Share, "the target is the share")
	smaller := s
	smaller.Share -= 8 * 50_000
	p.Configure(smaller, w.now)
	assert.Equal(t, w.report(0).Target, smaller.Share, "with a smaller share")
	w.run(time.Minute)
	assert.Equal(t, w.report(0).Target, smaller.Share, "a minute later")
	p.Configure(s, w.now)
	w.run(time.Second)
	assert.Equal(t, w.report(0).Target, s.Share, "with the larger one again")
}

// A peer cannot take a pool at once: what it claims grows fourfold in a second at most.
func TestGrowth(t *testing.T) {
	s := settings(7)
	s.Inputs.Burst = 0
	s.Calculated = Calculate(s.Inputs, 0).Bits()
	w := late(s, 9*time.Millisecond)
	has, steps := s.Calculated, 0
	for r := w.report(0); steps == 0 || r.Bound == boundGrowth; steps++ {
		w.run(time.Second)
		r = w.report(0)
		assert.MustBeTrue(t, r.Target <= growth*has, "from %d to %d in a second", has, r.Target)
		has = r.Target
	}
	own := w.ends[0].boundedMeasured()
	assert.True(t, has >= own && steps >= 3 && steps <= 10, "in the end %d of %d, after %d s", has, own, steps)
}

// What was found stays for a hold time without a measurement, and then makes room for what is calculated: after the
// link went down, the two ends agree no more, or another neighbour does not answer. A link that is measured again
// meanwhile keeps what was found.
func TestGivenBack(t *testing.T) {
	hold := holdFor * settings(7).Interval
	for name, end := range map[string]func(w *wire){
		"link down":         func(w *wire) { w.ends[0].SetUp(false, w.now) },
		"no agreement":      func(w *wire) { w.ends[0].SetAgreed(true, false, "", w.now) },
		"another neighbour": func(w *wire) { w.ends[0].SetNeighbour(stranger, w.now) },
	} {
		w := late(settings(7), time.Millisecond)
		w.run(3 * time.Second)
		p := w.ends[0]
		found, xon := p.Target(), p.Xon()
		assert.MustBeTrue(t, found > Octets(p.set.Calculated), "found %d", found)
		end(w)
		pass := func(d time.Duration) { w.run(d); p.Advance(w.now) }
		pass(hold - 1)
		assert.True(t, p.Target() == found && p.Reason() != "calculated", "%s: %d before the time is over, was %d",
			name, p.Target(), found)
		pass(1)
		if p.Target() != Octets(p.set.Calculated) || !strings.HasPrefix(p.Reason(), "calculated, since") ||
			p.Xon() != DefaultXon(p.set.Inputs) {
			t.Errorf("%s: target %d: %s; xon %d, was %d", name, p.Target(), p.Reason(), p.Xon(), xon)
		}
		p.SetUp(true, w.now)
		p.SetNeighbour(w.address[1], w.now)
		p.SetAgreed(true, true, "b", w.now)
		pass(3 * time.Second)
		assert.True(t, p.Target() >= found-100 && p.Xon() >= xon-100, "%s: measured again %d, was %d; xon %d, was %d",
			name, p.Target(), found, p.Xon(), xon)
		end(w)
		pass(hold / 2)
		p.SetUp(true, w.now)
		p.SetNeighbour(w.address[1], w.now)
		p.SetAgreed(true, true, "b", w.now)
		pass(hold)
		assert.True(t, p.Target() >= found-100, "%s: after half of the time %d, was %d", name, p.Target(), found)
	}
}

// A headroom below the calculated one is given back too: the next link may be longer.
func TestSmallHeadroomIsGivenBack(t *testing.T) {
	a, b := settings(7), settings(8)
	a.Inputs.Burst, b.Inputs.Burst = 0, 0
	w := newWire(a, b)
	w.agree()
	w.run(5 * time.Second)
	p := w.ends[0]
	assert.MustBeTrue(t, p.Target() < Octets(a.Calculated), "found %d", p.Target())
	p.SetUp(false, w.now)
	w.run(holdFor * a.Interval)
	p.Advance(w.now)
	assert.Equal(t, p.Target(), Octets(a.Calculated), "target")
}
