package runner

import (
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// How often a round takes the lock and reads the clock that receives one burst for one port: the package comment says
// these numbers. Beside these, run reads the clock twice: before the round and after it. XOFF, control frames and
// copies for other workers cost more.
const (
	locksOfBurst  = 3
	clocksOfBurst = 3
)

func TestLocksOfABurst(t *testing.T) {
	const rounds = 100
	for name, m := range loads(t) {
		for range rounds {
			m.round()
		}
		w := m.w
		w.locks, w.clocks = 0, 0
		for range rounds {
			m.round()
		}
		switch name {
		case "lossless", "lossy", "unknown", "cut", "trunk", "trunk with meters":
			assert.True(t, w.locks == rounds*locksOfBurst && w.clocks == rounds*clocksOfBurst,
				"%s: %v locks and %v clock reads a round, want %d and %d", name, float64(w.locks)/rounds,
				float64(w.clocks)/rounds, locksOfBurst, clocksOfBurst)
		default:
			t.Logf("%s: %v locks and %v clock reads a round", name, float64(w.locks)/rounds, float64(w.clocks)/rounds)
		}
	}
}

// However much a worker has to do, another one can take the lock between two ports, and between a few MAC Control
// frames.
func TestOthersGetTheLock(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, nil, nil)
	locks := func() int {
		before := m.w.locks
		m.round()
		return m.w.locks - before
	}
	locks()
	for _, ports := range []int{1, 2} {
		for i := range ports {
			m.w.r.sw.MarkPending(i)
		}
		assert.Equal(t, locks(), ports, "locks of ports without frames, want one for each")
	}
	m.in.frames = repeated(data(0, 1, lossless, 0, 60), burstFrames)
	locks()
	m.w.r.sw.MarkPending(0) // served beside port 1
	assert.Equal(t, locks(), locksOfBurst+1, "locks for a burst and another port")
	m.in.frames = nil
	flood := &controlFlood{loopPort: m.in, left: controlFrames}
	m.w.r.tasks[0].port = flood
	// Once for the flood, and once for the port, which it gives work.
	if n := locks(); flood.left != 0 || n != 2+controlFrames/controlYield {
		t.Errorf("%d locks for a flood of MAC Control frames, of which %d are left", n, flood.left)
	}
}

// XOFF is timed also where the frame that crosses the threshold finds no headroom.
func TestXoffOfAWaitingFrameIsTimed(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, repeated(data(0, 1, lossless, 0, mtu), burstFrames),
		func(_ *dataplane.Config, ports []dataplane.PortConfig) {
			for i := range ports {
				ports[i].Ingress[lossless].Headroom = cell // less than a frame
			}
		})
	m.out.control = [][]byte{pfc(lossless, 0xffff)}
	for n := 0; m.in.controlSent == 0 && n < 1000; n++ {
		m.round()
	}
	waits := inRing(m.w.r.sw, 0)
	assert.True(t, m.in.controlSent == 1 && m.w.r.xoff.Count == 1 && waits,
		"%d XOFF, %d of them timed, want 1; a frame waits: %v", m.in.controlSent, m.w.r.xoff.Count, waits)
}

// A worker does not sleep while a frame waits in its ring that has room since others have left.
func TestDeparturesEndTheWait(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, repeated(data(0, 1, lossless, 0, mtu), burstFrames), nil)
	m.out.control = [][]byte{pfc(lossless, 0xffff)}
	for n := 0; !m.w.r.tasks[0].blocked[port.Lossless] && n < 1000; n++ {
		m.round()
	}
	r := &rig{tb: t, sw: m.w.r.sw, now: Now(), batch: m.w.batch}
	rests := func() bool {
		for i := range m.w.r.tasks[:2] {
			r.sw.TakePending(i)
		}
		_, rests := m.w.quiet(Now())
		return rests
	}
	assert.True(t, rests(), "the worker does not sleep while a frame has to wait")
	r.hear(1, lossless, 0)
	n := r.send(1)
	assert.True(t, n != 0 && !rests(), "the worker sleeps although %d frames have left", n)
}
