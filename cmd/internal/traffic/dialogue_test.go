package traffic

import (
	"cmp"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/runner"
)

const (
	senderAddress = 0x020000000001
	sinkAddress   = 0x020000000002
	otherAddress  = 0x020000000003
)

// wire is a sender's end of a link, and the far end at which the test speaks.
func wire(t *testing.T) (near, far *porttest.End) {
	t.Helper()
	near, far, err := porttest.Pair(porttest.Options{Now: runner.Now, Slots: 4096})
	assert.Must(t, err)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// speak lets a station say m to the sender.
func speak(t *testing.T, far *porttest.End, from uint64, m message) {
	t.Helper()
	assert.Must(t, far.SendControl(wrap(addressing{destination: senderAddress, source: from, octets: minMessage}, m)))
}

func testSender(t *testing.T, c SendConfig) (*sender, *porttest.End) {
	t.Helper()
	near, far := wire(t)
	s := assert.Got(newSender(&c, near, senderAddress)).Must(t)
	t.Cleanup(func() { _ = s.poller.Close() })
	return s, far
}

// testSink is a sink, and the far end of its link.
func testSink(t *testing.T, c SinkConfig) (*sink, *porttest.End) {
	t.Helper()
	near, far := wire(t)
	c.FlowControl = cmp.Or(c.FlowControl, "off")
	s := assert.Got(newSink(&c, near, testMAC)).Must(t)
	t.Cleanup(func() { _ = s.poller.Close() })
	return s, far
}

// see lets a message arrive at a sink.
func see(s *sink, m message, stamp int64) {
	s.see(&port.Frame{Stamp: stamp, Data: wrap(addressing{destination: s.own, source: sinkAddress, octets: minMessage},
		m)}, 1)
}

// Several sinks answer a broadcast, and each reminds of itself later: the sender stays with the first.
func TestSenderStaysWithItsSink(t *testing.T) {
	s, far := testSender(t, twoFlows())
	speak(t, far, sinkAddress, message{kind: kindHelloAck})
	speak(t, far, otherAddress, message{kind: kindHelloAck})
	assert.True(t, s.readRings() && s.sink == sinkAddress, "the sink is %012x, want the first that answered", s.sink)
	speak(t, far, otherAddress, message{kind: kindHelloAck})
	assert.True(t, !s.readRings() && s.sink == sinkAddress, "the sink became %012x", s.sink)
}

func TestSenderTakesTheSinkThatItWasGiven(t *testing.T) {
	c := twoFlows()
	c.Destination = sinkAddress
	s, far := testSender(t, c)
	speak(t, far, otherAddress, message{kind: kindHelloAck})
	assert.True(t, !s.readRings() && s.sink == 0, "%012x was taken for the sink that was asked for", s.sink)
	speak(t, far, sinkAddress, message{kind: kindHelloAck})
	assert.True(t, s.readRings() && s.sink == sinkAddress, "the sink is %012x, want the one that was given", s.sink)
}

// Totals count where they come from the sender's own sink and concern a flow of this run.
func TestSenderTakesItsOwnTotals(t *testing.T) {
	s, far := testSender(t, twoFlows())
	s.sink = sinkAddress
	s.flows = []*flowState{{Flow: Flow{Priority: 3}, id: 7}, {Flow: Flow{Priority: 0}, id: 8}}
	speak(t, far, otherAddress, message{kind: kindFinAck, priority: 3, flow: 7})
	speak(t, far, sinkAddress, message{kind: kindFinAck, priority: 3, flow: 6})
	speak(t, far, sinkAddress, message{kind: kindFinAck, priority: 0, flow: 7})
	assert.True(t, !s.readRings() && len(s.answers) == 0, "totals of others were taken: %+v", s.answers)
	speak(t, far, sinkAddress, message{kind: kindFinAck, priority: 3, flow: 7, received: 5})
	assert.True(t, s.readRings() && s.answers[7].received == 5, "the sink's total was not taken: %+v", s.answers)
}

// Whoever makes up sources and flows cannot make a sink grow without end; what it cannot follow it neither counts as
// received nor answers.
func TestSinkFollowsSoManyFlows(t *testing.T) {
	s, far := testSink(t, SinkConfig{})
	comes := func(flow uint32, k kind) { see(s, message{kind: k, priority: 3, flow: flow, total: 1}, 0) }
	for flow := range uint32(MaxFlows + 5) {
		comes(flow, kindData)
	}
	comes(MaxFlows+9, kindFin)
	assert.True(t, len(s.flows) == MaxFlows && s.received == MaxFlows && s.foreign == 6,
		"%d flows, %d received, %d foreign, want %d, %d, 6", len(s.flows), s.received, s.foreign, MaxFlows, MaxFlows)
	assert.Equal(t, far.Backlog(port.Other).Frames, 0, "a total of a flow that is not followed was answered")
	comes(2, kindFin)
	assert.Equal(t, far.Backlog(port.Other).Frames, 1, "a total of a flow that is followed was not answered")
}

// What a sink holds itself is not lost: it answers no total, and does not end, before its peer was free for a while. A
// priority that cannot be held is not waited for.
func TestSinkHoldsWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name        string
		flowControl string
		priority    uint8
		received    uint64 // of 2 frames
		waits       bool
	}{
		{"held", "pfc", 3, 1, true},
		{"held by PAUSE", "pause", 3, 1, true},
		{"everything has come", "pfc", 3, 2, false},
		{"lossy", "pfc", 0, 1, false},
		{"no flow control", "off", 3, 1, false},
	} {
		s, _ := testSink(t, SinkConfig{FlowControl: tt.flowControl, Lossless: 1 << 3, Expect: 1,
			Block: Blocking{At: time.Now(), For: time.Hour}})
		m := message{priority: tt.priority, flow: 1, total: 2}
		begun := runner.Now()
		for m.sequence = range tt.received {
			s.data(&m, &frame.Header{Src: sinkAddress}, &port.Frame{Data: make([]byte, 60)}, begun)
		}
		answered := func(after time.Duration) bool {
			s.fin(&m, &frame.Header{Src: sinkAddress}, begun+int64(after))
			return s.control > 0
		}
		s.hold(begun + int64(time.Second))
		got := answered(time.Second + settleTime - 1)
		assert.True(t, got != tt.waits, "%s: answered %v", tt.name, got)
		assert.True(t, answered(time.Second+settleTime),
			"%s: no answer when the peer had been free for %v", tt.name, settleTime)
		later := begun + int64(time.Minute)
		assert.True(t, s.settled(later), "%s: not settled", tt.name)
		s.hold(later)
		assert.True(t, s.settled(later) != tt.waits, "%s: settled %v while the peer is held", tt.name, !tt.waits)
		assert.Must(t, s.pauser.close())
	}
}

