package dcqcn

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

const gigabit = 1_000_000_000

// simple has round values.
var simple = Params{Interval: 50, Decay: 1 << 40, Timer: 100, Octets: 1000, Additive: 10_000, Hyper: 50_000,
	Least: 1000}

// The formulas of the paper, one by one.
func TestReaction(t *testing.T) {
	timers := func(n int) func(*ReactionPoint) { return func(r *ReactionPoint) { r.Advance(int64(n) * 100) } }
	octets := func(n int64) func(*ReactionPoint) { return func(r *ReactionPoint) { r.Sent(n) } }
	both := func(n int) func(*ReactionPoint) {
		return func(r *ReactionPoint) { r.Sent(int64(n) * 1000); r.Advance(int64(n) * 100) }
	}
	for _, c := range []struct {
		name            string
		then            func(*ReactionPoint) // after a cut of 1,000,000 to 500,000 bit/s at time 0
		current, target int64
	}{
		{"cut by α/2", timers(0), 500_000, 1_000_000},
		{"before a round", func(r *ReactionPoint) { r.Advance(99); r.Sent(999) }, 500_000, 1_000_000},
		{"fast recovery by time", timers(1), 750_000, 1_000_000},
		{"fast recovery by octets", octets(1000), 750_000, 1_000_000},
		{"rounds of both", both(1), 875_000, 1_000_000},
		{"five rounds", timers(5), 984_375, 1_000_000},
		{"six: additive increase", timers(6), 997_188, 1_010_000},
		{"seven", timers(7), 1_008_594, 1_020_000},
		{"five and six: additive", func(r *ReactionPoint) { both(5)(r); r.Advance(600) }, 1_004_756, 1_010_000},
		{"six of both: hyper", both(6), 1_079_957, 1_110_000},
		{"a second cut", func(r *ReactionPoint) { r.Notified(0) }, 250_000, 500_000},
		{"a second cut after recovery", func(r *ReactionPoint) { r.Advance(100); r.Notified(100) }, 375_000, 750_000},
		{"rounds begin anew", func(r *ReactionPoint) {
			r.Advance(100)
			r.Sent(999)
			r.Notified(150)
			r.Sent(999)
			r.Advance(249)
		}, 375_000, 750_000},
		{"counters begin anew", func(r *ReactionPoint) { both(6)(r); r.Notified(600); r.Sent(1000); r.Advance(700) },
			944_963, 1_079_957},
	} {
		var r ReactionPoint
		r.Start(simple, 2_000_000, 0)
		r.current, r.target = 1_000_000, 1_000_000
		r.Notified(0)
		c.then(&r)
		assert.True(t, r.Rate() == c.current && r.target == c.target, "%s: rate %d, target %d\nwant rate %d, target %d",
			c.name, r.Rate(), r.target, c.current, c.target)
	}
}

// α falls by a 256th in each Decay without a CNP, and rises by a 256th of what is missing with each.
func TestAlpha(t *testing.T) {
	p := simple
	p.Decay = 1000
	var r ReactionPoint
	r.Start(p, 1_000_000, 0)
	r.Advance(999)
	assert.Equal(t, r.alpha, one, "α before its time")
	r.Advance(2000)
	fallen := float64(r.alpha) / one
	want := math.Pow(255./256, 2)
	assert.True(t, math.Abs(fallen-want) <= 1e-8, "α %v, want %v", fallen, want)
	r.Notified(2500)
	if got, want := float64(r.alpha)/one, fallen+(1-fallen)/256; math.Abs(got-want) > 1e-8 {
		t.Errorf("α %v, want %v", got, want)
	}
	if want := int64(1_000_000 * (1 - fallen/2)); r.Rate() < want-1 || r.Rate() > want+1 {
		t.Errorf("rate %d, want %d", r.Rate(), want)
	}
	r.Advance(3499)
	got := float64(r.alpha) / one
	assert.True(t, math.Abs(got-(fallen+(1-fallen)/256)) <= 1e-8, "a CNP does not begin the time of α anew: %v", got)
	r.Advance(1 << 50) // in few steps
	assert.True(t, r.alpha == 0 && r.Rate() == 1_000_000 && r.Next() == math.MaxInt64,
		"α %d, rate %d, next %d after a long time", r.alpha, r.Rate(), r.Next())
}

