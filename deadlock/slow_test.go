package deadlock

import (
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// recurring is patent with slow detection: 25 detections fit into a period, and more than 5 are too many.
func recurring() Config {
	c := patent()
	c.Slow, c.SlowPeriod, c.Threshold = true, 10*time.Second, 5
	return c
}

// A deadlock keeps coming back. The first period stores the baseline, the end of the second switches PFC off for the
// queue, and that of the third switches PFC on again.
func TestRecurringDeadlock(t *testing.T) {
	r, q := watchOne(t, recurring())
	begun := r.now
	r.block(q)
	r.run(20_000*ms - 1)
	assert.MustBeTrue(t, !slices.Contains(r.kinds(), Recurring), "closed before the end of the second period")
	r.run(1)
	if e := r.event(t, Recurring, 0); e.At != begun+20_000*ms || q.order != Ignore || r.status(t).State != Closed ||
		r.status(t).Recurred != 1 {
		t.Fatalf("%+v, order %v, %+v", e, q.order, r.status(t))
	}
	before := r.status(t).Detected
	r.run(10_000*ms - 1)
	assert.True(t, q.order == Ignore && r.status(t).Detected == before, "order %v, %d detections while closed", q.order,
		r.status(t).Detected-before)
	r.run(1)
	if e := r.event(t, Reopened, 0); e.At != begun+30_000*ms || q.order != Obey || r.status(t).State != Operational {
		t.Errorf("%+v, order %v", e, q.order)
	}
	r.run(10_000 * ms) // the deadlock is still there
	if e := r.event(t, Recurring, 1); e.At != begun+40_000*ms {
		t.Errorf("closed again at %d ms, want the end of the next whole period", (e.At-begun)/ms)
	}
	if s := r.status(t); s.Detected < s.Recovered || s.Detected > s.Recovered+1 {
		t.Errorf("%+v: storms that began and ended do not match", s)
	}
}

// Detections up to the threshold are allowed, one more is not. They count within one period.
func TestThreshold(t *testing.T) {
	for detections, want := range map[int]bool{5: false, 6: true} {
		r, q := watchOne(t, recurring())
		r.run(10_000 * ms)
		strike := func() {
			r.block(q)
			r.run(200 * ms)
			q.asked, q.Held = 0, 0
			r.run(200 * ms)
		}
		for range detections {
			strike()
		}
		r.run(10_000*ms - int64(detections)*400*ms)
		assert.Equal(t, slices.Contains(r.kinds(), Recurring), want, "%d detections in a period: closed", detections)
	}
	r, q := watchOne(t, recurring())
	r.run(17_500 * ms)
	for range 10 { // five before the end of a period and five after it
		r.block(q)
		r.run(250 * ms)
		q.asked, q.Held = 0, 0
		r.run(250 * ms)
	}
	r.run(100_000 * ms)
	assert.True(t, !slices.Contains(r.kinds(), Recurring), "detections of two periods were added up")
	assert.Equal(t, r.w.Next(), math.MaxInt64, "slow detection keeps a time though nothing is detected any more")
}

// Slow detection of a port closes: another queue of it is not judged before the next whole period.
func TestSlowDetectionClosesByPort(t *testing.T) {
	r := newRig()
	r.set(t, 0, 1<<3|1<<4, recurring())
	begun := r.now
	q3, q4 := r.queue(0, 3), r.queue(0, 4)
	r.block(q3)
	r.run(20_000 * ms)
	assert.MustEqual(t, q3.order, Ignore, "not closed")
	r.block(q4)
	r.run(10_000*ms - 1)
	assert.True(t, q4.order != Ignore || len(r.kinds()) != 0, "nothing was detected")
	r.run(10_001 * ms)
	for _, e := range r.events {
		assert.True(t, e.Kind != Recurring || e.Queue != 4 || e.At == begun+40_000*ms,
			"queue 4 was closed at %d ms, want the end of the first whole period, 40000", (e.At-begun)/ms)
	}
	e := r.event(t, Recurring, 2)
	assert.True(t, e.Queue == 4 && e.At == begun+40_000*ms, "%+v", e)
}

// Detections behind a link that has gone down since do not switch PFC off for the next peer.
func TestThresholdIsOfOnePeer(t *testing.T) {
	for _, idle := range []bool{false, true} {
		r, q := watchOne(t, recurring())
		r.run(10_000 * ms)
		r.block(q)
		r.run(4000 * ms) // ten detections
		if idle {
			q.load(r.now, 0)
			q.asked, q.Held = 0, 0
			r.run(1000 * ms)
		}
		r.flap(q)
		r.run(60_000 * ms)
		assert.True(t, !slices.Contains(r.kinds(), Recurring),
			"idle when the link went down: %v; the new peer is not obeyed", idle)
	}
}

// A storm ends and is counted when the end of a slow period closes its queue. Frames that leave while PFC is off belong
// to no storm.
func TestClosedInAStorm(t *testing.T) {
	for name, reopen := range map[string]func(r *rig, q *fakeQueue){
		"the next period": func(r *rig, _ *fakeQueue) { r.run(9_000 * ms) },
		"flap":            func(r *rig, q *fakeQueue) { r.flap(q) },
	} {
		r, q := watchOne(t, recurring())
		r.run(100 * ms) // then the end of the second period is in the middle of a storm
		r.block(q)
		r.run(19_899 * ms)
		s := r.status(t)
		assert.MustBeTrue(t, s.State == Stormed, "%+v", s)
		q.Sent += 3
		q.Dropped += 2
		r.run(1 * ms)
		e := r.event(t, Recurring, 0)
		check := func(when string) {
			t.Helper()
			s := r.status(t)
			assert.True(t, s.Detected == s.Recovered && s.Sent == 3 && s.Dropped == 2 && s.LastSent == 3 &&
				s.LastDropped == 2 && s.Since == 0, "%s, %s: %+v", name, when, s)
		}
		assert.True(t, e.Sent == 3 && e.Dropped == 2 && e.Lasted == 100*time.Millisecond, "%+v", e)
		check("closed")
		q.Sent += 1000
		r.run(1000 * ms)
		check("closed for a second")
		reopen(r, q)
		r.event(t, Reopened, 0)
		check("open again")
	}
}

// Other settings of slow detection begin it anew: a period with only a baseline, and then one that is judged.
func TestSlowSettingsBeginAnew(t *testing.T) {
	for _, quiet := range []int64{0, 10_000 * ms} {
		r, q := watchOne(t, recurring())
		r.block(q)
		r.run(25_000 * ms)
		assert.MustEqual(t, r.status(t).State, Closed, "not closed")
		r.hold(q, 0)
		c := recurring()
		c.Threshold = 6
		begun := r.now
		r.set(t, 0, 1<<3, c)
		r.run(quiet)
		r.hold(q, 5)
		r.run(20_000*ms - quiet)
		e := r.event(t, Recurring, 1)
		assert.True(t, e.At == begun+20_000*ms,
			"%d ms without a deadlock: closed again %d ms after the change, want 20000", quiet/ms, (e.At-begun)/ms)
	}
}

// A flap, a change of settings and the end of slow detection each open a closed queue.
func TestClosedIsNoTrap(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, r *rig, q *fakeQueue){
		"flap":         func(_ *testing.T, r *rig, q *fakeQueue) { r.flap(q) },
		"slow off":     func(t *testing.T, r *rig, _ *fakeQueue) { r.set(t, 0, 1<<3, patent()) },
		"off":          func(t *testing.T, r *rig, _ *fakeQueue) { r.set(t, 0, 1<<3, Config{}) },
		"not lossless": func(t *testing.T, r *rig, _ *fakeQueue) { r.set(t, 0, 0, recurring()) },
		"removed":      func(_ *testing.T, r *rig, _ *fakeQueue) { r.w.Remove(0, r.now); r.collect() },
	} {
		r, q := watchOne(t, recurring())
		r.block(q)
		r.run(21_000 * ms)
		assert.MustEqual(t, q.order, Ignore, "not closed")
		do(t, r, q)
		r.event(t, Reopened, 0)
		assert.Equal(t, q.order, Obey, "%s: order", name)
	}
}
