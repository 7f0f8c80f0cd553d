package bridge

import "testing"

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
