package traffic

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

var testMAC = [6]byte{2, 0, 0, 0, 0, 1}

// newTestSource is a source of the flows of c, without a sink.
func newTestSource(c SendConfig) (*source, []*flowState) {
	var flows []*flowState
	for _, f := range c.Flows {
		flows = append(flows, newFlow(f, addressing{tagged: true}))
	}
	return newSource(&c, flows, testMAC, 0), flows
}

// pause lets a PFC frame for priorities arrive, each with so many quanta.
func pause(s *source, priorities uint8, quanta uint16, now int64) {
	var all [8]uint16
	for q := range all {
		all[q] = quanta
	}
	s.receiver.Receive(macctl.AppendPFC(nil, testMAC, priorities, all), now, now)
}

func twoFlows() SendConfig {
	return SendConfig{Speed: 200_000_000, FlowControl: "pfc", Lossless: 1 << 3,
		Flows: []Flow{{Priority: 3, Octets: 1514, Weight: 1}, {Priority: 0, Octets: 1514, Weight: 1}}}
}

// run lets the source send from time now until end, with a kernel that takes everything.
func run(s *source, now, end int64) int64 {
	for now < end {
		if n := s.next(now); n > 0 {
			s.sent(n)
			continue
		}
		now = max(now+1, min(s.retry, end))
	}
	return now
}

func TestSourceKeepsItsSpeedAndWeights(t *testing.T) {
	s, flows := newTestSource(twoFlows())
	run(s, 0, 1_000_000_000)
	sent := int64(flows[0].sent+flows[1].sent) * 1538 * 8
	assert.True(t, sent <= int64(200_000_000+8*12500) && sent >= 199_900_000,
		"%d bits in a second, want 200,000,000 and at most a burst more", sent)
	d := int64(flows[0].sent) - int64(flows[1].sent)
	assert.True(t, d >= -2 && d <= 2, "equal weights sent %d and %d frames", flows[0].sent, flows[1].sent)
}

func TestSourceObeysPFC(t *testing.T) {
	s, flows := newTestSource(twoFlows())
	now := run(s, 0, 10_000_000)
	before := [2]uint64{flows[0].sent, flows[1].sent}
	pause(s, 1<<3, 1000, now) // 512 bit times each: 2.56 ms at 200 Mbit/s
	until := now + macctl.QuantaDuration(1000, 200_000_000)
	run(s, now, until-1)
	assert.True(t, flows[0].sent == before[0], "priority 3 sent %d frames while it was paused", flows[0].sent-before[0])
	assert.True(t, flows[1].sent != before[1], "priority 0 stood still, though only priority 3 was paused")
	run(s, until, until+10_000_000)
	assert.True(t, flows[0].sent != before[0], "priority 3 did not go on after its pause")
}

// A sender that waits for tokens of its port or its flows wakes up when they are there, whatever comes meanwhile. Where
// a pause holds all that waits, MAC Control frames matter.
func TestSourceIsHeldByPausesAlone(t *testing.T) {
	slow := Flow{Priority: 3, Octets: 1514, Weight: 1, Rate: 1_000_000}
	fast := Flow{Priority: 0, Octets: 1514, Weight: 1}
	for _, tt := range []struct {
		name   string
		flows  []Flow
		paused uint8
		held   bool
	}{
		{"no tokens in the port", []Flow{fast}, 0, false},
		{"no tokens in the port, and the flow is paused", []Flow{fast}, 1 << 0, true},
		{"no tokens in the port, and one of two flows is paused", twoFlows().Flows, 1 << 3, false},
		{"both are paused", twoFlows().Flows, 1<<3 | 1<<0, true},
		{"no tokens in the flow", []Flow{slow}, 0, false},
		{"no tokens in the flow, which is paused", []Flow{slow}, 1 << 3, false},
		{"no tokens in the flow, and the other one is paused", []Flow{slow, fast}, 1 << 0, true},
	} {
		c := twoFlows()
		c.Lossless, c.Flows = 0xff, tt.flows
		s, _ := newTestSource(c)
		for s.next(1) > 0 { // the port's bucket, or the flow's
			s.sent(s.plan.n)
		}
		pause(s, tt.paused, 0xffff, 1)
		assert.True(t, s.next(1) == 0 && s.retry > 1 && s.held() == tt.held,
			"%s: held %v, looks again at %d ns, want %v, and later", tt.name, s.held(), s.retry, tt.held)
	}
}

