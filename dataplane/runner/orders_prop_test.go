package runner

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A toldPeer is the link of a port whose transmit worker, receive worker, Refresher and program in the kernel tell the
// peer what they know, in an order that the property draws.
type toldPeer struct {
	loopPort
	t        *rapid.T
	tx, rx   *worker
	task     *portTask
	orders   []bool  // all that have left: whether they hold the peer
	level    float64 // how full the lossless ring is
	kernel   uint64  // XOFFs of the program that no worker has taken over
	kernelAt int64   // when it sent the last one
	sending  bool    // the transmit worker sends: others may do something meanwhile
}

func newToldPeer(t *testing.T, rt *rapid.T, delay int64) *toldPeer {
	rig := newWorkerRig(t, port.Lossless, nil, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
		ports[0].Speed, ports[0].Delay = gigabit/10, delay // pauses last for longer than this test
	})
	r := rig.w.r
	rx := assert.Got(newWorker(r, 1)).Must(t)
	p := &toldPeer{t: rt, tx: rig.w, rx: rx, task: r.tasks[0]}
	p.task.port, p.task.rx = p, rx
	r.refresher.Stop(0)
	p.task.protect(r.sw, r)
	g := *p.task.refresh.guard.Load()
	g.waiting = func() bool { return true }
	p.task.refresh.guard.Store(&g)
	return p
}

func (p *toldPeer) BacklogExceeds(_ port.Class, n int) bool {
	return p.level > ringHigh || n == burstFrames && p.level > 0
}

func (p *toldPeer) Backlog(port.Class) port.Backlog { return port.Backlog{Fill: p.level} }

// SendControl is the way of all frames to the peer, but those of the program.
func (p *toldPeer) SendControl(b []byte) error {
	sending := p.sending && p.task.refresh.TryLock() // else Repeat sends, and whoever sends or looks waits
	if sending {
		p.task.refresh.Unlock()
		p.others("before it leaves")
	}
	if rapid.IntRange(0, 4).Draw(p.t, "full") == 0 {
		return port.ErrAgain
	}
	f, _ := macctl.Parse(b, macctl.GroupAddress)
	p.orders = append(p.orders, f.Time[lossless] > 0)
	if sending {
		p.others("after it has left")
	}
	return nil
}

// others is what may happen while the switch is not locked.
func (p *toldPeer) others(when string) {
	sending := p.sending
	p.sending = false
	defer func() { p.sending = sending }()
	f := p.task.refresh
	for range rapid.IntRange(0, 2).Draw(p.t, when) {
		switch rapid.SampledFrom([]string{"nobody has looked", "refresh", "look", "kernel"}).Draw(p.t, "what") {
		case "nobody has looked":
			f.lookBy.Store(1)
			f.run(Now(), func([]byte, bool) {})
			f.lookBy.Store(noDeadline)
		case "refresh":
			if due := f.due.Load(); due != noDeadline {
				f.run(due, func([]byte, bool) {})
			}
		case "look":
			p.look(rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(p.t, "level"))
		case "kernel":
			p.orders = append(p.orders, true)
			p.kernel, p.kernelAt = p.kernel+1, Now()
		}
	}
}

// look is the receive worker's, which finds a ring that is so full.
func (p *toldPeer) look(level float64) {
	p.level = level
	p.takeKernelHold(p.rx)
	p.task.burstsUntilMeasured = 0
	p.rx.holdPeerWhileRingFills(p.task)
}

func (p *toldPeer) takeKernelHold(w *worker) {
	if p.kernel == 0 {
		return
	}
	w.lock()
	w.beginKernelHold(p.task, p.kernel, p.kernelAt)
	w.unlock()
	p.kernel = 0
}

// tell is a turn of the transmit worker's sendControl, between others. It reports whether there was a frame.
func (p *toldPeer) tell() bool {
	p.takeKernelHold(p.tx)
	p.tx.lock()
	f, ok := p.tx.nextPause(p.task, p.tx.clock())
	p.tx.unlock()
	if !ok {
		return false
	}
	p.others("before Set")
	p.sending = true
	now, err := p.tx.emitPause(p.task, &f)
	p.sending = false
	p.others("before the lock")
	p.tx.lock()
	if err == nil {
		p.tx.pauseSent(p.task, &f, now)
	}
	p.tx.unlock()
	return true
}

// flush lets what is in the delay line leave.
func (p *toldPeer) flush() {
	if p.task.delay == nil {
		return
	}
	p.takeKernelHold(p.tx)
	p.sending = true
	p.task.delay.retryControl = 0
	p.tx.flushDelay(p.task)
	p.sending = false
}

// Whoever tells the peer something in whatever order: once nobody does any more, the newest order is what the switch
// wants, it alone is sent again, and each order that has left was counted.
func TestNewestOrderIsWanted(t *testing.T) {
	for name, delay := range map[string]int64{"at once": 0, "delayed": 1} {
		t.Run(name, func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { newestOrderIsWanted(t, rt, delay) }) })
	}
}

func newestOrderIsWanted(t *testing.T, rt *rapid.T, delay int64) {
	p := newToldPeer(t, rt, delay)
	defer func() { _ = p.rx.close() }()
	for range rapid.IntRange(1, 8).Draw(rt, "turns") {
		p.others("between turns")
		p.tell()
		p.flush()
	}
	level := rapid.SampledFrom([]float64{0, 0.5}).Draw(rt, "level at last")
	for more := true; more; p.flush() { // others do something as long as there is something to tell
		p.look(level)
		more = p.tell() || p.kernel > 0 || p.task.refresh.hold.late() || delay > 0 && p.task.delay.due(0) != noDeadline
	}
	var v dataplane.Snapshot
	p.tx.lock()
	p.tx.r.sw.Snapshot(&v, Now())
	p.tx.unlock()
	s, f := &v.Ports[0], p.task.refresh
	held, wanted := len(p.orders) > 0 && p.orders[len(p.orders)-1], s.XoffWanted != 0
	assert.True(rt, held == wanted && wanted == (level > 0) && (f.due.Load() != noDeadline) == held,
		"held %v, wanted %v at level %v, again at %d: %v", held, wanted, level, f.due.Load(), p.orders)
	c := &s.ControlSent
	if n := c.XoffSent[lossless] - c.XonSent[lossless]; n > 1 || n == 1 != held {
		rt.Errorf("XOFF %d times, XON %d times, held %v", c.XoffSent[lossless], c.XonSent[lossless], held)
	}
	if n := c.PFCFrames[lossless]; delay == 0 && n != uint64(len(p.orders)) {
		rt.Errorf("%d frames counted, want %d: %v", n, len(p.orders), p.orders)
	}
}
