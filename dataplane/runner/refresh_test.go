package runner

import (
	"bytes"
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// An exit is a port that keeps the MAC Control frames that leave by it.
type exit struct {
	loopPort
	left [][]byte
	err  error
}

func (p *exit) SendControl(b []byte) error {
	if p.err == nil {
		p.left = append(p.left, bytes.Clone(b))
	}
	return p.err
}

// A frame that holds somebody is sent again, the newest one only, until it holds nobody. Nothing waits for a lock.
func TestRefreshOfAFrame(t *testing.T) {
	f := &newRefresher(1).ports[0]
	p := &exit{}
	frame, captured := bytes.Repeat([]byte{1}, macctl.FrameSize), 0
	run := func(now, next int64, left int) {
		t.Helper()
		got := f.run(now, func(b []byte, _ bool) {
			if captured++; !bytes.Equal(b, frame) {
				t.Errorf("captured: % x, want XOFF", b)
			}
		})
		if got != next || len(p.left) != left || captured != left {
			t.Fatalf("at %d: look again at %d, %d frames sent, want %d and %d", now, got, len(p.left), next, left)
		}
	}
	xoff := newXoff(frame, 50)
	f.set(newResend(p, xoff, 100))
	run(149, 150, 0)
	f.Lock()
	run(150, 150+macctl.MinRefresh, 0)
	f.Unlock()
	run(160, 210, 1)
	run(300, 350, 2)
	p.err = port.ErrDown
	run(350, 400, 2)
	p.err = nil
	f.set(newResend(p, xoff, 390))
	run(439, 440, 2)
	run(440, 490, 3)
	f.set(newResend(p, newXoff([]byte{2}, 0), 480))
	run(1000, noDeadline, 3)
	if !slices.EqualFunc(p.left, [][]byte{frame, frame, frame}, bytes.Equal) {
		t.Errorf("% x", p.left)
	}
}

// What the kernel refuses holds nobody: neither a late hold, which is tried again, nor an XOFF that its sender takes
// back.
func TestRefusedFramesAreNotRepeated(t *testing.T) {
	r := newRefresher(1)
	f, p, woken := &r.ports[0], &exit{err: port.ErrAgain}, 0
	hold := newXoff(bytes.Repeat([]byte{1}, macctl.FrameSize), 50)
	f.protect(&guard{port: p, waiting: func() bool { return true }, hold: hold, wake: func() { woken++ }})
	f.lookBy.Store(100)
	if f.run(100, nil); f.due.Load() != noDeadline || f.late.Load() || woken != 0 {
		t.Errorf("a hold that was refused is repeated at %d, late %v", f.due.Load(), f.late.Load())
	}
	was := f.set(newResend(p, hold, 110))
	if r.Undo(0, was); f.due.Load() != noDeadline {
		t.Errorf("an XOFF that was refused is repeated at %d", f.due.Load())
	}
	p.err = nil
	if f.run(200, func([]byte, bool) {}); !f.late.Load() || woken != 1 || f.due.Load() != 250 || len(p.left) != 1 {
		t.Errorf("late %v, %d workers woken, next at %d, %d frames sent", f.late.Load(), woken, f.due.Load(),
			len(p.left))
	}
}

// XOFF is sent again while no worker runs, here because a change goes on, and nobody is held longer than is wanted.
func TestRefreshWithoutWorkers(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
		f := &l.r.refresher.ports[0]
		l.must(l.r.Do(func(sw *dataplane.Switch) error {
			sw.HoldPeerForRing(0, true, Now())
			return nil
		}))
		eventually(t, "XOFF leaves", func() bool { return f.due.Load() != noDeadline })
		l.must(l.r.quiesce(func() error {
			before := f.sent.Load()
			eventually(t, "XOFF is sent again without a worker", func() bool { return f.sent.Load() >= before+3 })
			return nil
		}))
		l.must(l.r.Do(func(sw *dataplane.Switch) error {
			sw.HoldPeerForRing(0, false, Now())
			return nil
		}))
		eventually(t, "XON leaves", func() bool { return f.due.Load() == noDeadline })
		eventually(t, "the peer may send", func() bool {
			s := l.stations[0]
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.receiver.Paused(Now()) == 0
		})
	})
}

// A peer whose frames wait is held where no worker looks, here because a change goes on. The first look ends that hold.
func TestHoldWhereNobodyLooks(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
		a, b, f := l.stations[0], l.stations[1], &l.r.refresher.ports[0]
		const n = 20
		for round := range 3 {
			l.must(l.r.quiesce(func() error {
				eventually(t, "the time to look is over", func() bool { return f.lookBy.Load() < Now() })
				if f.late.Load() {
					t.Error("an empty ring holds the peer")
				}
				a.send(several(0, 1, lossless, (round+1)*n, 60)[round*n:]...)
				eventually(t, "the peer is held", func() bool { return f.late.Load() && f.due.Load() != noDeadline })
				return nil
			}))
			eventually(t, "all frames arrive", func() bool { return len(b.received(0, lossless)) == (round+1)*n })
			eventually(t, "the peer is free", func() bool {
				l.r.mu.Lock()
				defer l.r.mu.Unlock()
				return !f.late.Load() && f.due.Load() == noDeadline && l.r.sw.XoffSent(0)
			})
		}
		c := l.empties().Ports[0].ControlSent // more where a worker got no CPU
		if c.XoffSent[lossless] < 3 || c.XonSent[lossless] != c.XoffSent[lossless] {
			t.Errorf("%+v, want XOFF three times or more, and XON as often", c)
		}
	})
}

// Ports that have no link, no sockets, a delay line or a host behind them are not refreshed.
func TestRefreshEnds(t *testing.T) {
	for name, end := range map[string]func(l *testbed) error{
		"link down": func(l *testbed) error { return l.r.SetUp(0, false) },
		"detached":  func(l *testbed) error { return l.r.Detach(0) },
		"removed": func(l *testbed) error {
			delete(l.ports, 0)
			l.losesFrames = true
			return l.r.Configure(l.cfg, l.ports, nil)
		},
		"delay": func(l *testbed) error {
			c := l.ports[0]
			c.Delay = 1000
			l.ports[0] = c
			return l.r.Configure(l.cfg, l.ports, l.statics)
		},
	} {
		l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
		l.must(l.r.Do(func(sw *dataplane.Switch) error {
			sw.HoldPeerForRing(0, true, Now())
			return nil
		}))
		due := l.r.refresher.ports[0].due.Load
		eventually(t, name+": XOFF is to be sent again", func() bool { return due() != noDeadline })
		l.must(end(l))
		eventually(t, name+": XOFF is not sent again", func() bool { return due() == noDeadline })
	}
}
