package traffic

import (
	"context"
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/macctl"
)

// A stall is what a sender is late by, from when it was due.
func TestStalls(t *testing.T) {
	const ms = int64(1_000_000)
	s := lateness{due: 100 * ms}
	for _, step := range []struct{ now, due, longest int64 }{ // when it looks, and when it is due then
		{101 * ms, 0, ms},
		{103 * ms, 0, 2 * ms},
		{106 * ms, 150 * ms, 3 * ms},     // and then it sleeps
		{149 * ms, 150 * ms, 3 * ms},     // woken early
		{220 * ms, 0, 70 * ms},           // 70 ms late
		{220*ms + 1, 1<<63 - 1, 70 * ms}, // nothing will be due
		{900 * ms, 0, 70 * ms},
	} {
		s.update(step.now)
		assert.Equal(t, s.longest, step.longest, "at %d: the longest", step.now)
		if step.due != 0 {
			s.due = step.due
		}
	}
}

// A slow port keeps the first send call for a while.
type slowPort struct {
	port.Port
	keeps time.Duration
}

func (p *slowPort) Send(b *port.Batch) (int, error) {
	time.Sleep(p.keeps)
	p.keeps = 0
	return p.Port.Send(b)
}

// A sender that stood still says so.
func TestSenderReportsItsStall(t *testing.T) {
	c := twoFlows()
	c.Duration = 100 * time.Millisecond
	near, _ := wire(t)
	const kept = 30 * time.Millisecond
	s := assert.Got(newSender(&c, &slowPort{near, kept}, senderAddress)).Must(t)
	t.Cleanup(func() { _ = s.poller.Close() })
	s.sink = sinkAddress
	s.prepare(testMAC)
	assert.Must(t, s.load(context.Background()))
	r := s.report()
	assert.True(t, r.LongestStall >= int64(kept) && r.LongestStall <= r.Elapsed,
		"the longest stall lasted %d ns of %d, want at least %v", r.LongestStall, r.Elapsed, kept)
}

// Whoever sleeps is due when something may go, or the load is over, and not before; the end of the load may be late
// too.
func TestStallOfASleeper(t *testing.T) {
	c := twoFlows()
	c.Duration = time.Second
	s, _ := testSender(t, c)
	s.source, s.flows = newTestSource(c)
	now := runner.Now()
	s.lateness = lateness{due: now}
	for _, tt := range []struct{ retry, end, want int64 }{{now + 1000, now + 5000, now + 1000},
		{now + 9000, now + 5000, now + 5000}} {
		s.source.retry = tt.retry
		assert.Must(t, s.sleep(now, tt.end))
		assert.Equal(t, s.lateness.due, tt.want, "%+v: due at", tt)
	}
	s.endLoad(now + 5000 + int64(40*time.Millisecond))
	assert.Equal(t, s.lateness.longest, int64(40*time.Millisecond), "the longest")
}

// A sender that reads on in a file, and has nothing to send before, does not sleep.
func TestSenderReadsOn(t *testing.T) {
	c := twoFlows()
	c.Duration = time.Minute
	s, _ := testSender(t, c)
	s.source, s.flows = newTestSource(c)
	short := 0
	for range 1000 {
		now := runner.Now()
		s.source.retry = now + readOn
		assert.Must(t, s.sleep(now, math.MaxInt64))
		if runner.Now()-now < int64(minimumSleep) {
			short++
		}
	}
	assert.True(t, short > 500, "it slept in %d of 1000 calls", 1000-short) // signals end some sleeps
}

// A MAC Control frame ends the sleep of a sender that a pause holds, and of no other.
func TestSleepsOfASender(t *testing.T) {
	const long = 20 * time.Millisecond
	c := twoFlows()
	c.Duration = time.Minute
	s, far := testSender(t, c)
	s.source, s.flows = newTestSource(c)
	xoff := macctl.AppendPFC(nil, testMAC, 0, [8]uint16{})
	assert.Must(t, far.SendControl(xoff)) // it waits all the time
	sleep := func() (longest time.Duration) {
		for range 10 { // a signal of the runtime's ends a sleep as well
			now := runner.Now()
			s.source.retry = now + int64(long)
			assert.Must(t, s.sleep(now, math.MaxInt64))
			longest = max(longest, time.Duration(runner.Now()-now))
		}
		return longest
	}
	got := sleep()
	assert.True(t, got >= long, "a sender that waits for tokens sleeps %v beside a control frame, want %v", got, long)
	s.source.blockedFrom = 1
	from := time.Now()
	sleep()
	assert.True(t, time.Since(from) < 10*long, "a control frame does not end the sleeps of a sender that is held")
}