// A flow has at most one CNP in an interval, and one at once where it had none.
func TestNotification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n NotificationPoint
		now, last := int64(0), int64(math.MinInt64/2)
		for range rapid.IntRange(1, 50).Draw(t, "marks") {
			now += rapid.Int64Range(0, 80).Draw(t, "gap")
			if got := n.Marked(50, now); got != (now-last >= 50) {
				t.Fatalf("a CNP at %d after one at %d: %v", now, last, got)
			} else if got {
				last = now
			}
		}
	})
}

// Whatever comes: the rate is from Least to the most, only a CNP lowers it, it rises when Next says, time in many steps
// is time in one, and without CNPs it is the most again.
func TestReactionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.SampledFrom([]int64{1000, 100_000_000, 10 * gigabit, 800 * gigabit}).Draw(t, "speed")
		p := For(speed)
		most := rapid.Int64Range(1, speed).Draw(t, "most")
		var r ReactionPoint
		r.Start(p, most, 0)
		now := int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			before := r.Rate()
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				now += rapid.Int64Range(0, 3*p.Timer).Draw(t, "ns")
				next, stepwise := r.Next(), r
				r.Advance(now)
				assert.MustBeTrue(t, (now >= next || r.Rate() == before) && r.Rate() >= before,
					"the rate was %d and is %d at %d; its next change was at %d", before, r.Rate(), now, next)
				for at := stepwise.Next(); at <= now; at = stepwise.Next() {
					stepwise.Advance(at)
				}
				if stepwise.Advance(now); stepwise.Rate() != r.Rate() || stepwise.alpha != r.alpha {
					t.Fatalf("in steps the rate is %d, at once %d", stepwise.Rate(), r.Rate())
				}
			case 1:
				r.Sent(rapid.Int64Range(64, 65535).Draw(t, "octets"))
				assert.MustBeTrue(t, r.Rate() >= before, "octets lowered the rate from %d to %d", before, r.Rate())
			case 2:
				r.Advance(now)
				before = r.Rate()
				if r.Notified(now); r.Rate() > before || r.Rate() < before/2 {
					t.Fatalf("a CNP changed the rate from %d to %d", before, r.Rate())
				}
			}
			assert.MustBeTrue(t, r.Rate() >= min(p.Least, most) && r.Rate() <= most && r.alpha <= one && r.Next() > now,
				"at %d: %+v", now, r)
		}
		r.Advance(now + 3000*p.Timer) // R_AI is a thousandth of the speed
		assert.MustBeTrue(t, r.Rate() == most, "the rate is %d long after the last CNP, not %d", r.Rate(), most)
	})
}

// What is published holds at 40 Gbit/s, and the same octets pass on slower links.
func TestParams(t *testing.T) {
	got := For(publishedSpeed)
	assert.True(t, got == published, "%+v", got)
	for _, c := range []struct {
		speed int64
		want  Params
	}{
		{10 * gigabit, Params{200_000, 220_000, 220_000, 10_000_000, 10_000_000, 50_000_000, 2_500_000}},
		{100_000_000, Params{20_000_000, 22_000_000, 22_000_000, 10_000_000, 100_000, 500_000, 25_000}},
		{400 * gigabit, Params{50_000, 55_000, 55_000, 100_000_000, 400_000_000, 2_000_000_000, 100_000_000}},
	} {
		assert.Equal(t, For(c.speed), c.want, "%d bit/s", c.speed)
	}
	assert.Equal(t, For(999), For(1000), "999 bit/s")
}
