package headroom

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// idleWire returns two ends whose switches are idle, and that have measured for ten minutes. A message is looked at
// 4 µs after it arrived, and up to so many ns of noise later.
func idleWire(noise uint32) *wire { return idleWireAfter(10*time.Minute, noise) }

func idleWireAfter(d time.Duration, noise uint32) *wire {
	a, b := settings(7), settings(8)
	a.Interval, b.Interval = time.Second, time.Second
	w := newWire(a, b)
	random := uint32(1)
	w.lose = func(int, macctl.MeasurementFrame) bool {
		random = random*1_664_525 + 1_013_904_223
		w.turn = 4_000 + int64(random>>16%(noise+1))
		return false
	}
	w.agree()
	for _, p := range w.ends {
		p.SetIdle(true, w.now)
	}
	w.run(10 * time.Second)
	for _, p := range w.ends {
		p.apply(p.Target())
	}
	w.run(d)
	return w
}

// asked returns how many requests end 0 makes within d, and how often it sends anything.
func (w *wire) asked(d time.Duration) (requests, all int) {
	w.sent = w.sent[:0]
	w.run(d)
	for _, m := range w.sent {
		if m.Operation == macctl.MeasureRequest {
			requests++
		}
	}
	return requests, len(w.sent)
}

// On an idle link, once a window is full of answers that change nothing, both ends ask about once a minute and tell
// each other their results as rarely. The headroom is what it was.
func TestIdleLinkIsMeasuredRarely(t *testing.T) {
	w := idleWire(1_000)
	before := [...]int64{w.ends[0].Target(), w.ends[1].Target()}
	// an hour has 57 whole multiples of 64 s; answers to requests of the other end, results and acknowledgements
	if requests, all := w.asked(time.Hour); requests < 55 || requests > 57 || all > 5*60 {
		t.Errorf("%d requests and %d messages in an hour", requests, all)
	}
	for i, p := range w.ends {
		assert.True(t, !differs(p.Target(), before[i]) && p.count.Lost == 0 && p.results.received,
			"end %d: %d B, was %d; %d requests lost, a result of the peer counts: %v", i, p.Target(), before[i],
			p.count.Lost, p.results.received)
	}
}

// Requests are rare a minute after both ends have agreed: an idle fabric of many switches is not busy with them.
func TestIdleLinkIsSoonMeasuredRarely(t *testing.T) {
	w := idleWireAfter(50*time.Second, 1_000)
	requests, _ := w.asked(time.Minute)
	assert.True(t, requests <= 4, "%d requests in the second minute", requests)
}

// Whatever changes is measured as often as ever, at once.
func TestIdleTimeEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		input func(w *wire)
	}{
		{"a frame", func(w *wire) { w.ends[0].SetIdle(false, w.now) }},
		{"the link", func(w *wire) { w.ends[0].SetUp(false, w.now); w.ends[0].SetUp(true, w.now) }},
		{"the peer", func(w *wire) { w.ends[0].SetNeighbour(w.address[1], w.now) }},
		{"the speed", func(w *wire) {
			s := settings(7)
			s.Inputs.Speed /= 10
			w.ends[0].Configure(s, w.now)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := idleWire(0)
			requests, _ := w.asked(time.Minute)
			assert.MustBeTrue(t, requests <= 1, "%d requests in a minute before", requests)
			tt.input(w)
			next := w.ends[0].Next()
			assert.True(t, next <= w.now, "the next request in %v", time.Duration(next-w.now))
			requests, _ = w.asked(10 * time.Second)
			assert.True(t, requests >= 8*10, "%d requests in 10 s after", requests)
		})
	}
}

// A link that grew unseen is measured again and again from the next request on, so that the headroom follows.
func TestIdleLinkThatGrows(t *testing.T) {
	w := idleWire(0)
	before := w.ends[0].Target()
	w.delay = [2]int64{90_000, 90_000}
	w.run(64*time.Second + 64*time.Second) // a whole multiple of 64 s, and one in which it settles
	w.run(4 * time.Minute)
	grown := w.ends[0].Target()
	assert.True(t, grown > before, "%d B, was %d", grown, before)
	w.delay = [2]int64{20_000, 20_000}
	w.ends[0].SetIdle(false, w.now) // else the window keeps what it holds
	w.run(20 * time.Minute)
	got := w.ends[0].Target()
	assert.True(t, !differs(got, before), "%d B where the link is as before, want about %d", got, before)
}
