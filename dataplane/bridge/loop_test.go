package bridge

import (
	"slices"
	"testing"

	"pfcswitch/dataplane/frame"
)

// newGuarded returns a bridge with n ports that are up and look for loops.
func newGuarded(t testing.TB, n int) *Bridge {
	t.Helper()
	b := newPlain(t, n, Config{})
	for i := range n {
		setPort(t, b, i, guarded())
	}
	return b
}

func guarded() PortConfig {
	c := plain()
	c.Loop = true
	return c
}

func ownProbe(sender int) Probe { return Probe{Identity: testIdentity, Port: uint16(sender)} }

func wantEvent(t testing.TB, what string, got, want LoopEvent) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// handle handles an own probe and returns the event.
func handle(t testing.TB, b *Bridge, sender, in int, now int64) LoopEvent {
	t.Helper()
	own, ev := b.HandleProbe(ownProbe(sender), in, now)
	if !own {
		t.Errorf("the probe of port %d was not recognised as an own one", sender)
	}
	return ev
}

func TestLoopTick(t *testing.T) {
	b := newGuarded(t, 3)
	if got := b.LoopDeadline(2); got != 0 {
		t.Errorf("deadline %d of a new port, want 0", got)
	}
	for seq := range uint32(3) {
		want := Probe{Identity: testIdentity, Port: 2, Sequence: seq + 1}
		got, send, ev := b.LoopTick(2, int64(seq)*second)
		if got != want || !send || ev.Happened() {
			t.Errorf("got %+v, %v, %+v; want %+v, true and no event", got, send, ev, want)
		}
	}
	if _, send, _ := b.LoopTick(2, 2*second+1); send {
		t.Error("a probe before its time")
	}
	if got := b.LoopDeadline(2); got != 3*second {
		t.Errorf("deadline %d, want %d", got, 3*second)
	}
}

// TestLoopShutsBothWays: a shut port neither sends nor accepts flooded frames, and nothing is learned from looped
// frames.
func TestLoopShutsBothWays(t *testing.T) {
	b := newGuarded(t, 3)
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	ev := handle(t, b, 1, 2, 10)
	wantEvent(t, "event", ev, LoopEvent{Reason: ProbeReturned, Port: 2})
	if ev.Flooding() || !ev.Happened() || b.LoopState(2) != LoopShut || b.LoopState(1) != LoopWatching {
		t.Errorf("event %+v, port 2 %v, port 1 %v", ev, b.LoopState(2), b.LoopState(1))
	}
	wantDecision(t, "out", b.Forward(0, frame.Broadcast, stationA, 1, 60, 11), flood(Broadcast, 1))
	wantDecision(t, "the same frame, round the loop", b.Forward(2, frame.Broadcast, stationA, 1, 60, 12),
		drop(DropFiltered))
	wantDecision(t, "unknown unicast in", b.Forward(2, stranger, stationA, 1, 60, 12), drop(DropFiltered))
	wantDecision(t, "A is where it was", b.Forward(1, stationA, 0, 1, 60, 13), unicast(0))
	wantCounters(t, b, Counters{Entries: 1})

	wantDecision(t, "known unicast in", b.Forward(2, stationA, stationC, 1, 60, 14), unicast(0))
	wantDecision(t, "known unicast out", b.Forward(0, stationC, stationA, 1, 60, 15), unicast(2))

	_, _, ev = b.LoopTick(2, 10+holdoff)
	wantEvent(t, "after the hold-off", ev, LoopEvent{Reason: HoldoffPassed, Port: 2})
	if !ev.Flooding() {
		t.Error("flooding still off")
	}
	wantDecision(t, "out again", b.Forward(0, frame.Broadcast, stationA, 1, 60, 10+holdoff), flood(Broadcast, 1, 2))
	wantDecision(t, "in again", b.Forward(2, frame.Broadcast, stationC, 1, 60, 10+holdoff), flood(Broadcast, 0, 1))
}

