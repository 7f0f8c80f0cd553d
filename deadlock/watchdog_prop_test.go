package deadlock

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// A history of one queue: what happens, and when, as a model that knows only moments, not polls.
type history struct {
	*rig
	q       *fakeQueue
	blocked int64 // since when it has held frames, sent none and been paused, 0 where it is not
}

// mark notes whether the queue is blocked from now on; sent tells that it sent a frame.
func (h *history) mark(sent bool) {
	switch {
	case h.q.Held == 0 || h.q.until <= h.now || sent:
		h.blocked = 0
	case h.blocked == 0:
		h.blocked = h.now
	}
	if h.q.Held > 0 && h.q.until > h.now && h.blocked == 0 {
		h.blocked = h.now
	}
}

// pass lets d pass, not beyond the end of a pause, so that the model sees it.
func (h *history) pass(d int64) {
	for d > 0 {
		step := d
		if left := h.q.until - h.now; left > 0 {
			step = min(step, left)
		}
		h.run(step)
		d -= step
		if h.q.until <= h.now {
			h.blocked = 0
		}
	}
}

// Polls are late and the switch is stopped at times. Only a queue that was blocked for the whole detection time is
// detected. With polls on time, a queue that was blocked for a period more is always detected. Nothing is left in force
// at the end.
func TestDetectionAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := patent()
		c.Period = rapid.SampledFrom(Periods).Draw(t, "period")
		c.Count = rapid.IntRange(LeastCount, 5).Draw(t, "count")
		c.Action = Alert // the history is the peer's alone
		period, detection := int64(c.Period), int64(c.DetectionTime())
		h := &history{rig: newRig()}
		onTime := rapid.Bool().Draw(t, "polls on time")
		if !onTime {
			h.lag = func() int64 { return rapid.Int64Range(0, 3*period).Draw(t, "lag") }
		}
		assert.Must(t, h.w.Set(0, "a", 1<<3, c, h.now))
		h.q = h.queue(0, 3)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			before, since := len(h.events), h.blocked
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				held := rapid.IntRange(0, 2).Draw(t, "held")
				left := held < h.q.Held // frames leave in no other way than by being sent
				if left {
					h.q.Sent += uint64(h.q.Held - held)
				}
				h.hold(h.q, held)
				h.mark(left)
			case 1:
				h.pause(h.q, rapid.Int64Range(0, 2*detection).Draw(t, "pause"))
				h.mark(false)
			case 2:
				h.q.Sent++
				h.mark(true)
			case 3:
				if !onTime {
					h.now += rapid.Int64Range(0, 20*period).Draw(t, "stop")
					if h.q.until <= h.now {
						h.blocked = 0
					}
				}
			default:
				h.pass(rapid.Int64Range(1, 3*detection).Draw(t, "time"))
			}
			detected := false
			for _, e := range h.events[before:] {
				if e.Kind == Detected {
					detected = true
				}
				assert.MustBeTrue(t, e.Kind != Detected || int64(e.Lasted) >= detection,
					"detected after %v, want %v at least: %+v", e.Lasted, c.DetectionTime(), e)
				assert.MustBeTrue(t, e.Kind != Detected || !onTime || since != 0 && e.At-since >= detection,
					"detected at %d, blocked since %d, %v are wanted", e.At, since, c.DetectionTime())
			}
			state := h.w.Status(nil, h.now)[0]
			assert.MustBeTrue(t, !onTime || h.blocked == 0 || h.now-h.blocked < detection+period || detected ||
				state.Detected != 0, "blocked for %d ms and not detected", (h.now-h.blocked)/ms)
		}
		h.lag = nil
		h.hold(h.q, 0)
		h.pause(h.q, 0)
		h.run(detection + int64(c.Recovery) + 2*period)
		s := h.w.Status(nil, h.now)[0]
		if s.State != Operational || s.Detected != s.Recovered || !h.q.await || h.w.Next() != math.MaxInt64 {
			t.Fatalf("at the end: %+v, await %v, next %d", s, h.q.await, h.w.Next())
		}
	})
}

// Changes of ports, links, settings and peers leave no order in force once all is quiet. Every transition is one of the
// drawing, and its event has a reason.
func TestNoQueueIsLeftStuck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig()
		f := follow(r)
		draw := func() Config {
			c := rapid.SampledFrom([]Config{patent(), sonic(), recurring(), {}}).Draw(t, "config")
			if c.Fast {
				c.Action = rapid.SampledFrom([]Action{Alert, Forward, Drop}).Draw(t, "action")
			}
			return c
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			port, n := rapid.IntRange(0, 1).Draw(t, "port"), rapid.Uint8Range(3, 4).Draw(t, "queue")
			q := r.queue(port, n)
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				mask := rapid.SampledFrom([]uint16{0, 1 << 3, 1<<3 | 1<<4}).Draw(t, "lossless")
				assert.Must(t, r.w.Set(port, string(rune('a'+port)), mask, draw(), r.now))
				r.collect()
			case 1:
				r.w.Remove(port, r.now)
				r.collect()
			case 2:
				r.flap(q)
			case 3:
				r.now += rapid.Int64Range(0, 3000*ms).Draw(t, "stop")
			case 4:
				r.hold(q, rapid.IntRange(0, 3).Draw(t, "held"))
			case 5:
				r.pause(q, rapid.Int64Range(0, 30_000*ms).Draw(t, "pause"))
			default:
				r.run(rapid.Int64Range(0, 25_000*ms).Draw(t, "time"))
			}
			f.check(t)
		}
		for _, q := range r.queues {
			r.hold(q, 0)
			q.load(r.now, 0)
			q.asked = 0
		}
		r.run(60_000 * ms)
		f.check(t)
		for k, q := range r.queues {
			assert.MustEqual(t, q.order, Obey, "port %d queue %d: order left in force", k.port, k.queue)
		}
		for _, s := range r.w.Status(nil, r.now) {
			assert.MustBeTrue(t, s.State == Operational && s.Detected == s.Recovered, "%+v", s)
		}
		assert.MustEqual(t, r.w.Next(), math.MaxInt64, "a time is asked for though nothing is stuck")
	})
}