// A port that wakes up late by a fifth of what its bucket takes to fill keeps its rate, and wakes up for half a bucket
// at least.
func TestSourceWakesForHalfABucket(t *testing.T) {
	for _, speed := range []int64{10_000_000, 200_000_000, 1_000_000_000, 10_000_000_000} {
		c := twoFlows()
		c.Speed = speed
		s, flows := newTestSource(c)
		const second = 1_000_000_000
		late := c.burst() * 8 * second / speed / 5
		wakes := int64(0)
		for now := int64(0); now < second; {
			if n := s.next(now); n > 0 {
				s.sent(n)
				continue
			}
			wakes++
			now = s.retry + late
		}
		sent := int64(flows[0].sent+flows[1].sent) * 1538 * 8
		most := speed / 8 / (c.burst() / 2)
		assert.True(t, sent >= speed*99/100 && wakes <= most,
			"speed %d: %d bits in a second in %d wake-ups, want 99 %% of the speed in at most %d", speed, sent, wakes,
			most)
	}
}

// While a pause holds everything no tokens are earned, and the time is known.
func TestSourcePausedWhole(t *testing.T) {
	c := twoFlows()
	c.Flows = c.Flows[:1]
	s, flows := newTestSource(c)
	now := run(s, 0, 10_000_000)
	pause(s, 1<<3, 0xffff, now)
	assert.MustEqual(t, s.next(now), 0, "a paused source sends")
	later := now + 50_000_000
	pause(s, 1<<3, 0, later)
	before := flows[0].sent
	for s.next(later) > 0 {
		s.sent(s.plan.n)
	}
	n := flows[0].sent - before
	assert.True(t, n <= 9, "%d frames at once after the pause, want at most a burst of 12,500 octets", n)
	assert.Equal(t, s.blocked, 50_000_000, "ns blocked")
}

// A pause that holds a sender until its load ends, and beyond: up to the end it counts as held, not as behind, and what
// comes later does not count.
func TestPauseUntilTheEnd(t *testing.T) {
	c := twoFlows()
	c.Flows = c.Flows[:1]
	s := &sender{c: &c}
	s.source, s.flows = newTestSource(c)
	now := run(s.source, 0, 10_000_000)
	pause(s.source, 1<<3, 0xffff, now) // 168 ms at 200 Mbit/s
	assert.MustEqual(t, s.source.next(now), 0, "a paused source sends")
	s.endLoad(now + 50_000_000)
	pause(s.source, 1<<3, 0, now+100_000_000)
	r := s.report()
	assert.True(t, r.Behind <= 0.01 && r.Paused[3] == 50_000_000 && r.Elapsed == now+50_000_000 &&
		s.source.blocked == 50_000_000, "behind %.3f, paused for %d ns of %d\nwant 0, 50,000,000 of %d", r.Behind,
		r.Paused[3], r.Elapsed, now+50_000_000)
}

