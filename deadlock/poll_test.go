package deadlock

import (
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// A queue that is blocked for good is detected after Count polls, not earlier. It recovers after its time.
func TestDetectionAndRecovery(t *testing.T) {
	for _, period := range Periods {
		for count := LeastCount; count <= MostCount; count++ {
			c := patent()
			c.Period, c.Count, c.Recovery = period, count, 70*time.Millisecond
			r, q := watchOne(t, c)
			begun := r.now
			r.block(q)
			r.run(int64(count)*int64(period) - 1)
			assert.MustBeTrue(t, len(r.kinds()) == 0, "%v x %d: %v a moment too early", period, count, r.kinds())
			r.run(1)
			e := r.event(t, Detected, 0)
			assert.MustBeTrue(t, e.At == begun+int64(count)*int64(period) && e.Lasted == time.Duration(count)*period &&
				e.Held == 5, "%v x %d: %+v", period, count, e)
			assert.MustBeTrue(t, q.order == Ignore && r.status(t).State == Stormed, "%v x %d: order %v, %+v", period,
				count, q.order, r.status(t))
			q.asked = 0 // the peer stops
			q.Sent, q.Held = 5, 0
			r.run(70*ms - 1)
			assert.MustEqual(t, q.order, Ignore, "%v x %d: obeyed again too early", period, count)
			r.run(1)
			e = r.event(t, Recovered, 0)
			if q.order != Obey || e.Sent != 5 || e.Lasted != 70*time.Millisecond || !q.await ||
				r.w.Next() != math.MaxInt64 {
				t.Fatalf("%v x %d: order %v, await %v, next %d, %+v", period, count, q.order, q.await, r.w.Next(), e)
			}
		}
	}
}

// TestJudge tries judge with its conditions at their borders.
func TestJudge(t *testing.T) {
	q := &queue{port: &port{config: patent()}, last: sample{sent: 7, paused: 1000}}
	elapsed := 100 * ms
	whole := QueueState{Held: 1, Sent: 7, PausedNs: 1000 + elapsed}
	for _, tt := range []struct {
		name    string
		change  func(r *QueueState)
		elapsed int64
		want    verdict
	}{
		{"all three", func(*QueueState) {}, elapsed, blocked},
		{"no frames", func(r *QueueState) { r.Held = 0 }, elapsed, free},
		{"one sent", func(r *QueueState) { r.Sent = 8 }, elapsed, free},
		{"a nanosecond free", func(r *QueueState) { r.PausedNs-- }, elapsed, free},
		{"two periods late", func(r *QueueState) { r.PausedNs += elapsed }, 2 * elapsed, blocked},
		{"later", func(r *QueueState) { r.PausedNs += 2 * elapsed }, 2*elapsed + 1, late},
		{"later, and free", func(r *QueueState) { r.Held = 0 }, 2*elapsed + 1, late},
	} {
		r := whole
		tt.change(&r)
		assert.Equal(t, q.judge(&r, tt.elapsed), tt.want, "%s", tt.name)
	}
}

// Polls that are late by less than a period do not add up.
func TestLatePollsDoNotAddUp(t *testing.T) {
	c := patent()
	c.Count = 15
	r, q := watchOne(t, c)
	r.lag = func() int64 { return 60 * ms }
	begun := r.now
	r.block(q)
	r.run(15*100*ms + 60*ms)
	at := r.event(t, Detected, 0).At - begun
	assert.True(t, at == 1560*ms, "detected after %d ms, want 1500 and the lateness of the last poll, 60", at/ms)
}

// A late poll that finds a queue which sent does not shorten the detection time after it.
func TestLatePollIsNoHeadStart(t *testing.T) {
	r, q := watchOne(t, patent())
	r.block(q)
	r.run(50 * ms)
	q.Sent++
	r.lag = func() int64 { return 90 * ms }
	r.run(150 * ms) // one poll, at 190 ms
	found := r.now - 10*ms
	r.lag = nil
	r.run(1000 * ms)
	e := r.event(t, Detected, 0)
	if got := e.At - found; got != 200*ms || e.Lasted != 200*time.Millisecond {
		t.Errorf("detected %d ms after the poll that found it free, blocked for %v, want 200 ms", got/ms, e.Lasted)
	}
}

// Frames that left before a poll, however late, begin the count anew.
func TestProgressCountsAtALatePoll(t *testing.T) {
	r, q := watchOne(t, patent()) // 2 polls, 100 ms apart
	r.block(q)
	r.run(100 * ms) // one blocked poll
	r.lag = func() int64 { return 110 * ms }
	q.Sent++
	r.run(210 * ms)
	sent := r.now
	r.lag = nil
	r.run(1000 * ms)
	at := r.event(t, Detected, 0).At - sent
	assert.True(t, at == 200*ms, "detected %d ms after a late poll that found progress, want 200", at/ms)
}

// No poll is due while no queue is stuck.
func TestIdlePaysNothing(t *testing.T) {
	r, q := watchOne(t, patent())
	r.hold(q, 5)
	r.run(10_000 * ms)
	r.hold(q, 0)
	r.pause(q, 10*ms)
	r.run(10_000 * ms)
	assert.True(t, r.polls == 0 && r.w.Next() == math.MaxInt64,
		"%d polls, next %d: frames without pause, and a pause without frames", r.polls, r.w.Next())
	r.hold(q, 1)
	r.pause(q, 150*ms)
	r.run(10_000 * ms)
	assert.True(t, r.polls == 2 && r.w.Next() == math.MaxInt64 && q.await,
		"%d polls at a pause of 150 ms, want 2; next %d, await %v", r.polls, r.w.Next(), q.await)
}

func TestPollDoesNotAllocate(t *testing.T) {
	r, q := watchOne(t, patent())
	r.block(q)
	r.run(1000 * ms)
	now := r.now
	n := testing.AllocsPerRun(1000, func() {
		now += 50 * ms
		r.w.Poll(now)
		r.w.Events()
	})
	assert.True(t, n == 0, "a poll allocates %v times", n)
}

// blockedSwitch is a switch whose queues are all blocked.
type blockedSwitch struct{}

func (*blockedSwitch) Read(_ int, _ uint8, now int64, r *QueueState) {
	r.Held, r.Sent, r.PausedNs, r.PausedNow, r.Requested = 3, 7, now, true, true
}
func (*blockedSwitch) NotifyPaused(int, uint8, bool)  {}
func (*blockedSwitch) Order(int, uint8, Order, int64) {}

// BenchmarkPoll256 is one poll at 256 queues that are stuck, the readings of a trivial switch included.
func BenchmarkPoll256(b *testing.B) {
	w := New(&blockedSwitch{})
	c := patent()
	c.Count = MostCount
	for p := range 32 {
		assert.Must(b, w.Set(p, string(rune('a'+p)), 0xff, c, 1))
	}
	got := len(w.active)
	assert.MustBeTrue(b, got == 256, "%d queues are armed", got)
	w.Events()
	now, polls := int64(1), 0
	for b.Loop() {
		if polls++; polls%(MostCount-1) == 0 { // never detected: the price of a poll is wanted
			for _, q := range w.active {
				q.pollsLeft = MostCount
			}
		}
		now += 100 * ms
		w.Poll(now)
	}
}
