package headroom

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

func TestMeasure(t *testing.T) {
	in := Inputs{Speed: gbit, MaxFrame: tagged, K: 800}
	const frames = 2*12_336 + 672
	tests := []struct {
		name  string
		in    Inputs
		found Finding
		want  int64
	}{
		{"nothing on the way", in, Finding{}, frames + 800},
		{"trip", in, Finding{RoundTrip: 10 * time.Microsecond}, 10_000 + frames + 800},
		{"precision counts twice", in, Finding{RoundTrip: 10 * time.Microsecond, Precision: 50}, 10_100 + frames + 800},
		{"reaction", in, Finding{Reaction: 3 * time.Microsecond}, 3000 + frames + 800},
		{"one send call at most", in, Finding{Reaction: time.Millisecond, SendLimit: 50_000}, 50_000 + frames + 800},
		{"a quick peer needs less than a send call", in, Finding{Reaction: 3 * time.Microsecond, SendLimit: 50_000},
			3000 + frames + 800},
		{"the peer's burst", in, Finding{Burst: 500_000}, 500_000 + frames + 800},
		{"no rate", Inputs{}, Finding{RoundTrip: time.Microsecond}, 10_000 + 2*(65_550+24)*8 + 672},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, Measure(tt.in, tt.found).Bits(), tt.want, "bits of Measure(%+v, %+v)", tt.in, tt.found)
			late := tt.found
			late.Reaction, late.Burst, late.SendLimit = time.Second, 1<<20, 0
			plain := tt.found
			plain.Reaction, plain.Burst = 0, 0
			assert.Equal(t, tt.in.PlainBits(late), Measure(tt.in, plain).Bits(), "PlainBits(%+v, %+v)", tt.in, late)
		})
	}
}

// The window's quantiles are those of the newest samples, sorted.
func TestWindowIsTheNewestSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 3*windowSamples).Draw(t, "samples")
		var w window
		for _, d := range all {
			w.add(time.Duration(d))
		}
		newest := all[max(0, len(all)-windowSamples):]
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		got := int64(w.quantile(share))
		below, upto := 0, 0
		for _, d := range newest {
			if d < got {
				below++
			}
			if d <= got {
				upto++
			}
		}
		n := share*float64(len(newest)) - 1e-9
		assert.MustBeTrue(t, float64(upto) >= n && (below <= 0 || float64(below) < n),
			"quantile %v is %d: of %d samples %d are below, %d not above", share, got, len(newest), below, upto)
	})
}

func TestQuantileOfAPercentage(t *testing.T) {
	var w window
	for i := range 1000 {
		w.add(time.Duration(i + 1))
	}
	hundred := 100.0
	assert.Equal(t, w.quantile(99.9/hundred), 999, "99.9 %% of 1000 samples, want the second largest")
}

func TestFullWindowDoesNotAllocate(t *testing.T) {
	var w window
	var d time.Duration
	for range windowSamples {
		w.add(d)
	}
	assert.Equal(t, testing.AllocsPerRun(3*windowSamples, func() { d = (d + 7919) % 104_729; w.add(d) }), 0,
		"allocations")
}

func TestEstimatorFollowsTheLink(t *testing.T) {
	e := &estimator{percentile: 0.999}
	add := func(n int, trip time.Duration) {
		for range n {
			e.Add(trip, 5, false)
		}
	}
	expect := func(what string, want time.Duration) {
		t.Helper()
		assert.Equal(t, e.RoundTrip(), want, "%s: Trip", what)
	}
	add(settleSamples-1, 100)
	assert.True(t, !e.Settled(), "settled too early")
	expect("before enough samples", 0)
	add(1, 100)
	expect("settled", 100)
	add(1, 5000)
	expect("one late sample is not the link", 100)
	add(settleSamples, 200)
	expect("a longer link, at once", 200)
	add(100, 50)
	expect("a shorter link, not at once", 200)
	add(windowSamples, 50)
	expect("a shorter link, after a window", 50)
}

func TestEstimatorTurn(t *testing.T) {
	four, two := &estimator{percentile: 0.999}, &estimator{percentile: 0.999}
	for i := range windowSamples {
		four.Add(100, time.Duration(i), i%4 == 0)
		two.Add(time.Duration(100+i), -1, i%4 == 0)
	}
	// Of 1024 samples, 99.9 % are 1023: the second largest.
	assert.Equal(t, four.Turnaround(), time.Duration(windowSamples-2), "four stamps: Turn")
	assert.Equal(t, two.Turnaround(), time.Duration(windowSamples-2), "two stamps: Turn")
	if idle, busy := four.turns.idle.distribution(), four.turns.busy.distribution(); busy.Samples != windowSamples/4 ||
		idle.Samples != 3*windowSamples/4 || busy.Max != windowSamples-4 || idle.Min != 1 {
		t.Errorf("idle %+v, busy %+v", idle, busy)
	}
	assert.Equal(t, two.turns.idle.distribution().Samples+two.turns.busy.distribution().Samples, 0,
		"two stamps tell no turn-around")
}

// Late samples never make the round trip shorter than that of the link.
func TestEstimatorIsNeverBelowTheLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		link := time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "link"))
		e := &estimator{percentile: 0.999}
		for _, late := range rapid.SliceOfN(rapid.Int64Range(0, 1_000_000), settleSamples, 200).Draw(t, "late") {
			e.Add(link+time.Duration(late), time.Duration(late), false)
		}
		assert.MustBeTrue(t, e.RoundTrip() >= link, "trip %v, link %v", e.RoundTrip(), link)
	})
}

// On a link that does not change, the round trip is the shortest of all samples, where one in settleSamples meets no
// delay.
func TestEstimatorFindsTheShortestTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		link := time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "link"))
		e := &estimator{percentile: 0.999}
		for i, late := range rapid.SliceOfN(rapid.Int64Range(0, 1_000_000_000), settleSamples, 200).Draw(t, "late") {
			if i%settleSamples == 0 {
				late = 0
			}
			e.Add(link+time.Duration(late), 0, false)
		}
		assert.MustEqual(t, e.RoundTrip(), link, "trip, want that of the link")
	})
}

// The resume threshold covers what the peer could have sent in its reaction and until its first frame arrives.
func TestMeasuredXon(t *testing.T) {
	in := Inputs{Speed: 1e9, MaxFrame: 1514}
	for _, tt := range []struct {
		name string
		f    Finding
		want int64 // octets
	}{
		{"nothing takes time", Finding{}, 0},
		{"the reaction", Finding{Reaction: 80 * time.Microsecond}, 10_000},
		{"the way", Finding{RoundTrip: 40 * time.Microsecond, Precision: 4}, 5001},
		{"both, whatever one send call takes",
			Finding{RoundTrip: 40 * time.Microsecond, Reaction: 80 * time.Microsecond, SendLimit: 8}, 15_000},
	} {
		assert.Equal(t, MeasuredXon(in, tt.f), tt.want, "%s", tt.name)
	}
}

// The configured cable has no part in the measured headroom.
func TestMeasureKnowsNoCable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInputs(t)
		other := in
		other.Delay = time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "another delay"))
		f := Finding{RoundTrip: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "trip")),
			Reaction:  time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "reaction")),
			SendLimit: rapid.Int64Range(0, 1e9).Draw(t, "send limit"), Burst: rapid.Int64Range(0, 1e9).Draw(t, "burst")}
		a, b := Measure(in, f).Bits(), Measure(other, f).Bits()
		assert.MustBeTrue(t, a == b && MeasuredXon(in, f) == MeasuredXon(other, f),
			"%d bits with one cable, %d with another", a, b)
	})
}