// What a pause holds of one flow with a rate is not behind, though another flow goes on; what nobody held is.
func TestBehindOfFlowsWithRates(t *testing.T) {
	const ms = int64(1_000_000)
	rated := func(priority uint8, rate int64) Flow {
		return Flow{Priority: priority, Octets: 1514, Weight: 1, Rate: rate}
	}
	both := []Flow{rated(3, 20_000_000), rated(0, 20_000_000)}
	for _, tt := range []struct {
		name   string
		flows  []Flow
		paused uint8
		asleep int64 // ns at the end in which the sender gets no CPU
		most   float64
		least  float64
	}{
		{"nothing is paused", both, 0, 0, .01, 0},
		{"one is paused", both, 1 << 3, 0, .01, 0},
		{"both are paused", both, 1<<3 | 1<<0, 0, .01, 0},
		{"one of two that want more than the port has",
			[]Flow{rated(3, 150_000_000), rated(0, 150_000_000)}, 1 << 3, 0, .01, 0},
		{"a slow one goes on beside a fast one that is paused",
			[]Flow{rated(3, 90_000_000), rated(0, 1_000_000)}, 1 << 3, 0, .02, 0},
		{"one is paused, and half of the time the sender sleeps", both, 1 << 3, 80 * ms, .51, .49},
	} {
		c := twoFlows()
		c.Lossless, c.Flows = 1<<3|1<<0, tt.flows
		s := &sender{c: &c}
		s.source, s.flows = newTestSource(c)
		pause(s.source, tt.paused, 0xffff, 0) // 168 ms at 200 Mbit/s
		now := run(s.source, 0, 160*ms-tt.asleep)
		s.endLoad(now + tt.asleep)
		if got := s.behind(); got > tt.most || got < tt.least {
			t.Errorf("%s: behind %.3f, want %v to %v", tt.name, got, tt.least, tt.most)
		}
	}
}

// What the kernel did not take is made again as it was: no sequence number is left out.
func TestSourceRepeatsWhatWasNotTaken(t *testing.T) {
	c := twoFlows()
	c.Speed = 10_000_000_000
	s, flows := newTestSource(c)
	b := port.NewBatch()
	var next [8]uint64
	for _, taken := range []int{3, 0, 1, 2} {
		n := s.next(0)
		assert.MustBeTrue(t, n >= taken, "planned %d frames", n)
		b.Reset()
		s.fill(b, 0)
		for i := range taken {
			m, _, err := parse(b.Frame(i, nil))
			assert.MustBeTrue(t, err == nil && m.sequence == next[m.priority],
				"priority %d has sequence %d, want %d (%v)", m.priority, m.sequence, next[m.priority], err)
			next[m.priority]++
		}
		s.sent(taken)
	}
	assert.True(t, flows[0].sent == next[3] && flows[1].sent == next[0],
		"sent %d and %d, want %d and %d", flows[0].sent, flows[1].sent, next[3], next[0])
}

// A send call takes one frame, or as many as 50 µs at the port's speed: what may follow after XOFF arrived.
func TestSourceSendCallLimit(t *testing.T) {
	for _, tt := range []struct {
		speed int64
		most  int64
	}{{200_000_000, 1538}, {10_000_000_000, 62500}, {0, 62500}} {
		c := twoFlows()
		c.Speed = tt.speed
		s, _ := newTestSource(c)
		var octets int64
		for _, q := range s.plan.queues[:s.next(0)] {
			octets += s.octets[q]
		}
		assert.True(t, octets <= tt.most && octets != 0,
			"speed %d: a send call of %d octets, want at most %d", tt.speed, octets, tt.most)
	}
}

func TestSourceRateFlow(t *testing.T) {
	c := twoFlows()
	c.Flows = []Flow{{Priority: 3, Octets: 1514, Weight: 1, Rate: 20_000_000}}
	s, flows := newTestSource(c)
	run(s, 0, 1_000_000_000)
	bits := int64(flows[0].sent) * int64(frame.WireOctets(1514)) * 8
	assert.True(t, bits <= 20_000_000+8*12500 && bits >= 19_900_000, "%d bits in a second, want 20,000,000", bits)
	assert.True(t, s.retry != math.MaxInt64, "a flow that waits for its rate has no time to look again")
}

func TestFillDoesNotAllocate(t *testing.T) {
	c := twoFlows()
	c.Speed = 0
	s, _ := newTestSource(c)
	b := port.NewBatch()
	now := int64(0)
	n := testing.AllocsPerRun(200, func() {
		now += 1000
		s.next(now)
		b.Reset()
		s.fill(b, now)
		s.sent(s.plan.n)
	})
	assert.True(t, n == 0, "sending allocates %v times a call", n)
}

