package lldp

import (
	"fmt"
	"math"
	"testing"

	"pfcswitch/dataplane/assert"
)

// run runs an Agent until end, and returns the TTLs of its frames by second.
func (r *recorder) run(end int64) {
	for {
		for _, p := range sent(r.t, r.a) {
			r.log = append(r.log, fmt.Sprintf("%d:%d", r.now/second, p.TTL))
		}
		next := r.a.Next()
		if next > end {
			r.now = end
			r.a.Advance(end)
			return
		}
		assert.MustBeTrue(r.t, next > r.now, "at %d: next %d", r.now, next)
		r.now = next
		r.a.Advance(r.now)
	}
}

// A recorder is an Agent under virtual time.
type recorder struct {
	t   *testing.T
	a   *Agent
	now int64
	log []string
}

func record(t *testing.T) *recorder { return &recorder{t: t, a: NewAgent(config(leaf, leafMAC))} }

func (r *recorder) want(what string, log ...string) {
	r.t.Helper()
	assert.Same(r.t, r.log, log, "%s: sent", what)
	r.log = nil
}

func (r *recorder) receive(frame []byte) { r.a.Receive(frame, r.now) }

func TestTransmitTimers(t *testing.T) {
	r := record(t)
	r.run(10 * second)
	r.want("link down")
	assert.Equal(t, r.a.Next(), math.MaxInt64, "link down: next")
	r.a.SetLink(true, r.now)
	r.run(75 * second)
	r.want("every interval", "10:121", "40:121", "70:121")

	r.receive(announcement(spine, 200))
	r.run(110 * second)
	r.want("a new neighbour is greeted", "75:121", "76:121", "77:121", "78:121", "108:121")
	r.receive(announcement(spine, 200))
	r.run(130 * second)
	r.want("one that is known is not")

	for i := range 7 { // more news than credit
		r.a.SetOrganization([]Organization{{OUI: OUI{1, 2, 3}, Subtype: uint8(i)}}, r.now)
		r.run(r.now)
	}
	r.run(140 * second)
	r.want("five frames at once, then one a second", "130:121", "130:121", "130:121", "130:121", "130:121", "131:121")
	r.a.SetOrganization([]Organization{{OUI: OUI{1, 2, 3}, Subtype: 6}}, r.now)
	r.run(150 * second)
	r.want("the same again is no news")
	r.run(162 * second)
	r.want("the interval counts from the news", "160:121")

	r.a.SetLink(false, r.now)
	r.run(200 * second)
	r.want("link down")
	r.a.SetLink(true, r.now)
	r.run(201 * second)
	r.want("link up", "200:121")
}

func TestShutdown(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	r.receive(announcement(spine, 200))
	r.run(20 * second)
	r.log = nil
	r.a.SetOn(false, r.now)
	r.run(40 * second)
	r.want("says goodbye once", "20:0")
	assert.Equal(t, len(r.a.Neighbours()), 0, "neighbours of an agent that is off")
	r.receive(announcement(spine, 200))
	assert.Equal(t, len(r.a.Neighbours()), 0, "an agent that is off listens")
	r.a.SetOn(true, r.now)
	r.run(41 * second)
	r.want("speaks again", "40:121")

	r.a.SetOn(false, r.now)
	r.a.SetOn(true, r.now)
	r.run(45 * second)
	r.want("but not sooner than two seconds after it said goodbye", "41:0", "43:121")

	c := r.a.Config()
	c.Local.Port.Value = "p2"
	r.a.Configure(c, r.now)
	assert.Equal(t, r.a.Config().Local.Port.Value, "p2", "announced")
	r.run(50 * second)
	r.want("another speaker", "45:0", "47:121")
	c.Local.SystemName = "other"
	r.a.Configure(c, r.now)
	r.run(60 * second)
	r.want("other data of the same", "50:121")

	r.a.SetLink(false, r.now)
	c.Local.Port.Value = "p3"
	r.a.Configure(c, r.now)
	r.a.SetLink(true, r.now)
	r.run(61 * second)
	r.want("another speaker while the link is down", "60:121")
}

func TestNeighbours(t *testing.T) {
	r := record(t)
	names := func(want ...string) {
		t.Helper()
		var got []string
		for _, n := range r.a.Neighbours() {
			got = append(got, n.Name()+" "+n.PortText())
		}
		assert.Same(t, got, want, "at %d s: neighbours", r.now/second)
	}
	events := func(want ...EventKind) {
		t.Helper()
		var got []EventKind
		for _, e := range r.a.Events() {
			got = append(got, e.Kind)
		}
		assert.Same(t, got, want, "at %d s: events", r.now/second)
	}
	r.receive(announcement(spine, 10))
	names() // the link is down
	r.a.SetLink(true, 0)
	r.receive(announcement(spine, 10))
	names("spine p7")
	events(EventNew)
	r.run(9 * second)
	r.receive(announcement(spine, 10))
	r.run(19*second - 1)
	names("spine p7")
	r.run(19 * second)
	names()
	events(EventAged)

	other := spine
	other.Port.Value, other.SystemName = "p8", "other"
	r.receive(announcement(spine, 100))
	r.receive(announcement(other, 100))
	other.SystemName = "renamed"
	r.receive(announcement(other, 100))
	names("spine p7", "renamed p8")
	events(EventNew, EventAnother)
	n := r.a.Neighbours()[1]
	assert.True(t, n.Frames == 2 && n.Source == spineMAC && n.Changed == r.now, "neighbour %+v", n)
	moved := announcement(other, 100)
	moved[11]++
	r.receive(moved)
	n = r.a.Neighbours()[1]
	assert.True(t, n.Source == [6]byte(moved[6:]) && n.Frames == 3, "the same from another address: %+v", n)
	r.receive(announcement(other, 0))
	r.receive(announcement(other, 0))
	names("spine p7")
	events(EventShutdown)
	r.receive(announcement(leaf, 100)) // an own frame that came back
	names("spine p7")
	r.a.SetLink(false, r.now)
	names()
	events(EventGone)
	s := r.a.Statistics()
	assert.True(t, s.Ageouts == 1 && s.FramesReceived == 9 && s.FramesDiscarded == 0, "statistics %+v", s)
}

