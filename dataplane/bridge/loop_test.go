package bridge

import (
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
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

// nextProbe makes a port send its next probe at once, where it looks for loops.
func nextProbe(b *Bridge, sender int, now int64) Probe {
	b.ports[sender].guard.due = now
	p, _, _ := b.LoopTick(sender, now)
	return p
}

func wantEvent(t testing.TB, what string, got, want LoopEvent) {
	t.Helper()
	assert.Equal(t, got, want, "%s", what)
}

// handle returns the event of the sender's next probe, which comes back on port in.
func handle(b *Bridge, sender, in int, now int64) LoopEvent {
	_, ev := b.HandleProbe(nextProbe(b, sender, now), in, now)
	return ev
}

func shutBy(port, sender, in int) LoopEvent {
	return LoopEvent{Reason: ProbeReturned, Port: port, Sender: sender, In: in}
}

func TestLoopTick(t *testing.T) {
	b := newGuarded(t, 3)
	assert.Equal(t, b.LoopDeadline(2), 0, "deadline of a new port")
	for seq := range uint32(3) {
		want := Probe{Identity: testIdentity.Public, Port: 2, Sequence: seq + 1}
		want.Authenticator = b.authenticator(&want)
		got, send, ev := b.LoopTick(2, int64(seq)*second)
		assert.True(t, got == want && send && !ev.Happened(), "got %+v, %v, %+v; want %+v, true and no event", got,
			send, ev, want)
	}
	_, send, _ := b.LoopTick(2, 2*second+1)
	assert.True(t, !send, "a probe before its time")
	assert.Equal(t, b.LoopDeadline(2), 3*second, "deadline")
}

// TestLoopShutsBothWays: a shut port neither sends nor accepts flooded frames, and nothing is learned from looped
// frames.
func TestLoopShutsBothWays(t *testing.T) {
	b := newGuarded(t, 3)
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	ev := handle(b, 1, 2, 10)
	wantEvent(t, "event", ev, shutBy(2, 1, 2))
	assert.True(t, !ev.Flooding() && ev.Happened() && b.LoopState(2) == LoopShut && b.LoopState(1) == LoopWatching,
		"event %+v, port 2 %v, port 1 %v", ev, b.LoopState(2), b.LoopState(1))
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
	assert.True(t, ev.Flooding(), "flooding still off")
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
		{"neither looks", nil, []int{1, 2}, 1, 2, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newGuarded(t, 4)
			for _, i := range tt.unguarded {
				setPort(t, b, i, plain())
			}
			for _, i := range tt.shut {
				handle(b, i, i, 1)
			}
			ev := handle(b, tt.sender, tt.in, 2)
			var shut, returned []int
			for i := range 4 {
				if b.LoopState(i) == LoopShut {
					shut = append(shut, i)
				}
				if b.ports[i].guard.returned == 2 {
					returned = append(returned, i)
				}
			}
			assert.True(t, slices.Equal(shut, tt.want) && slices.Equal(returned, tt.wantReturned),
				"shut %v, hold-off anew %v; want %v, %v", shut, returned, tt.want, tt.wantReturned)
			got, want := ev.Happened(), len(tt.want) > len(tt.shut)
			assert.True(t, got == want, "event: %+v, want one: %v", ev, want)
		})
	}
}

func TestForeignProbe(t *testing.T) {
	b := newGuarded(t, 2)
	p := nextProbe(b, 0, 0)
	own := b.Own(p)
	p.Identity[7]++
	assert.True(t, own && !b.Own(p), "own %v, another switch's own %v; want true, false", own, b.Own(p))
}

// TestProbeIsUsedOnce: a probe shuts a port only when it comes back for the first time on that port, soon, and as this
// switch made it.
func TestProbeIsUsedOnce(t *testing.T) {
	probes := func(b *Bridge) (p [4]Probe) { // the four newest of port 0
		for i := range p {
			p[i] = nextProbe(b, 0, int64(i))
		}
		return p
	}
	change := func(f func(p *Probe)) func(*Bridge, Probe) Probe {
		return func(_ *Bridge, p Probe) Probe { f(&p); return p }
	}
	for _, tt := range []struct {
		name  string
		probe int // of the four
		alter func(b *Bridge, p Probe) Probe
		want  ProbeVerdict
	}{
		{"the newest", 3, nil, ProbeReturns},
		{"the one before", 2, nil, ProbeReturns},
		{"a recording", 1, nil, ProbeLate},
		{"an older recording", 0, nil, ProbeLate},
		{"used before on this port", 3, func(b *Bridge, p Probe) Probe { b.HandleProbe(p, 1, 5); return p }, ProbeUsed},
		{"used before on another port", 3, func(b *Bridge, p Probe) Probe { b.HandleProbe(p, 2, 5); return p },
			ProbeReturns},
		{"of a port that went down since", 3, func(b *Bridge, p Probe) Probe {
			b.SetUp(0, false)
			b.SetUp(0, true)
			return p
		}, ProbeLate},
		{"another port's number", 3, change(func(p *Probe) { p.Port = 2 }), ProbeForged},
		{"a number that no port has", 3, change(func(p *Probe) { p.Port = 5000 }), ProbeForged},
		{"the next sequence number", 3, change(func(p *Probe) { p.Sequence++ }), ProbeForged},
		{"another authenticator", 3, change(func(p *Probe) { p.Authenticator[15]++ }), ProbeForged},
		{"a number that was never sent, with its authenticator", 3, func(b *Bridge, p Probe) Probe {
			p.Sequence++
			p.Authenticator = b.authenticator(&p)
			return p
		}, ProbeLate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newGuarded(t, 3)
			p := probes(b)[tt.probe]
			if tt.alter != nil {
				p = tt.alter(b, p)
			}
			was := b.LoopState(1)
			got, ev := b.HandleProbe(p, 1, 6)
			if got != tt.want || ev.Happened() && got != ProbeReturns || got != ProbeReturns && b.LoopState(1) != was {
				t.Errorf("%v, event %+v, port 1 %v; want %v", got, ev, b.LoopState(1), tt.want)
			}
		})
	}
}