// TestPortToShut lists which port a probe shuts, by what is shut before it comes.
func TestPortToShut(t *testing.T) {
	for _, tt := range []struct {
		name         string
		shut         []int
		unguarded    []int
		sender, in   int
		want         []int // shut afterwards
		wantReturned []int // ports whose hold-off begins anew
	}{
		{"loop behind one port", nil, nil, 1, 1, []int{1}, []int{1}},
		{"the receiver", nil, nil, 1, 2, []int{2}, []int{2}},
		{"the receiver, from a higher port", nil, nil, 2, 1, []int{1}, []int{1}},
		{"the other direction of the same loop", []int{2}, nil, 2, 1, []int{2}, []int{2}},
		{"the same direction again", []int{2}, nil, 1, 2, []int{2}, []int{2}},
		{"both shut, upwards", []int{1, 2}, nil, 1, 2, []int{1, 2}, []int{2}},
		{"both shut, downwards", []int{1, 2}, nil, 2, 1, []int{1, 2}, []int{2}},
		{"both shut, but a loop behind one", []int{1, 2}, nil, 1, 1, []int{1, 2}, []int{1}},
		{"another loop of a third port", []int{2}, nil, 1, 3, []int{2, 3}, []int{3}},
		{"the receiver does not look", nil, []int{2}, 1, 2, []int{1}, []int{1}},
		{"the sender no longer looks", nil, []int{1}, 1, 2, []int{2}, []int{2}},
		{"neither looks", nil, []int{1, 2}, 1, 2, nil, nil},
		{"a port that we do not have", nil, nil, 5000, 2, []int{2}, []int{2}},
		{"a port that was never set", nil, nil, 200, 2, []int{2}, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newGuarded(t, 4)
			for _, i := range tt.unguarded {
				setPort(t, b, i, plain())
			}
			for _, i := range tt.shut {
				handle(t, b, i, i, 1)
			}
			ev := handle(t, b, tt.sender, tt.in, 2)
			var shut, returned []int
			for i := range 4 {
				if b.LoopState(i) == LoopShut {
					shut = append(shut, i)
				}
				if b.ports[i].guard.returned == 2 {
					returned = append(returned, i)
				}
			}
			if !slices.Equal(shut, tt.want) || !slices.Equal(returned, tt.wantReturned) {
				t.Errorf("shut %v, hold-off anew %v; want %v, %v", shut, returned, tt.want, tt.wantReturned)
			}
			if got, want := ev.Happened(), len(tt.want) > len(tt.shut); got != want {
				t.Errorf("event: %+v, want one: %v", ev, want)
			}
		})
	}
}

func TestForeignProbe(t *testing.T) {
	b := newGuarded(t, 2)
	p := ownProbe(0)
	p.Identity[7]++
	own, ev := b.HandleProbe(p, 1, 5)
	if own || ev.Happened() || b.LoopState(1) != LoopWatching {
		t.Errorf("own %v, event %+v, port 1 %v", own, ev, b.LoopState(1))
	}
}

func TestLoopEndsWithLinkOrSetting(t *testing.T) {
	b := newGuarded(t, 3)
	handle(t, b, 1, 1, 0)
	wantEvent(t, "down", b.SetUp(1, false), LoopEvent{Reason: LinkDown, Port: 1})
	wantEvent(t, "down again", b.SetUp(1, false), LoopEvent{})
	if got := b.LoopDeadline(1); got != NoDeadline {
		t.Errorf("deadline %d while down", got)
	}
	wantEvent(t, "up", b.SetUp(1, true), LoopEvent{})
	wantDecision(t, "floods", b.Forward(0, frame.Broadcast, stationA, 1, 60, 1), flood(Broadcast, 1, 2))

	handle(t, b, 1, 1, 2)
	wantEvent(t, "unchanged", setPort(t, b, 1, guarded()), LoopEvent{})
	wantDecision(t, "still shut", b.Forward(0, frame.Broadcast, stationA, 1, 60, 3), flood(Broadcast, 2))
	wantEvent(t, "loop: off", setPort(t, b, 1, plain()), LoopEvent{Reason: DetectionOff, Port: 1})
	wantDecision(t, "floods", b.Forward(0, frame.Broadcast, stationA, 1, 60, 4), flood(Broadcast, 1, 2))
	handle(t, b, 1, 1, 5)
	wantDecision(t, "does not look any more", b.Forward(0, frame.Broadcast, stationA, 1, 60, 6), flood(Broadcast, 1, 2))

	handle(t, b, 2, 2, 7)
	b.RemovePort(2)
	setPort(t, b, 2, guarded())
	wantEvent(t, "the next port of that index", b.SetUp(2, true), LoopEvent{})
	wantDecision(t, "floods", b.Forward(0, frame.Broadcast, stationA, 1, 60, 8), flood(Broadcast, 1, 2))
}

// TestLoopThroughAnotherSwitch simulates a switch whose ports 1, 2 and 3 are on one segment, so that each port gets the
// probes of the two others. One port goes on flooding. When that port goes down, another takes its place.
func TestLoopThroughAnotherSwitch(t *testing.T) {
	b := newGuarded(t, 4)
	floods := func() (open []int) {
		for i := 1; i < 4; i++ {
			if b.up.Has(i) && b.LoopState(i) == LoopWatching {
				open = append(open, i)
			}
		}
		return open
	}
	run := func(from, to int64) {
		for now := from; now < to; now += second {
			for i := range 4 {
				p, send, _ := b.LoopTick(i, now)
				for in := 1; in < 4; in++ {
					if send && i >= 1 && in != i && b.up.Has(in) {
						b.HandleProbe(p, in, now)
					}
				}
			}
		}
	}
	run(0, 100*second)
	if got := floods(); !slices.Equal(got, []int{1}) {
		t.Errorf("ports %v flood into the segment, want [1]", got)
	}
	b.SetUp(1, false)
	run(100*second, 129*second)
	if got := floods(); got != nil {
		t.Errorf("ports %v flood before the hold-off has passed", got)
	}
	run(129*second, 200*second)
	if got := floods(); !slices.Equal(got, []int{2}) {
		t.Errorf("ports %v flood into the segment, want [2]", got)
	}
}

