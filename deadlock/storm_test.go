package deadlock

import (
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

func TestActions(t *testing.T) {
	for action, want := range map[Action]Order{Alert: Obey, Forward: Ignore, Drop: Discard} {
		c := patent()
		c.Action = action
		r, q := watchOne(t, c)
		other := r.queue(0, 4)
		r.block(q)
		r.run(250 * ms)
		assert.True(t, q.order == want && other.order == Obey,
			"%v: order %v, want %v; the queue beside it %v", action, q.order, want, other.order)
		e := r.event(t, Detected, 0)
		assert.True(t, e.Action == action && e.Reason != "" && e.Name == "a" && e.Queue == 3, "%v: %+v", action, e)
		s := r.status(t)
		assert.True(t, s.Detected == 1 && s.Recovered == 0 && s.Blocked(), "%v: %+v", action, s)
	}
}

// The frames that a storm lets out and discards are counted, while it lasts and after.
func TestStormCounts(t *testing.T) {
	c := patent()
	c.Action = Drop
	r, q := watchOne(t, c)
	for storm := range uint64(2) {
		r.block(q)
		r.run(200 * ms)
		q.Sent++
		r.hold(q, 2)
		s := r.status(t)
		assert.True(t, s.LastSent == 1 && s.LastDropped == 7 && s.Sent == storm+1 && s.Dropped == 7*(storm+1) &&
			s.Since != 0, "storm %d: %+v", storm, s)
		r.pause(q, 0)
		q.asked = 0
		r.run(200 * ms)
		s = r.status(t)
		assert.True(t, s.State == Operational && s.LastDropped == 7 && s.Dropped == 7*(storm+1) &&
			s.Recovered == storm+1 && s.Since == 0, "after storm %d: %+v", storm, s)
		e := r.event(t, Recovered, int(storm))
		assert.True(t, e.Dropped == 7 && e.Sent == 1, "%+v", e)
	}
}

// A change of the action in the middle of a storm comes in force at once, and the storm ends in time.
func TestChangeOfActionInAStorm(t *testing.T) {
	orders := map[Action]Order{Alert: Obey, Forward: Ignore, Drop: Discard}
	for from := range orders {
		for to, want := range orders {
			c := patent()
			c.Action = from
			r, q := watchOne(t, c)
			r.block(q)
			r.run(300 * ms)
			c.Action = to
			r.set(t, 0, 1<<3, c)
			assert.Equal(t, q.order, want, "%v to %v: order", from, to)
			q.load(r.now, 0)
			q.asked, q.Held = 0, 0
			r.run(100 * ms)
			assert.True(t, q.order == Obey && q.await && r.status(t).State == Operational,
				"%v to %v: the queue is left stuck: order %v, await %v, %+v", from, to, q.order, q.await, r.status(t))
		}
	}
}

// TestChangeOfSettings changes other settings in a storm, and before.
func TestChangeOfSettings(t *testing.T) {
	r, q := watchOne(t, patent())
	r.block(q)
	r.run(300 * ms)
	c := patent()
	c.Recovery = 100 * time.Millisecond // which is over now
	r.set(t, 0, 1<<3, c)
	r.run(0)
	assert.Equal(t, r.event(t, Recovered, 0).At, r.now, "a shorter recovery time does not count from the detection")
	r.run(150 * ms) // armed again, one poll taken
	c.Count = 3
	r.set(t, 0, 1<<3, c)
	begun := r.now
	r.run(350 * ms)
	at := r.event(t, Detected, 1).At - begun
	assert.True(t, at == 300*ms, "detected %d ms after the count was changed, want 300", at/ms)
	r.set(t, 0, 0, c)
	if e := r.event(t, Recovered, 1); e.Reason != Unwatched || q.order != Obey || q.await {
		t.Errorf("a priority that is lossless no more: %+v, order %v, await %v", e, q.order, q.await)
	}
	r.set(t, 0, 1<<3, Config{})
	r.run(5000 * ms)
	assert.True(t, r.w.Next() == math.MaxInt64 && !q.await, "polls go on though fast detection is off")
	r.set(t, 0, 1<<3, patent()) // the queue is stuck already
	r.run(200 * ms)
	r.event(t, Detected, 2)
}

// A link that flaps ends the storm, also where it is up again at once. The next peer is obeyed.
func TestFlapInAStorm(t *testing.T) {
	for _, c := range []Config{patent(), sonic()} {
		r, q := watchOne(t, c)
		r.block(q)
		r.run(300 * ms)
		r.flap(q)
		e := r.event(t, Recovered, 0)
		assert.True(t, e.Reason == reasonLink && e.At == r.now, "%+v", e)
		assert.True(t, q.order == Obey && q.await && r.status(t).State == Operational, "order %v, await %v, %+v",
			q.order, q.await, r.status(t))
		begun := r.now
		r.block(q)
		r.run(1000 * ms)
		at := r.event(t, Detected, 1).At - begun
		assert.True(t, at == int64(c.DetectionTime()), "detected again after %d ms, want a whole detection time", at/ms)
	}
}

// SONiC's restoration needs a quiet peer, and a pause that would still run is not quiet.
func TestQuiet(t *testing.T) {
	r, q := watchOne(t, sonic())
	r.block(q)
	r.run(200 * ms)
	assert.MustBeTrue(t, q.order == Discard && r.status(t).State == Stormed, "order %v, %+v", q.order, r.status(t))
	for range 20 {
		r.pause(q, 50*ms)
		r.run(150 * ms)
	}
	assert.True(t, len(r.kinds()) == 1, "%v while XOFF comes", r.kinds())
	r.pause(q, 1000*ms) // one XOFF that lasts long
	r.run(1000 * ms)
	assert.True(t, len(r.kinds()) == 1, "%v while the last pause would last", r.kinds())
	quiet := r.now
	r.run(1000 * ms)
	if at := r.event(t, Recovered, 0).At - quiet; at < 200*ms || at > 400*ms {
		t.Errorf("restored %d ms after the peer was quiet, want 200 and at most a poll more", at/ms)
	}
}

// Under alert the peer is always obeyed. The storm is over once the queue is not blocked, though the peer still
// throttles it.
func TestQuietUnderAlert(t *testing.T) {
	c := sonic()
	c.Action = Alert
	r, q := watchOne(t, c)
	r.block(q)
	r.run(2000 * ms)
	got := r.kinds()
	assert.MustBeTrue(t, slices.Equal(got, []Kind{Detected}), "%v while it is blocked", got)
	r.now += 2000 * ms // the switch is stopped
	r.run(1)
	assert.True(t, len(r.kinds()) == 1, "%v: restored by the time for which the switch did not run", r.kinds())
	begun := r.now
	for range 10 {
		q.Sent++
		r.run(90 * ms)
		r.pause(q, 60_000*ms)
	}
	if e := r.event(t, Recovered, 0); e.At-begun > 600*ms || e.Reason != reasonUnblocked {
		t.Errorf("%d ms after frames leave again: %+v", (e.At-begun)/ms, e)
	}
}

// A switch that was stopped has not read what the peer sent, so that time is not quiet, whatever came before.
func TestQuietIsNotAStop(t *testing.T) {
	for _, before := range []int64{0, 200 * ms} {
		r, q := watchOne(t, sonic())
		r.block(q)
		r.run(200 * ms)
		q.asked = 0
		r.run(before)
		r.now += 2000 * ms
		r.run(1)
		assert.True(t, len(r.kinds()) == 1, "%v: restored by the time for which the switch did not run", r.kinds())
	}
}

// Where every poll is late, a storm ends too, once the peer was quiet at so many polls and at one more.
func TestQuietWhereEveryPollIsLate(t *testing.T) {
	c := sonic()
	r, q := watchOne(t, c)
	r.block(q)
	r.run(200 * ms)
	period := int64(c.Period)
	r.lag = func() int64 { return 2 * period } // three periods between two polls
	for range 5 {
		r.run(3 * period)
		r.pause(q, 1)
	}
	assert.True(t, len(r.kinds()) == 1, "%v: restored between two XOFFs", r.kinds())
	quiet := r.now
	r.run(60 * period)
	polls := int64(c.Recovery)/period + 3 // the first finds the last XOFF, the last proves the others
	at := r.event(t, Recovered, 0).At - quiet
	assert.True(t, at <= polls*3*period, "restored %d ms after the peer was quiet, want %d polls at most", at/ms, polls)
}

// A removed port takes its counters with it. The frames of the storm until then are kept.
func TestSave(t *testing.T) {
	c := patent()
	c.Action = Drop
	r, q := watchOne(t, c)
	r.block(q)
	r.run(250 * ms)
	q.Sent, q.Dropped = 4, q.Dropped+2
	r.w.SaveCounts(0, r.now)
	r.w.SaveCounts(9, r.now)
	delete(r.queues, fakeKey{0, 3})
	r.w.Remove(0, r.now)
	r.collect()
	e := r.event(t, Recovered, 0)
	assert.True(t, e.Sent == 4 && e.Dropped == 7 && e.Held == 0, "%+v, want 4 sent and 7 dropped", e)
}

// After restoration, an ignored pause that would still run is obeyed.
func TestRecoveryObeysTheStandingPause(t *testing.T) {
	r, q := watchOne(t, patent())
	r.hold(q, 5)
	r.pause(q, 1000*ms)
	r.run(400 * ms)
	got := r.kinds()
	assert.MustBeTrue(t, slices.Equal(got, []Kind{Detected, Recovered}), "%v", got)
	var v QueueState
	r.Read(0, 3, r.now, &v)
	assert.True(t, v.PausedNow && r.w.Next() == r.now+100*ms, "%+v, next poll in %d ms", v, (r.w.Next()-r.now)/ms)
}

// A port of 802.3x PAUSE is one queue.
func TestPausePort(t *testing.T) {
	r := newRig()
	r.set(t, 2, 1<<All, patent())
	q := r.queue(2, All)
	r.block(q)
	r.run(200 * ms)
	e := r.event(t, Detected, 0)
	assert.True(t, e.Queue == All && q.order == Ignore, "%+v, order %v", e, q.order)
}

// pauseSwitch is a switch on which All and the priorities have the same frames. It remembers the last call for priority
// 3.
type pauseSwitch struct{ await, obey bool }

func (o *pauseSwitch) Read(int, uint8, int64, *QueueState) {}

func (o *pauseSwitch) NotifyPaused(_ int, queue uint8, on bool) {
	if queue == 3 || queue == All {
		o.await = on
	}
}

func (o *pauseSwitch) Order(_ int, queue uint8, order Order, _ int64) {
	if queue == 3 || queue == All {
		o.obey = order == Obey
	}
}

// All and the priorities are watched apart: the end of one watch does not end the other.
func TestChangeOfMode(t *testing.T) {
	o := &pauseSwitch{}
	w := New(o)
	for i, mask := range []uint16{1 << 3, 1 << All, 1 << 3, 1 << 4, 1 << All} {
		assert.Must(t, w.Set(0, "a", mask, patent(), 1))
		assert.Equal(t, o.await, mask != 1<<4, "step %d: awaited", i)
	}
}

// Counts go on where a port of the same name comes back. A removed port leaves no poll behind.
func TestRemovedPort(t *testing.T) {
	r, q := watchOne(t, patent())
	r.block(q)
	r.run(300 * ms)
	r.w.Remove(0, r.now)
	r.collect()
	r.w.Remove(0, r.now)
	assert.True(t, q.order == Obey && !q.await && len(r.w.Status(nil, r.now)) == 0, "order %v, await %v, %+v", q.order,
		q.await, r.w.Status(nil, r.now))
	r.run(1000 * ms)
	assert.Equal(t, r.w.Next(), math.MaxInt64, "a poll is due at a port that is gone")
	retired := func(want int) {
		t.Helper()
		got := r.w.RemovedCounts(nil)
		assert.True(t, len(got) == want && (want != 1 || (got[0].Name == "a" && got[0].Queue == 3 &&
			got[0].Detected == 1 && got[0].Recovered == 1)),
			"%d queues of those that are gone have counts, want %d: %+v", len(got), want, got)
	}
	retired(1)
	assert.Must(t, r.w.Set(5, "a", 1<<4, patent(), r.now)) // it is back, and 3 is lossy
	retired(1)
	assert.Must(t, r.w.Set(5, "a", 1<<3, patent(), r.now))
	retired(0)
	s := r.status(t)
	assert.True(t, s.Detected == 1 && s.Recovered == 1 && s.State == Operational, "%+v", s)
	assert.Must(t, r.w.Set(5, "z", 1<<3, patent(), r.now)) // another one in its place
	s = r.status(t)
	assert.True(t, s.Detected == 0 && s.Name == "z", "%+v", s)
}