func TestStatistics(t *testing.T) {
	a := NewAgent(config(leaf, leafMAC))
	a.SetLink(true, 0)
	frame := func(parts ...string) []byte {
		return append(assert.Hex(t, "0180c200000e 020000000002 88cc"), assert.Hex(t, parts...)...)
	}
	for _, f := range [][]byte{
		frame(chassis, "0403 05 7037", lifetime, "0e03 001400", "1402 abcd", end),
		frame(chassis, port),
		assert.Hex(t, "0180c2000000 020000000002 88cc", chassis, port, lifetime, end),
	} {
		a.Receive(f, 1)
	}
	want := Statistics{FramesSent: 5, FramesReceived: 3, FramesDiscarded: 2, FramesInErrors: 2, TLVsDiscarded: 1,
		TLVsUnrecognized: 1}
	for range 3 {
		a.Advance(a.Next())
	}
	got := a.Statistics()
	assert.True(t, got == want, "got %+v\nwant %+v", got, want)
}

// A thousand neighbours need no more memory than MaxNeighbours, and hide no more events than a few.
func TestThousandNeighbours(t *testing.T) {
	r := record(t)
	r.a.SetLink(true, 0)
	for i := range 1000 {
		p := spine
		p.Port.Value = fmt.Sprintf("p%d", i)
		r.receive(announcement(p, 100))
	}
	assert.Equal(t, len(r.a.Neighbours()), MaxNeighbours, "neighbours")
	assert.Equal(t, r.a.Statistics().NotStored, 1000-MaxNeighbours, "had to make room")
	assert.Equal(t, len(r.a.Events()), eventBurst, "events")
	n := len(sent(t, r.a))
	assert.True(t, n <= CreditMax, "%d frames to greet them", n)
	r.run(200 * second)
	assert.Equal(t, len(r.a.Neighbours()), 0, "neighbours left")
	r.receive(announcement(spine, 100))
	e := r.a.Events()
	assert.True(t, len(e) != 0 && e[len(e)-1].Kind == EventNew, "later events are lost: %+v", e)
}

// However many neighbours come and go, events are few: a burst, and then one in a while.
func TestEventsAreFew(t *testing.T) {
	for _, asks := range []bool{true, false} {
		r, events := record(t), 0
		r.a.SetLink(true, 0)
		for i := range 1000 { // one comes or goes every 100 ms
			r.receive(announcement(spine, uint16(10*(1-i%2))))
			r.now += second / 10
			r.a.Advance(r.now)
			if asks {
				events += len(r.a.Events())
			}
		}
		events += len(r.a.Events())
		most := eventBurst + int(r.now/eventPeriod)
		assert.True(t, (!asks || (events <= most && events >= most-2)) && (asks || events == eventBurst),
			"asked in between %t: %d events", asks, events)
	}
}

// An Agent whose frames are not fetched does not collect them. An Agent that was idle for a day catches up quickly.
func TestNobodyAsks(t *testing.T) {
	a := NewAgent(config(leaf, leafMAC))
	a.SetLink(true, 0)
	for i := range 100 {
		a.SetOrganization([]Organization{{Subtype: uint8(i)}}, int64(i)*10*second)
	}
	a.Advance(86400 * second)
	n := len(sent(t, a))
	assert.True(t, n <= maxOut, "%d frames", n)
	next := a.Next()
	assert.True(t, next > 86400*second && next <= 86431*second, "next %d", next)
}

// Two Agents with fast start know each other at once, and then keep to the interval.
func TestTwoAgents(t *testing.T) {
	one, two := record(t), &recorder{t: t, a: NewAgent(config(spine, spineMAC))}
	frames := 0
	carry := func(from, to *Agent, now int64) bool {
		f := from.Transmit()
		if f != nil {
			frames++
			to.Receive(f, now)
		}
		return f != nil
	}
	one.a.SetLink(true, 0)
	two.a.SetLink(true, 0)
	for now := int64(0); now < 60*second; now = min(one.a.Next(), two.a.Next()) {
		one.a.Advance(now)
		two.a.Advance(now)
		for carry(one.a, two.a, now) || carry(two.a, one.a, now) {
		}
		assert.MustBeTrue(t, len(one.a.Neighbours()) == 1 && len(two.a.Neighbours()) == 1,
			"at %d: they do not know each other", now)
	}
	assert.True(t, frames >= 10 && frames <= 14, "%d frames in the first minute", frames)
}
