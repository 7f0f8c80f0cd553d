package runner

import (
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A filling is a port whose lossless ring is as full as the test says, with little in it that counts against a
// threshold. No frame can be taken from it.
type filling struct {
	loopPort
	fill   float64
	quanta uint16 // what the peer was sent last for the lossless priority
}

func (p *filling) BacklogExceeds(c port.Class, _ int) bool { return c == port.Lossless && p.fill > 0 }

func (p *filling) Backlog(port.Class) port.Backlog {
	return port.Backlog{Frames: 1, Octets: 60, Fill: p.fill}
}

func (p *filling) SendControl(b []byte) error {
	if f, reason := macctl.Parse(b, macctl.GroupAddress); reason == macctl.ReasonNone && f.Vector&(1<<lossless) != 0 {
		p.controlSent, p.quanta = p.controlSent+1, f.Time[lossless]
	}
	return nil
}

// The peer is held from where a quarter of a lossless ring is full until no more than an eighth of it is, though the
// buffer is empty.
func TestRingHoldsThePeer(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, nil, nil)
	ring := &filling{}
	m.w.r.tasks[0].port = ring
	for i, step := range []struct {
		fill  float64
		holds bool
	}{{0.2, false}, {0.25, false}, {0.26, true}, {0.2, true}, {0.13, true}, {0.125, false}, {0.2, false}, {1, true},
		{0.1, false}, {0.9, true}, {0, false}} {
		ring.fill = step.fill
		for range measureRingEvery + 1 { // a ring that fills up is not measured before each burst
			m.round()
		}
		assert.MustEqual(t, ring.quanta > 0, step.holds, "step %d, the ring %.0f %% full: the peer is held", i,
			100*step.fill)
	}
	assert.True(t, ring.controlSent >= 6, "the peer was told %d times, want XOFF and XON three times", ring.controlSent)
	m.w.r.View(func(sw *dataplane.Switch) {
		d := snapshot(sw).Ports[0].Counters.Drops
		assert.True(t, d == [len(d)][dataplane.NumDropReasons]uint64{}, "dropped: %v", d)
	})
}

// A frame that fitted neither a slot nor the queue behind its ring is lost, and counted as what that ring has lost.
func TestCutFramesAreCounted(t *testing.T) {
	for _, tt := range []struct {
		class    port.Class
		lossless uint64
	}{{port.Other, 0}, {port.Lossless, 1}} {
		t.Run(tt.class.String(), func(t *testing.T) {
			whole := port.Frame{Data: data(0, 1, lossless, 0, 60), Stamp: wallClock()}
			m := newWorkerRig(t, tt.class, []port.Frame{whole, {Truncated: true}, whole}, nil)
			m.w.receive(m.w.r.tasks[0], tt.class, burstFrames)
			m.w.r.View(func(sw *dataplane.Switch) {
				c := &snapshot(sw).Ports[0].Counters
				assert.True(t, c.Drops[dataplane.Unknown][dataplane.DropRing] == 1 &&
					c.LosslessDrops[dataplane.Unknown] == tt.lossless && c.ReceivedFrames == 2 && m.out.sent == 2,
					"lost %d, of those lossless %d; received %d and sent %d, want 1, %d, 2 and 2",
					c.Drops[dataplane.Unknown][dataplane.DropRing], c.LosslessDrops[dataplane.Unknown],
					c.ReceivedFrames, m.out.sent, tt.lossless)
				var lost uint64
				for _, e := range sw.Events(nil, 0) {
					if e.Kind == dataplane.EventLosslessDrop && e.Port == "p0" {
						lost += e.Count
					}
				}
				assert.Equal(t, lost, tt.lossless, "events of a lossless drop")
			})
		})
	}
}
