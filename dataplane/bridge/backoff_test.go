package bridge

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// probesUntil makes all ports send their probes in time, and returns when port 0 did.
func probesUntil(b *Bridge, n int, from, until int64) (sent []int64) {
	for now := from; now < until; {
		next := int64(NoDeadline)
		for i := range n {
			if _, send, _ := b.LoopTick(i, now); send && i == 0 {
				sent = append(sent, now)
			}
			next = min(next, b.LoopDeadline(i))
		}
		now = next
	}
	return sent
}

// Probes become rare where none comes back and no frame floods, and the next frame that floods is followed by one at
// once. What does not flood, and the probe of another switch, changes nothing.
func TestProbesOfACalmPort(t *testing.T) {
	const ports, quiet = 3, 40 * second
	broadcast := func(b *Bridge) { b.Forward(0, frame.Broadcast, stationA, 1, 60, quiet+5) }
	for _, tt := range []struct {
		name    string
		input   func(b *Bridge)
		resumed bool
	}{
		{"nothing", func(*Bridge) {}, false},
		{"a broadcast", broadcast, true},
		{"to an unknown station", func(b *Bridge) { b.Forward(1, stranger, stationA, 1, 60, quiet+5) }, true},
		{"to a known station", func(b *Bridge) { b.Forward(1, stationC, stationA, 1, 60, quiet+5) }, false},
		{"another switch's probe", func(b *Bridge) { b.Forward(1, ProbeAddress, stranger, 1, 60, quiet+5) }, false},
		{"explain", func(b *Bridge) { b.Trace(0, frame.Broadcast, stationA, 1, quiet+5) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newGuarded(t, ports)
			b.Forward(2, frame.Broadcast, stationC, 1, 60, 0)
			var want []int64
			for i := range int64(BackoffAfter) {
				want = append(want, i*second)
			}
			assert.MustBeSame(t, probesUntil(b, ports, 0, quiet), append(want, 20*second, 30*second), "probes at")
			tt.input(b)
			due := 40 * second
			if tt.resumed {
				due = 31 * second
			}
			for i := range ports {
				assert.Equal(t, b.LoopDeadline(i), due, "port %d: the next probe at", i)
			}
			assert.True(t, b.TakeResumed() == tt.resumed && !b.TakeResumed(), "resumed, once: want %v", tt.resumed)
			if !tt.resumed {
				return
			}
			got := probesUntil(b, ports, quiet+6, 100*second)
			if len(got) <= BackoffAfter || got[0] != quiet+6 || got[BackoffAfter-1] != 49*second ||
				got[BackoffAfter] != 60*second {
				t.Errorf("probes at %v, want one at once, then one a second, and rare ones from 60 s on", got)
			}
		})
	}
}

// A port whose probe comes back has to hold the port that it came to, so its probes stay frequent. So do those of a
// port that is shut, and of one whose link came up.
func TestProbesOfAPortThatIsNotCalm(t *testing.T) {
	b := newGuarded(t, 3)
	probesUntil(b, 3, 0, 40*second)
	handle(b, 0, 2, 40*second)
	if got := probesUntil(b, 3, 40*second, 45*second); len(got) != 4 || b.LoopState(2) != LoopShut || !b.TakeResumed() {
		t.Errorf("probes at %v after one had come back, port 2 %v", got, b.LoopState(2))
	}
	assert.Equal(t, b.LoopDeadline(1), 50*second, "the next probe of the port without a loop at")
	b.SetUp(1, false)
	b.SetUp(1, true)
	assert.Equal(t, b.LoopDeadline(1), 0, "the next probe of a port whose link came up at")
}