func TestCheck(t *testing.T) {
	good := twoFlows()
	good.Duration = 1
	assert.Must(t, good.Check())
	for name, change := range map[string]func(*SendConfig){
		"no flow":      func(c *SendConfig) { c.Flows = nil },
		"no end":       func(c *SendConfig) { c.Duration = 0 },
		"priority 8":   func(c *SendConfig) { c.Flows[0].Priority = 8 },
		"twice":        func(c *SendConfig) { c.Flows[1].Priority = 3 },
		"too short":    func(c *SendConfig) { c.Flows[0].Octets = minRaw - 1 },
		"too long":     func(c *SendConfig) { c.Flows[0].Octets = port.MaxFrame + 1 },
		"weight zero":  func(c *SendConfig) { c.Flows[0].Weight = 0 },
		"VLAN 4095":    func(c *SendConfig) { c.VID = 4095 },
		"DSCP 64":      func(c *SendConfig) { c.DSCP = 64 },
		"back in time": func(c *SendConfig) { c.Duration, c.Count = -1, 1 },
	} {
		c := twoFlows()
		c.Duration = 1
		change(&c)
		assert.True(t, c.Check() != nil, "%s: not refused", name)
	}
}

// A load ends with its flows where no time is given, also before the count of the whole load. A flow ends by its own
// count or time. With a time the sender stays.
func TestLoadEndsWithItsFlows(t *testing.T) {
	for _, tt := range []struct {
		duration time.Duration
		count    uint64
	}{{0, 0}, {0, 1000}, {100 * time.Millisecond, 0}} {
		c := twoFlows()
		c.Duration, c.Count = tt.duration, tt.count
		c.Flows[0].Count = 5
		err := c.Check()
		assert.True(t, (err != nil) == (c.Duration == 0 && c.Count == 0), "%+v, a flow without an end: %v", tt, err)
		c.Flows[1].Rate, c.Flows[1].Lasts = 1_000_000, time.Millisecond
		assert.Must(t, c.Check())
		s, _ := testSender(t, c)
		s.prepare(testMAC)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		assert.Must(t, s.load(ctx))
		assert.True(t, ctx.Err() == nil && s.elapsed >= int64(tt.duration) && s.flows[0].sent == 5,
			"%+v: %d frames in %v, %v", tt, s.flows[0].sent, time.Duration(s.elapsed), ctx.Err())
		cancel()
	}
}

// Two flows without a count that begin together are one, wherever they stand; one with a count is another.
func TestFlowsThatBeginTogether(t *testing.T) {
	for _, tt := range []struct {
		counts []uint64
		good   bool
	}{{[]uint64{0, 5}, true}, {[]uint64{5, 0}, true}, {[]uint64{5, 5}, true}, {[]uint64{0, 5, 0}, false},
		{[]uint64{5, 0, 0}, false}, {[]uint64{0, 0, 5}, false}} {
		c := oneFlow(0, Shape{})
		c.Duration = 1
		f := c.Flows[0]
		c.Flows = nil
		for _, f.Count = range tt.counts {
			c.Flows = append(c.Flows, f)
		}
		err := c.Check()
		assert.True(t, (err == nil) == tt.good, "counts %v: %v", tt.counts, err)
	}
}

// Flows of one priority take turns, each in its own time, and share the port with another priority as one.
func TestSourceFlowsOfOnePriorityTakeTurns(t *testing.T) {
	const second = 1_000_000_000
	c := twoFlows()
	c.Flows = []Flow{{Priority: 3, Octets: 1514, Weight: 1, To: 1}, {Priority: 3, Octets: 1514, Weight: 1, To: 2},
		{Priority: 3, Octets: 1514, Weight: 1, To: 3, After: second / 2, Lasts: second / 4},
		{Priority: 0, Octets: 1514, Weight: 1}}
	s, flows := newTestSource(c)
	sent := func() (n [4]float64) {
		for i, f := range flows {
			n[i] = float64(f.sent) * 1538 * 8 / 1e6 // Mbit
		}
		return n
	}
	near := func(what string, got [4]float64, want ...float64) {
		t.Helper()
		for i := range want {
			assert.True(t, math.Abs(got[i]-want[i]) <= 0.3,
				"%s: flow %d sent %.1f Mbit, want %.1f", what, i, got[i], want[i])
		}
	}
	now := run(s, 0, second/2)
	near("alone", sent(), 25, 25, 0, 50)
	now = run(s, now, second*3/4)
	near("with a third", sent(), 25+25./3, 25+25./3, 25./3, 75)
	before := sent()
	pause(s, 1<<3, 0xffff, now)
	now = run(s, now, now+second/20)
	near("paused", sent(), before[0], before[1], before[2], before[3]+10)
	pause(s, 1<<3, 0, now)
	before = sent()
	run(s, now, now+second/10)
	near("without the third", sent(), before[0]+5, before[1]+5, before[2], before[3]+10)
}