// A sink lets its rings fill for no longer than the shortest frames at its speed take to fill a quarter of them, within
// bounds; one that blocks, or reads at a rate, looks as often as at any speed.
func TestSinkPause(t *testing.T) {
	for _, tt := range []struct {
		c    SinkConfig
		want time.Duration
	}{
		{SinkConfig{Speed: 200_000_000}, longPause},
		{SinkConfig{Speed: 1_000_000_000}, longPause},
		{SinkConfig{Speed: 2_000_000_000}, sinkSlots / 4 * 84 * 8 / 2},
		{SinkConfig{Speed: 10_000_000_000}, readPause},
		{SinkConfig{Speed: 100_000_000_000}, readPause},
		{SinkConfig{}, readPause}, // 10G
		{SinkConfig{Speed: 200_000_000, ReadRate: 1000}, readPause},
		{SinkConfig{Speed: 200_000_000, Block: Blocking{For: time.Second}}, readPause},
	} {
		assert.Equal(t, tt.c.pause(), tt.want, "%+v", tt.c)
	}
}

// A sink with a rate reads no more than that, also after a time in which nothing came.
func TestReadRateIsAMaximum(t *testing.T) {
	const second = int64(time.Second)
	for _, rate := range []int64{1, 1000, 1_000_000} {
		b := budget{rate: rate}
		now := second
		read := func(lasts int64) (n int64) {
			for end := now + lasts; now < end; now += int64(readPause) {
				for left := b.left(now); left > 0; left = b.left(now) {
					b.used += int64(left)
					n += int64(left)
				}
			}
			return n
		}
		steady := read(2 * second)
		now += 3600 * second
		burst := read(2 * second)
		most := 2*rate + max(256, rate/100)
		assert.True(t, steady >= 2*rate*99/100 && steady <= most && burst >= 2*rate*99/100 && burst <= most,
			"%d a second: %d in 2 s, and %d after an hour, want %d and %d at most", rate, steady, burst, 2*rate, most)
	}
	assert.Equal(t, (&budget{}).left(second), 256, "at once without a rate")
}

