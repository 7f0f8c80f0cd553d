package runner

import (
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A transmit task that has sent all that there is looks again when something comes, and not before; one that has sent
// as much as is good for the others goes on at once.
func TestTransmitComesToRest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*dataplane.Config, []dataplane.PortConfig)
		rounds int
	}{
		{"one send call", nil, 1},
		{"send calls of 7 frames", func(_ *dataplane.Config, ports []dataplane.PortConfig) { ports[1] = slow(1) }, 2},
	} {
		m := newWorkerRig(t, port.Lossless, nil, tt.change)
		out := m.w.r.tasks[1]
		m.w.round(Now()) // what there is to tell at the beginning
		m.in.frames = repeated(data(0, 1, lossless, 0, 60), burstFrames)
		for n := 1; n <= tt.rounds; n++ {
			if m.w.round(Now()); n == 1 {
				m.in.frames = nil
			}
			_, rest := m.w.quiet(Now())
			if done := n == tt.rounds; out.more == done || rest != done || (m.out.sent == burstFrames) != done {
				t.Errorf("%s, round %d: %d frames sent, again %v, rest %v", tt.name, n, m.out.sent, out.more, rest)
			}
		}
		assert.Equal(t, len(m.w.due(Now())), 0, "%s: transmit tasks have work", tt.name)
	}
}

// A controlFlood has one more MAC Control frame whenever one was read, so many in all.
type controlFlood struct {
	*loopPort
	left, read int
}

func (c *controlFlood) Control() ([]byte, int64) {
	if c.left == 0 {
		return nil, 0
	}
	return macctl.AppendPause(nil, [6]byte{2}, 1), wallClock()
}

func (c *controlFlood) ControlDone() { c.left, c.read = c.left-1, c.read+1 }

// A peer that sends MAC Control frames without end holds up neither the other ports nor data.
func TestControlWithoutEnd(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, nil, nil)
	out := m.w.r.tasks[1]
	c := &controlFlood{loopPort: m.out, left: 10 * controlFrames}
	out.port = c
	for n := 1; n <= 10; n++ {
		assert.MustBeTrue(t, m.w.readControl(out) && c.read == n*controlFrames,
			"%d frames were read in %d calls", c.read, n)
	}
	assert.True(t, !m.w.readControl(out), "there was nothing to read")
	c.left, c.read = 100*controlFrames, 0
	m.in.frames = repeated(data(0, 1, lossless, 0, 60), burstFrames)
	if m.w.round(Now()); m.out.sent != burstFrames {
		t.Errorf("%d frames were sent in a round, beside %d that were read", m.out.sent, c.read)
	}
}

// A controlQueue has these MAC Control frames.
type controlQueue struct {
	*loopPort
	frames [][]byte
}

func (c *controlQueue) Control() ([]byte, int64) {
	if len(c.frames) == 0 {
		return nil, 0
	}
	return c.frames[0], wallClock()
}

func (c *controlQueue) ControlDone() { c.frames = c.frames[1:] }

// Of a flood the newest frame counts, and those before it that the policer lets pass; the others are counted.
func TestNewestOfAFloodCounts(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, nil, nil)
	out := m.w.r.tasks[1]
	const floods = 20
	var v dataplane.Snapshot
	for n := range floods {
		flood := slices.Repeat([][]byte{pfc(lossless, 0xffff), pfc(lossless, 0)}, controlFrames/2)
		held := n%2 == 0
		if held {
			flood[controlFrames-1] = pfc(lossless, 0xffff)
		}
		out.port = &controlQueue{m.out, flood}
		m.w.readControl(out)
		m.w.r.sw.Snapshot(&v, Now())
		if got := v.Ports[1].Paused; (got != 0) != held {
			t.Fatalf("flood %d: paused %08b, want what the newest frame says (%v)", n, got, held)
		}
	}
	c := v.Ports[1].Received
	surplus := c.Ignored[macctl.ReasonSurplus]
	assert.True(t, surplus != 0 && surplus+c.PFCFrames[lossless] == floods*controlFrames,
		"%d surplus frames and %d obeyed ones of %d", surplus, c.PFCFrames[lossless], floods*controlFrames)
}