// A flow with a rate begins at its time, and in a port's rest its sender wakes up for that.
func TestSourceFlowBeginsAndEnds(t *testing.T) {
	const ms = 1_000_000
	c := twoFlows()
	c.Flows = []Flow{{Priority: 3, Octets: 1514, Weight: 1, Rate: 20_000_000, After: 300 * ms, Lasts: 500 * ms}}
	s, flows := newTestSource(c)
	assert.True(t, s.next(0) == 0 && s.retry == 300*ms, "it looks again at %d", s.retry)
	run(s, 0, 300*ms)
	assert.Equal(t, flows[0].sent, 0, "it began early")
	run(s, 300*ms, 2000*ms)
	bits := int64(flows[0].sent) * 1538 * 8
	assert.True(t, bits >= 9_980_000 && bits <= 10_030_000, "%d bits in half a second, want 10,000,000", bits)
}

// Flows with a count begin in the order of their times, share the port while they last, and send no more. Frames are
// those of wrap, whatever length the frame before had.
func TestSourceFlowsWithACount(t *testing.T) {
	const n, gap = 500, 100 * time.Microsecond
	c := twoFlows()
	c.Flows = nil
	for i := range n { // the last first
		octets := []int{1514, 64, 900}[i%3]
		c.Flows = append(c.Flows, Flow{Priority: 3, Octets: octets, Weight: 1, To: uint64(i), Count: uint64(1 + i%7),
			After: (n - time.Duration(i)) * gap})
	}
	s, flows := newTestSource(c)
	batch, now := port.NewBatch(), int64(0)
	for end := int64(90 * time.Millisecond); now < end; { // the port needs 68 ms
		planned := s.next(now)
		if planned == 0 {
			now = max(now+1, min(s.retry, end))
			continue
		}
		batch.Reset()
		s.fill(batch, now)
		for i, f := range s.plan.flows[:planned] {
			want := wrap(addressing{tagged: true, octets: f.Octets}, message{kind: kindData, priority: 3, flow: f.id,
				sequence: s.plan.sequences[i], time: uint64(now)})
			assert.MustBeTrue(t, now >= f.from && bytes.Equal(f.frame(s.frames[i], s.plan.sequences[i], now), want),
				"flow to %d at %d: another frame than wrap makes", f.To, now)
		}
		s.sent(planned)
	}
	for _, f := range flows {
		assert.MustBeTrue(t, f.sent == f.Count, "flow to %d sent %d frames, want %d", f.To, f.sent, f.Count)
	}
	assert.True(t, len(s.queues[3].flows) == 0 && s.retry == math.MaxInt64, "ended flows are still looked at")
}

// The turn of the other flows of a priority stays when a flow ends.
func TestSourceTurnsStayWhenAFlowEnds(t *testing.T) {
	c := twoFlows()
	c.Speed = 0
	c.Flows = []Flow{{Priority: 3, Octets: 1514, Weight: 1, To: 1, Count: 1},
		{Priority: 3, Octets: 1514, Weight: 1, To: 2}, {Priority: 3, Octets: 1514, Weight: 1, To: 3}}
	s, _ := newTestSource(c)
	s.maxFrames = 1
	for i, want := range []uint64{1, 2, 3, 2, 3} {
		assert.MustEqual(t, s.next(int64(i)), 1, "frames of a call")
		assert.Equal(t, s.plan.flows[0].To, want, "whose turn it is in call %d", i)
		s.sent(1)
	}
}