// TestProbesDoNotAllocate: neither those that come back nor forged ones.
func TestProbesDoNotAllocate(t *testing.T) {
	b := newGuarded(t, 2)
	now := int64(0)
	got := testing.AllocsPerRun(100, func() {
		now += second
		p, _, _ := b.LoopTick(0, now)
		b.HandleProbe(p, 1, now)
		p.Sequence++
		b.HandleProbe(p, 1, now)
	})
	assert.True(t, got == 0, "%v allocations", got)
}

func TestLoopEndsWithLinkOrSetting(t *testing.T) {
	b := newGuarded(t, 3)
	handle(b, 1, 1, 0)
	wantEvent(t, "down", b.SetUp(1, false), LoopEvent{Reason: LinkDown, Port: 1})
	wantEvent(t, "down again", b.SetUp(1, false), LoopEvent{})
	assert.Equal(t, b.LoopDeadline(1), NoDeadline, "deadline while down")
	wantEvent(t, "up", b.SetUp(1, true), LoopEvent{})
	wantDecision(t, "floods", b.Forward(0, frame.Broadcast, stationA, 1, 60, 1), flood(Broadcast, 1, 2))

	handle(b, 1, 1, 2)
	wantEvent(t, "unchanged", setPort(t, b, 1, guarded()), LoopEvent{})
	wantDecision(t, "still shut", b.Forward(0, frame.Broadcast, stationA, 1, 60, 3), flood(Broadcast, 2))
	wantEvent(t, "loop: off", setPort(t, b, 1, plain()), LoopEvent{Reason: DetectionOff, Port: 1})
	wantDecision(t, "floods", b.Forward(0, frame.Broadcast, stationA, 1, 60, 4), flood(Broadcast, 1, 2))
	handle(b, 1, 1, 5)
	wantDecision(t, "does not look any more", b.Forward(0, frame.Broadcast, stationA, 1, 60, 6), flood(Broadcast, 1, 2))

	handle(b, 2, 2, 7)
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
	got := floods()
	assert.True(t, slices.Equal(got, []int{1}), "ports %v flood into the segment, want [1]", got)
	b.SetUp(1, false)
	run(100*second, 104*second)
	got = floods()
	assert.True(t, got == nil, "ports %v flood before the hold-off has passed", got)
	run(104*second, 200*second)
	got = floods()
	assert.True(t, slices.Equal(got, []int{2}), "ports %v flood into the segment, want [2]", got)
}

const (
	interval = second
	holdoff  = int64(Holdoff)
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
			{5, "tick", LoopWatching, NoLoopEvent, true, interval}, // of all ports at the same time
			{interval - 1, "tick", LoopWatching, NoLoopEvent, false, interval},
			{7 + interval, "tick", LoopWatching, NoLoopEvent, true, 2 * interval},
			{8 + interval, "arm", LoopWatching, NoLoopEvent, false, 2 * interval},
			// late: no burst, and half an interval lies between two at least
			{3*interval - 1, "tick", LoopWatching, NoLoopEvent, true, 4 * interval},
		}},
		{"shut, and open after the hold-off", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{0, "tick", LoopWatching, NoLoopEvent, true, interval},
			{10, "back", LoopShut, ProbeReturned, false, interval},
			{9 + holdoff, "tick", LoopShut, NoLoopEvent, true, 10 + holdoff},
			{10 + holdoff, "tick", LoopWatching, HoldoffPassed, false, holdoff + interval},
		}},
		{"a loop that persists holds it", []step{
			{0, "arm", LoopWatching, NoLoopEvent, false, 0},
			{0, "back", LoopShut, ProbeReturned, false, 0},
			{4 * second, "tick", LoopShut, NoLoopEvent, true, 5 * second},
			{4*second + 5, "back", LoopShut, NoLoopEvent, false, 5 * second},
			{5 * second, "tick", LoopShut, NoLoopEvent, true, 6 * second},
			{8 * second, "tick", LoopShut, NoLoopEvent, true, 9 * second},
			{9*second + 4, "tick", LoopShut, NoLoopEvent, true, 9*second + 5},
			{9*second + 5, "tick", LoopWatching, HoldoffPassed, false, 10 * second},
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
			{6, "tick", LoopWatching, NoLoopEvent, true, interval},
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
				assert.MustEqual(t, got, s, "step %d", i)
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
		d := g.deadline(holdoff)
		assert.MustBeTrue(t, d > now, "deadline %d after the tick at %d", d, now)
	}
	assert.True(t, g.sequence == 100 && g.state == LoopWatching, "%d probes in 100 s, %v; want 100, watching",
		g.sequence, g.state)
}