// What comes within the window counts in its part, and what comes before and after in none, however long the window is.
func TestSinkSlots(t *testing.T) {
	const long = 1 << 62
	for _, tt := range []struct {
		from, until int64
		stamps      []int64
		want        []uint64 // frames
	}{
		{1000, 1040, []int64{999, 1000, 1009, 1010, 1025, 1039, 1040}, []uint64{2, 1, 1, 1}},
		{1000, 1002, []int64{1000, 1001}, []uint64{1, 1, 0, 0}}, // shorter than its parts
		{1, long, []int64{1, 1 << 59, long - 1}, []uint64{2, 0, 0, 1}},
		{-long, long, []int64{-long, long - 1}, []uint64{1, 0, 0, 1}},
	} {
		s, _ := testSink(t, SinkConfig{Slots: 4, From: time.Unix(0, tt.from), Until: time.Unix(0, tt.until)})
		for n, stamp := range tt.stamps {
			see(s, message{kind: kindData, sequence: uint64(n)}, stamp)
		}
		got := s.report().Flows[0]
		sum := uint64(0)
		for i, bits := range got.SlotBits {
			sum += bits
			assert.Equal(t, bits, tt.want[i]*got.WindowBits/got.WindowFrames, "%d to %d: part %d has bits", tt.from,
				tt.until, i)
		}
		assert.True(t, sum == got.WindowBits && len(got.SlotBits) == 4,
			"%d to %d: %d parts with %d bits in all, want %d", tt.from, tt.until, len(got.SlotBits), sum,
			got.WindowBits)
	}
}

// A window that has ended before the first frame, or in which none came, is none.
func TestSinkWindow(t *testing.T) {
	for _, tt := range []struct {
		from, until int64
		stamps      []int64
		want        int64
	}{
		{1000, 2000, []int64{1200, 1500}, 800},
		{1000, 0, []int64{900, 1500}, 500},
		{1000, 2000, []int64{2500}, 0},
		{1000, 0, []int64{900}, 0},
		{1000, 0, nil, 0},
	} {
		c := SinkConfig{From: time.Unix(0, tt.from)}
		if tt.until != 0 {
			c.Until = time.Unix(0, tt.until)
		}
		s, _ := testSink(t, c)
		for n, stamp := range tt.stamps {
			see(s, message{kind: kindData, sequence: uint64(n)}, stamp)
		}
		assert.Equal(t, s.report().Window, tt.want, "from %d until %d, frames at %v: window in ns", tt.from, tt.until,
			tt.stamps)
	}
}

func TestSinkCheck(t *testing.T) {
	good := SinkConfig{Expect: 1, ReadRate: 1, Duration: 1}
	assert.Must(t, good.Check())
	for _, c := range []SinkConfig{{Expect: -1}, {ReadRate: -5}, {Duration: -1}, {Slots: 1}, {Slots: -1},
		{Slots: maxSlots + 1, From: time.Unix(1, 0), Until: time.Unix(2, 0)}} {
		assert.True(t, c.Check() != nil, "%+v: not refused", c)
	}
}

// Two senders that ask in step part.
func TestSendersAskUnevenly(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		d := jitter(helloPeriod)
		assert.MustBeTrue(t, d >= helloPeriod/2 && d < helloPeriod*3/2, "%v instead of %v", d, helloPeriod)
		seen[d] = true
	}
	assert.True(t, len(seen) >= 50, "%d different times of 100", len(seen))
}

// A window that ended before the first frame came has no rate.
func TestRateWithoutWindow(t *testing.T) {
	f := ReceivedFlow{WindowBits: 1000}
	a, b := f.Rate(0), f.Rate(500)
	assert.True(t, a == 0 && b == 2e9, "%d, %d bit/s", a, b)
}
