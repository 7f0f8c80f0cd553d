package runner

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// Frames that are in the line when the delay changes leave when they would have, and what follows leaves after its
// own delay, but never before them: that is not late.
func TestDelayLineChanges(t *testing.T) {
	for _, tt := range []struct{ delay, due int64 }{{5000, 5500}, {1500, 2000}, {100, 1300}, {0, 1300}} {
		l, s := newDelayLine(1000, gigabit, 10_000), &sink{}
		put(l, 300, []byte("first frame."))
		l.putControl(300, []byte("control"))
		l.change(tt.delay, gigabit, 20_000)
		put(l, 500, []byte("second frame"))
		if sent, _, _, err := flushAll(l, s, 1299); sent != 0 || err != nil || l.due(0) != 1300 {
			t.Errorf("to %d: %d left early, %v; due at %d, want 1300", tt.delay, sent, err, l.due(0))
		}
		s.refuse = []error{port.ErrAgain, port.ErrAgain}
		sent, _, _, err := flushAll(l, s, 1300)
		assert.True(t, sent == 0 && err != nil, "to %d: %d left, %v", tt.delay, sent, err)
		l.retryControl = 0
		_, _, _, _ = l.flush(s, 1300)
		assert.True(t, l.entered == 300 && l.meant == 1300 && len(s.control) == 1 && len(s.frames) == 0,
			"to %d: XOFF of %d was meant for %d, behind %d frames", tt.delay, l.entered, l.meant, len(s.frames))
		if sent, _, _, _ := l.flush(s, 1300); sent != 1 || l.due(0) != tt.due {
			t.Errorf("to %d: %d left; due then at %d, want %d", tt.delay, sent, l.due(0), tt.due)
		}
		assert.True(t, l.data.first == l.data.newest && l.control.first == l.control.newest,
			"to %d: the memory of the delay before stays", tt.delay)
		sent, _, _, _ = flushAll(l, s, tt.due)
		assert.True(t, sent == 1 && string(s.frames[1]) == "second frame" && l.dues[0] == tt.due && l.holds == 0,
			"to %d: %d left, %q, due at %v, %d octets stay", tt.delay, sent, s.frames, l.dues, l.holds)
	}
}

// A line that a link empties when it goes down owes nothing, whatever its delay was.
func TestDelayLineChangesAndIsCleared(t *testing.T) {
	l := newDelayLine(1000, gigabit, 10_000)
	put(l, 200, []byte("first frame."))
	l.change(0, gigabit, 10_000)
	put(l, 300, []byte("second frame"))
	if l.clear(); !l.over() || l.holds != 0 || l.due(0) != math.MaxInt64 {
		t.Errorf("%d octets stay, due at %d", l.holds, l.due(0))
	}
	put(l, 400, []byte("third frame."))
	assert.Equal(t, l.due(0), 400, "due at")
}

// once is a port that receives each frame once.
type once struct{ *loopPort }

func (p once) Receive(c port.Class, dst []port.Frame, maxBytes int) int {
	n := p.loopPort.Receive(c, dst, maxBytes)
	p.frames = p.frames[n:]
	return n
}

// outlet is a port that sends into a sink.
type outlet struct {
	*loopPort
	to *sink
}

func (p outlet) Send(b *port.Batch) (int, error)     { return p.to.Send(b) }
func (p outlet) SendControl(b []byte) error          { return p.to.SendControl(b) }
func (p outlet) SendStamped(b []byte) (int64, error) { return 0, p.to.SendControl(b) }

// A delayRig is a worker between a port that receives and one with a delay. Time passes in the line as the test says.
type delayRig struct {
	testing.TB
	*workerRig
	task *portTask
	out  sink
	fed  int
}

// The delay is so long that nothing is due before the test says so.
const hour, crawl = 3_600_000_000_000, 10_000 // ns, bit/s

func newDelayRig(t testing.TB) *delayRig {
	w := &delayRig{TB: t}
	w.workerRig = newWorkerRig(t, port.Lossless, nil, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
		ports[1].Delay, ports[1].Speed, ports[1].Burst = hour, crawl, 1<<16
	})
	w.task = w.w.r.tasks[1]
	w.w.r.tasks[0].port, w.task.port = once{w.in}, outlet{w.workerRig.out, &w.out}
	return w
}

