package deadlock

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// These queues must never count as deadlocked, with the fastest and the usual settings, and by SONiC's rules.
func TestNoFalseAlarm(t *testing.T) {
	fast := patent()
	fast.Period = Periods[1]
	fifteen := patent()
	fifteen.Count = MostCount
	for _, tt := range []struct {
		name string
		run  func(r *rig, q *fakeQueue, detection int64)
	}{
		{"an idle queue that is paused", func(r *rig, q *fakeQueue, detection int64) {
			r.pause(q, 1<<50)
			r.run(20 * detection)
		}},
		{"a full queue that is not paused", func(r *rig, q *fakeQueue, detection int64) {
			r.hold(q, 1000)
			r.run(20 * detection)
		}},
		{"throttled to 90 % by short pauses", func(r *rig, q *fakeQueue, detection int64) {
			r.hold(q, 1000)
			for range 2000 {
				r.pause(q, 100_000)
				r.run(100_000)
				q.Sent += 9
				r.run(900_000)
			}
		}},
		{"throttled by 99.9 %, and nothing fits between", func(r *rig, q *fakeQueue, detection int64) {
			r.hold(q, 1000)
			for range 3000 {
				r.pause(q, 999_000)
				r.run(1_000_000)
			}
		}},
		{"15 bursts of half the detection time", func(r *rig, q *fakeQueue, detection int64) {
			for range 15 {
				r.hold(q, 100)
				r.pause(q, detection/2)
				r.run(detection/2 + 1)
				q.Sent += 100
				r.hold(q, 0)
				r.run(detection / 10)
			}
		}},
		{"15 bursts, the queue never empty", func(r *rig, q *fakeQueue, detection int64) {
			r.hold(q, 1000)
			for range 15 {
				r.pause(q, detection/2)
				r.run(detection/2 + 1)
				q.Sent++
			}
		}},
		{"paused without end, and trickling", func(r *rig, q *fakeQueue, detection int64) {
			r.block(q)
			for range 100 {
				r.run(detection / 3)
				q.Sent++
			}
		}},
		{"the link is down", func(r *rig, q *fakeQueue, detection int64) {
			r.block(q)
			r.run(detection / 2)
			r.flap(q)
			r.run(20 * detection)
		}},
		{"the switch is stopped for a second, again and again", func(r *rig, q *fakeQueue, detection int64) {
			for range 10 {
				r.hold(q, 10)
				r.pause(q, detection/2)
				r.run(detection / 3)
				r.now += max(1000*ms, 3*detection) // no poll in this time
				r.run(detection / 3)
				q.Sent += 10
				r.hold(q, 0)
			}
		}},
		{"the switch is stopped while it is paused, and runs for less than the detection time between",
			func(r *rig, q *fakeQueue, detection int64) {
				r.block(q)
				r.run(detection * 2 / 5)
				r.now += max(1000*ms, 3*detection)
				r.run(detection / 10)
			}},
	} {
		for name, c := range map[string]Config{"100 ms x 2": patent(), "10 ms x 2": fast, "100 ms x 15": fifteen} {
			r, q := watchOne(t, c)
			tt.run(r, q, int64(c.DetectionTime()))
			assert.Same(t, r.kinds(), nil, "%s: %s", tt.name, name)
		}
	}
}

// The same by SONiC's accumulator, whose polls are as long as the detection time.
func TestNoFalseAlarmSONiC(t *testing.T) {
	c := sonic()
	c.Period, c.Detection = 100*1_000_000, 400*1_000_000
	r, q := watchOne(t, c)
	r.hold(q, 100)
	for range 15 {
		r.pause(q, 200*ms)
		r.run(201 * ms)
		q.Sent++
	}
	r.pause(q, 350*ms)
	r.run(300 * ms)
	r.now += 1000 * ms
	r.run(99 * ms)
	r.pause(q, 390*ms)
	r.run(5000 * ms)
	got := r.kinds()
	assert.True(t, len(got) == 0, "%v", got)
	r.pause(q, 400*ms)
	r.run(5000 * ms)
	assert.Same(t, r.kinds(), []Kind{Detected, Recovered}, "blocked for the whole detection time")
}

// A priority without flow control is not polled, whatever happens there.
func TestUnwatchedQueue(t *testing.T) {
	r, _ := watchOne(t, patent())
	other := r.queue(0, 4)
	r.block(other)
	r.w.Notify(0, r.now)
	r.run(10_000 * ms)
	assert.True(t, !other.await && r.polls == 0 && len(r.kinds()) == 0, "await %v, %d polls, %v", other.await, r.polls,
		r.kinds())
	r.w.Notify(7, r.now) // nor a port that nobody knows
}

// A count that a stop of the switch interrupts goes on: a deadlock that outlasts it is found.
func TestStopOnlyDelaysDetection(t *testing.T) {
	c := patent()
	c.Count = 5
	r, q := watchOne(t, c)
	r.block(q)
	r.run(250 * ms) // two blocked polls
	r.now += 5000 * ms
	r.run(1)
	assert.MustBeTrue(t, len(r.kinds()) == 0, "%v by the time for which the switch did not run", r.kinds())
	begun := r.now
	r.run(1000 * ms)
	at := r.event(t, Detected, 0).At - begun
	assert.True(t, at >= 299*ms && at <= 400*ms, "detected %d ms after the stop, want three polls", at/ms)
}