const (
	interval = second
	holdoff  = 30 * second
)

// TestLoopGuard walks through the states. Each step is one input, with the state and the result that it leads to.
func TestLoopGuard(t *testing.T) {
	type step struct {
		at       int64
		input    string // arm, disarm, back, tick
		state    LoopState
		reason   LoopReason
		send     bool
		deadline int64
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"idle does nothing", []step{
			{0, "tick", LoopIdle, NoLoopEvent, false, NoDeadline},
			{1, "back", LoopIdle, NoLoopEvent, false, NoDeadline},
			{2, "disarm", LoopIdle, NoLoopEvent, false, NoDeadline},
		}},
		{"a probe every interval", []step{
			{5, "arm", LoopWatching, NoLoopEvent, false, 0},
			{5, "tick", LoopWatching, NoLoopEvent, true, 5 + interval},
			{4 + interval, "tick", LoopWatching, NoLoopEvent, false, 5 + interval},
			// late: the next is late too, no burst
			{7 + interval, "tick", LoopWatching, NoLoopEvent, true, 7 + 2*interval},
			{8 + interval, "arm", LoopWatching, NoLoopEvent, false, 7 + 2*interval},
		}},
		{"shut, and open after the hold-off", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{0, "tick", LoopWatching, NoLoopEvent, true, interval},
			{10, "back", LoopShut, ProbeReturned, false, interval},
			{9 + holdoff, "tick", LoopShut, NoLoopEvent, true, 10 + holdoff},
			{10 + holdoff, "tick", LoopWatching, HoldoffPassed, false, 9 + holdoff + interval},
		}},
		{"a loop that persists holds it", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{0, "back", LoopShut, ProbeReturned, false, 0},
			{29 * second, "tick", LoopShut, NoLoopEvent, true, 30 * second},
			{29*second + 5, "back", LoopShut, NoLoopEvent, false, 30 * second},
			{30 * second, "tick", LoopShut, NoLoopEvent, true, 31 * second},
			{58 * second, "tick", LoopShut, NoLoopEvent, true, 59 * second},
			{59*second + 4, "tick", LoopShut, NoLoopEvent, true, 59*second + 5},
			{59*second + 5, "tick", LoopWatching, HoldoffPassed, false, 60*second + 4},
		}},
		{"found again after the hold-off", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{0, "back", LoopShut, ProbeReturned, false, 0},
			{holdoff, "tick", LoopWatching, HoldoffPassed, true, holdoff + interval},
			{holdoff + 9, "back", LoopShut, ProbeReturned, false, holdoff + interval},
		}},
		{"down while shut", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{0, "tick", LoopWatching, NoLoopEvent, true, interval},
			{0, "back", LoopShut, ProbeReturned, false, interval},
			{5, "disarm", LoopIdle, LinkDown, false, NoDeadline},
			{6, "arm", LoopWatching, NoLoopEvent, false, 0}, // at once, not after what was left of the interval
			{6, "tick", LoopWatching, NoLoopEvent, true, 6 + interval},
		}},
		{"down while watching", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{5, "disarm", LoopIdle, NoLoopEvent, false, NoDeadline},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g loopGuard
			for i, s := range tt.steps {
				got := step{at: s.at, input: s.input}
				switch s.input {
				case "arm":
					g.arm()
				case "disarm":
					if g.disarm() {
						got.reason = LinkDown
					}
				case "back":
					got.reason = g.probeReturned(s.at)
				case "tick":
					got.send, got.reason = g.tick(s.at, holdoff)
				}
				got.state, got.deadline = g.state, g.deadline(holdoff)
				if got != s {
					t.Fatalf("step %d:\n got %+v\nwant %+v", i, got, s)
				}
			}
		})
	}
}

// TestLoopGuardIsQuietWhenNothingIsDue: after a tick the deadline lies ahead, so that a loop over deadlines ends.
func TestLoopGuardIsQuietWhenNothingIsDue(t *testing.T) {
	var g loopGuard
	g.arm()
	for now := int64(0); now < 100*second; now = g.deadline(holdoff) {
		if now == 20*second {
			g.probeReturned(now)
		}
		g.tick(now, holdoff)
		if d := g.deadline(holdoff); d <= now {
			t.Fatalf("deadline %d after the tick at %d", d, now)
		}
	}
	if g.sequence != 100 || g.state != LoopWatching {
		t.Errorf("%d probes in 100 s, %v; want 100, watching", g.sequence, g.state)
	}
}