// feed lets frames come that go to the port with the delay.
func (w *delayRig) feed(n int) {
	for range n {
		w.in.frames = append(w.in.frames, port.Frame{Data: data(0, 1, lossless, w.fed, 60)})
		w.fed++
	}
	for range n { // at this speed a send call takes one frame
		w.round()
	}
}

// change puts another delay in force, as Runner.Configure does.
func (w *delayRig) change(delay int64) {
	c := &w.workerRig.ports[1]
	c.Delay = delay
	sw := w.w.r.sw
	assert.Must(w,
		sw.Reconfigure(w.cfg, asMap(w.workerRig.ports...), []dataplane.Static{{MAC: host(1), VID: 1, Port: 1}}, Now()))
	w.task.configure(*c)
	w.w.r.assign(sw)
}

// pass lets time pass in the line.
func (w *delayRig) pass(ns int64) {
	for _, l := range []*lane{&w.task.delay.data, &w.task.delay.control} {
		for g := l.first; g != nil; g = g.next {
			g.from -= ns
			for r, at := g.record(g.head); r != nil; r, at = g.record(at + recordHeader + lengthOf(r)) {
				binary.NativeEndian.PutUint64(r, uint64(meantOf(r)-ns))
			}
		}
		l.last -= ns
	}
}

// left makes rounds until so many frames have left, and checks all of them: each once, in order, and counted.
func (w *delayRig) left(n int) {
	w.Helper()
	for from := time.Now(); len(w.out.frames) < n && time.Since(from) < 5*time.Second; {
		w.round()
	}
	w.round() // it sends no more
	for i, b := range w.out.frames {
		assert.MustBeTrue(w, sequence(b) == i, "frame %d left as number %d", sequence(b), i)
	}
	var v dataplane.Snapshot
	w.w.r.sw.Snapshot(&v, Now())
	l := v.Balance()
	assert.MustBeTrue(w, len(w.out.frames) == n && l.Sent == uint64(n) && l.Held == uint64(w.fed-n) && l.Dropped == 0 &&
		l.Received+l.Copies == l.Sent+l.Held, "%d of %d frames left, want %d: %+v", len(w.out.frames), w.fed, n, l)
}

// What is in the line when the delay changes leaves on time, once, in order and before what follows, also where the
// kernel is full.
func TestDelayChangesUnderWay(t *testing.T) {
	for name, tt := range map[string]struct {
		delay  int64
		behind int64 // the new frames leave so long after the old ones
	}{"longer": {2 * hour, hour}, "shorter": {hour / 4, 0}, "none": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newDelayRig(t)
			w.feed(20)
			w.change(tt.delay)
			w.feed(20)
			w.pass(hour / 2)
			w.left(0)
			w.out.refuse = []error{port.ErrAgain, nil, nil, port.ErrDropped, nil, port.ErrDown}
			w.pass(hour / 2)
			if tt.behind > 0 {
				w.left(20)
				w.pass(tt.behind)
			}
			w.left(40)
			assert.True(t, w.task.lateness.Quantile(0.99) <= hour/100, "frames were late by %v",
				time.Duration(w.task.lateness.Quantile(0.99)))
			assert.Equal(t, w.task.delay == nil && len(w.w.lines) == 0, tt.delay == 0, "the line is gone")
			if tt.delay > 0 {
				return
			}
			w.feed(20)
			w.left(60)
		})
	}
}

// A delay that is taken away and given back loses nothing, and one that is taken away from an empty line takes the
// line with it.
func TestDelayComesBack(t *testing.T) {
	w := newDelayRig(t)
	w.feed(20)
	w.pass(hour / 2)
	w.change(0)
	w.feed(20)
	w.change(hour)
	w.feed(20)
	w.pass(hour / 2)
	w.left(20)
	w.pass(hour / 2)
	w.left(60)
	w.change(0)
	w.feed(20)
	w.left(80)
	assert.True(t, w.task.delay == nil, "an empty line stays")
}
