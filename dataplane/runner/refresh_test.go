package runner

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
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

// nobody cannot be seen, nor woken.
var nobody = Watched{Wake: func() {}}

// A frame that holds somebody is sent again, the newest one only, until it holds nobody. Nothing waits for a lock.
func TestRefreshOfAFrame(t *testing.T) {
	f := &newRefresher(1).ports[0]
	p := &exit{}
	frame, captured := bytes.Repeat([]byte{1}, macctl.FrameSize), 0
	run := func(now, next int64, left int) {
		t.Helper()
		got := f.run(now, func(b []byte, _ bool) {
			captured++
			assert.True(t, bytes.Equal(b, frame), "captured: % x, want XOFF", b)
		})
		assert.MustBeTrue(t, got == next && len(p.left) == left && captured == left,
			"at %d: look again at %d, %d frames sent, want %d and %d", now, got, len(p.left), next, left)
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
	assert.True(t, slices.EqualFunc(p.left, [][]byte{frame, frame, frame}, bytes.Equal), "% x", p.left)
}

// What the kernel refuses holds nobody: neither a late hold, which is tried again, nor an XOFF that its sender takes
// back.
func TestRefusedFramesAreNotRepeated(t *testing.T) {
	r := newRefresher(1)
	f, p, woken := &r.ports[0], &exit{err: port.ErrAgain}, 0
	hold := newXoff(bytes.Repeat([]byte{1}, macctl.FrameSize), 50)
	f.guard.Store(&guard{port: p, waiting: func() bool { return true }, hold: hold,
		watched: Watched{Wake: func() { woken++ }}})
	f.lookBy.Store(100)
	if f.run(100, nil); f.due.Load() != noDeadline || f.hold.late() || woken != 0 {
		t.Errorf("a hold that was refused is repeated at %d, late %v", f.due.Load(), f.hold.late())
	}
	was := f.set(newResend(p, hold, 110))
	r.Undo(0, was)
	assert.Equal(t, f.due.Load(), noDeadline, "an XOFF that was refused is repeated at")
	p.err = nil
	f.run(200, func([]byte, bool) {})
	assert.True(t, f.hold.late() && woken == 1 && f.due.Load() == 250 && len(p.left) == 1,
		"late %v, %d workers woken, next at %d, %d frames sent", f.hold.late(), woken, f.due.Load(), len(p.left))
}

// An XOFF that its sender has not sent in time, because it has no CPU, leaves all the same, once.
func TestXoffOfASenderWithoutCPU(t *testing.T) {
	hold := bytes.Repeat([]byte{1}, macctl.FrameSize)
	r, p := newRefresher(1), &exit{}
	f, waits := &r.ports[0], false
	f.guard.Store(&guard{port: p, waiting: func() bool { return waits }, hold: newXoff(hold, 5000), watched: nobody})
	f.within.Store(100)
	f.lookBy.Store(200)
	r.Set(0, p, hold, 150, 5000)
	for now, left := int64(200), 0; now <= 400; now += 100 {
		if waits = now > 200; waits {
			left = 1
		}
		f.run(now, func([]byte, bool) {})
		assert.Equal(t, len(p.left), left, "XOFFs that have left by %d", now)
	}
	r.Repeat(0, 450)
	assert.Equal(t, f.hold.late(), false, "a late hold has begun")
	assert.Equal(t, r.Taken(0).N, 1, "XOFFs beside the sender's own")
	f.run(500, func([]byte, bool) {})
	assert.Equal(t, len(p.left), 1, "XOFFs that have left, since the sender's has")
}

// A hold that begins between Set and the moment at which the frame of Set leaves is the older one on the link: it
// leaves again. It also outlives a frame that did not leave.
func TestHoldWhileAnotherFrameLeaves(t *testing.T) {
	hold, xon := newXoff(bytes.Repeat([]byte{1}, macctl.FrameSize), 50), bytes.Repeat([]byte{2}, macctl.FrameSize)
	for name, end := range map[string]struct {
		do   func(r *Refresher, was resend)
		left int
	}{
		"it leaves":         {func(r *Refresher, _ resend) { r.Repeat(0, 210) }, 2},
		"it does not leave": {func(r *Refresher, was resend) { r.Undo(0, was) }, 1},
	} {
		r := newRefresher(1)
		f, p := &r.ports[0], &exit{}
		f.guard.Store(&guard{port: p, waiting: func() bool { return true }, hold: hold, watched: nobody})
		f.lookBy.Store(200)
		was := r.Set(0, p, xon, 100, 0)
		f.run(200, func([]byte, bool) {})
		end.do(r, was)
		s := r.Taken(0)
		assert.True(t, len(p.left) == end.left && s.N == uint64(end.left) && s.All && f.due.Load() != noDeadline,
			"%s: %d times XOFF, %+v, again at %d", name, len(p.left), s, f.due.Load())
		r.Set(0, p, xon, 300, 0)
		assert.Equal(t, f.due.Load(), noDeadline, "%s: XON is repeated", name)
		r.Repeat(0, 310)
		assert.Equal(t, len(p.left), end.left, "%s: XOFF leaves behind XON", name)
	}
}

// A hold because nobody looks passes the delay line by. What has been in the line since before does not free the peer;
// what was decided later does.
func TestHoldOvertakesTheLine(t *testing.T) {
	hold, xon := newXoff(bytes.Repeat([]byte{1}, macctl.FrameSize), 5000), bytes.Repeat([]byte{2}, macctl.FrameSize)
	r, p, l := newRefresher(1), &exit{}, newDelayLine(1000, gigabit, 10_000)
	leavesBy(l, r, p)
	f := &r.ports[0]
	f.guard.Store(&guard{port: p, waiting: func() bool { return true }, hold: hold, watched: nobody})
	f.lookBy.Store(200)
	leaves := func(now, overtaken int64, frames int, again bool) {
		t.Helper()
		_, _, _, _ = l.flush(p, now)
		if l.overtaken != overtaken || len(p.left) != frames || (f.due.Load() != noDeadline) != again ||
			l.entered == 0 {
			t.Errorf("at %d: overtaken at %d, %d frames have left, the newest is sent again at %d", now, l.overtaken,
				len(p.left), f.due.Load())
		}
	}
	l.putPause(100, xon, r.Holds(0), 0)
	f.run(200, func([]byte, bool) {})
	l.putPause(300, xon, r.Holds(0), 0)
	l.putPause(400, hold.frame[:], r.Holds(0), 5000)
	leaves(1100, 200, 1, true)
	leaves(1300, 0, 2, false)
	p.err = port.ErrAgain
	assert.True(t, l.due(0) == 1400, "due at %d", l.due(0))
	_, _, _, _ = l.flush(p, 1400)
	assert.Equal(t, f.due.Load(), noDeadline, "an XOFF that the kernel refuses is sent again")
	p.err, l.retryControl = nil, 0
	leaves(1500, 0, 3, true)
	assert.True(t, f.due.Load() == 6500 && f.holdsAll(),
		"XOFF that left at 1500 is sent again at %d, want 6500; the hold: %v", f.due.Load(), f.holdsAll())
	l.putPause(1600, xon, r.Holds(0), 0)
	f.heldByKernel(1700)
	leaves(2600, 1700, 3, true)
}

// While the answer to a hold is in the delay line, that hold is sent again, and is not newer than the answer.
func TestAnswerInTheLineIsNewer(t *testing.T) {
	hold, p := newXoff(bytes.Repeat([]byte{1}, macctl.FrameSize), 50), &exit{}
	r := newRefresher(1)
	f := &r.ports[0]
	f.guard.Store(&guard{port: p, waiting: func() bool { return true }, hold: hold, watched: nobody})
	f.lookBy.Store(100)
	for _, step := range []struct {
		now    int64
		answer bool
		all    bool
	}{{100, false, true}, {150, false, true}, {200, true, false}, {250, true, false}} {
		if step.answer {
			r.Answer(0, r.Holds(0))
		}
		f.run(step.now, func([]byte, bool) {})
		if s := r.Taken(0); s.N != 1 || s.At != step.now || s.All != step.all {
			t.Errorf("at %d: %+v, want one that holds all: %v", step.now, s, step.all)
		}
	}
	f.begin(260)
	f.sent.Add(1)
	assert.True(t, r.Taken(0).All, "a hold after the answer is not newer")
}

// A peer is not held for ever for a worker that hangs, neither by XOFF that is sent again nor because nobody looks. A
// worker that comes back starts anew.
func TestHungWorkerHoldsNobody(t *testing.T) {
	const every = 20_000_000
	hold := newXoff(bytes.Repeat([]byte{1}, macctl.FrameSize), every)
	for name, begin := range map[string]func(f *refresh, p *exit){
		"XOFF": func(f *refresh, p *exit) { f.set(newResend(p, newXoff([]byte{2}, every), 0)) },
		"nobody looks": func(f *refresh, p *exit) {
			f.guard.Store(&guard{port: p, waiting: func() bool { return true }, hold: hold, watched: nobody})
			f.lookBy.Store(0)
		},
	} {
		r := newRefresher(1)
		f, p := &r.ports[0], &exit{}
		begin(f, p)
		for round := 1; round <= 2; round++ {
			for now := int64(round) * 100 * holdMost; now < (int64(round)*100+3)*holdMost; now += every / 4 {
				f.run(now, func([]byte, bool) {})
			}
			if n := len(p.left); n < round*holdMost/every || n > round*(holdMost/every+2) {
				t.Fatalf("%s: held %d times in round %d, want for about %d ns each", name, n, round, holdMost)
			}
			r.Taken(0)
			f.set(newResend(p, hold, int64(round+1)*100*holdMost))
		}
	}
}

// Whichever thread runs first does what is due, and it is done once.
func TestThreadsShareWhatIsDue(t *testing.T) {
	r, p := newRefresher(1), &exit{}
	r.Set(0, p, []byte{1}, 0, 1000)
	r.Repeat(0, 0)
	for now := int64(1000); now <= 20_000; now += 1000 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { r.run(now) })
		}
		all.Wait()
	}
	n := r.Taken(0).N
	assert.True(t, n == 20 && len(p.left) == 20, "%d times, %d frames, want 20", n, len(p.left))
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
	forExecutors(t, func(t *testing.T, e executor) { holdWhereNobodyLooks(t, e, 0) })
}

// The same behind a delay line, which XON passes.
func TestHoldWhereNobodyLooksWithADelay(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) { holdWhereNobodyLooks(t, e, 2_000_000) })
}

func holdWhereNobodyLooks(t *testing.T, e executor, delay int64) {
	ports := unshapedPorts(2)
	ports[0].Delay = delay
	l := newTestbed(t, e, roomy(2), ports...)
	a, b, f := l.stations[0], l.stations[1], &l.r.refresher.ports[0]
	const n = 20
	assert.True(t, f.within.Load() > 0,
		"before the first look, the Refresher would check again at once, and take a CPU")
	for round := range 3 {
		// a worker that had no CPU before it stood still may have been late before, or owe the peer XON
		for begun := false; !begun; {
			l.must(l.r.quiesce(func() error {
				eventually(t, "no frame has come for long", func() bool {
					begun = f.lookBy.Load() == noDeadline
					return begun || f.hold.late() || f.due.Load() != noDeadline
				})
				if begun {
					a.send(several(0, 1, lossless, (round+1)*n, 60)[round*n:]...)
					eventually(t, "the peer is held",
						func() bool { return f.hold.late() && f.due.Load() != noDeadline })
				}
				return nil
			}))
		}
		eventually(t, "all frames arrive", func() bool { return len(b.received(0, lossless)) == (round+1)*n })
		eventually(t, "the peer is free", func() bool {
			l.r.mu.Lock()
			defer l.r.mu.Unlock()
			return f.free() && l.r.sw.XoffSent(0)
		})
	}
	c := l.empties().Ports[0].ControlSent // more where a worker got no CPU
	assert.True(t, c.XoffSent[lossless] >= 3 && c.XonSent[lossless] == c.XoffSent[lossless],
		"%+v, want XOFF three times or more, and XON as often", c)
}

// A worker that looks, however late, does not speak for one that has to decide, and hangs.
func TestWhoLooksAndWhoDecides(t *testing.T) {
	f, p := &newRefresher(1).ports[0], &exit{}
	f.guard.Store(&guard{port: p, waiting: func() bool { return true }, hold: newXoff([]byte{1}, 50_000_000),
		watched: Watched{Wake: func() {}, Looks: func() Pulse { return Pulse{Thread: 1, Ready: true} },
			Decides: func() Pulse { return Pulse{Thread: 2} }}})
	f.lookBy.Store(0)
	now, step := int64(0), int64(50_000_000)
	run := func(until int64) {
		for ; now < until && f.due.Load() != noDeadline || now == 0; now += step {
			if now/step%2 == 0 {
				f.lookBy.Store(now) // too late
			} else {
				f.lookBy.Store(now + step)
			}
			f.run(now, func([]byte, bool) {})
		}
	}
	run(3 * holdMost)
	assert.Equal(t, now, 3*holdMost, "the peer is held for a slow worker until")
	f.hold.taken()
	run(6 * holdMost)
	now -= 3 * holdMost
	assert.True(t, now > holdMost-second && now < holdMost+second, "and for one that hangs for %d ns", now)
}

// A peer that is freed can cross a threshold before the next burst. So it is held sooner where nobody looks, from XON
// on, and not only from that burst on, if frames without room do not wait.
func TestLookSoonerAfterXon(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		slow := []dataplane.PortConfig{testPort(0), testPort(1)}
		for i := range slow {
			slow[i].Speed = 10_000_000 // pauses of seconds
		}
		cfg := testConfig(2)
		cfg.Buffer.RingHold = false
		l := newTestbed(t, e, cfg, slow...)
		a, b, f := l.stations[0], l.stations[1], &l.r.refresher.ports[0]
		assert.True(t, f.within.Load() < lookWithinMax, "before the first burst: %d ns", f.within.Load())
		b.stop()
		a.send(several(0, 1, lossless, 100, 60)...)
		eventually(t, "a peer that is held needs no look", func() bool {
			b.hold(0xffff)
			return a.paused() == 1<<lossless && f.within.Load() == lookWithinMax
		})
		b.hold(0)
		eventually(t, "a peer that is freed needs one", func() bool {
			return a.paused() == 0 && f.within.Load() < lookWithinMax
		})
	})
}

// Who has to look may be told of a shorter time by others, never of a longer one.
func TestLookSooner(t *testing.T) {
	r := newRefresher(1)
	f := &r.ports[0]
	f.guard.Store(&guard{waiting: func() bool { return true }, watched: nobody})
	for _, tt := range []struct{ lookBy, now, within, want int64 }{
		{1000, 100, 50, 150}, {150, 100, 500, 150}, {150, 100, 0, 150}, {noDeadline, 100, 50, noDeadline},
	} {
		f.lookBy.Store(tt.lookBy)
		r.LookSooner(0, tt.now, tt.within)
		assert.Equal(t, f.lookBy.Load(), tt.want, "%+v: to look by", tt)
	}
	f.arrived(200)
	assert.Equal(t, f.lookBy.Load(), 250, "to look by, after a frame that ended an idle time")
}

// A hastenedPort lets another worker call LookSooner in the middle of a Look, once that knows the time in force.
type hastenedPort struct {
	exit
	sooner func()
}

func (p *hastenedPort) BacklogExceeds(port.Class, int) bool {
	p.sooner()
	return true
}

// What LookSooner says while the caller of Look has no CPU holds from that Look on.
func TestLookSoonerDuringALook(t *testing.T) {
	r := newRefresher(1)
	f := &r.ports[0]
	r.LookWithin(0, 8_000_000)
	p := &hastenedPort{sooner: func() {
		f.lookBy.Store(9_000_000) // a frame has come to the idle rings
		r.LookSooner(0, 1_000_000, 250_000)
	}}
	r.Look(0, p, 1_000_000)
	assert.Equal(t, f.lookBy.Load(), 1_250_000, "to look by")
	assert.Equal(t, f.within.Load(), 250_000, "the time in force")
}

// free tells whether the peer is not held, and XON was sent after a hold because nobody looked.
func (f *refresh) free() bool {
	f.Lock()
	defer f.Unlock()
	return !f.late && !f.hold.late() && f.due.Load() == noDeadline
}

// An overtakenPort begins a hold because nobody looks while XON leaves, and lets the next XOFF out only once the worker
// that looks waits to take it over.
type overtakenPort struct {
	*porttest.End
	r     *Runner
	begin atomic.Bool // with the next XON
	begun bool
}

func (p *overtakenPort) SendControl(b []byte) error {
	f := &p.r.refresher.ports[0]
	switch xon := bytes.Count(b[pfcTimes:pfcEnd], []byte{0}) == pfcEnd-pfcTimes; {
	case xon && p.begin.Swap(false):
		g := f.guard.Load()
		f.Lock()
		f.resend = resend{port: g.port, frame: g.hold, late: true}
		f.send(Now(), false, func([]byte, bool) {})
		f.begin(Now())
		f.Unlock()
		p.begun = true
	case !xon && p.begun:
		p.begun = false
		f.guard.Load().watched.Wake()
		for n, tries := 0, 0; n < 20 && tries < 200; n, tries = n+1, tries+1 { // it may have looked before
			if p.r.mu.TryLock() {
				p.r.mu.Unlock()
				n = 0
			}
			time.Sleep(50 * time.Microsecond)
		}
	}
	return p.End.SendControl(b)
}

// Where in a PFC frame the pause times are.
const (
	pfcTimes = 18
	pfcEnd   = pfcTimes + 2*dataplane.NumPriorities
)

// XON leaves again where a hold has overtaken it that another worker has taken over by then.
func TestHoldOvertakesXON(t *testing.T) {
	l := newTestbed(t, executor{name: "per port", cpus: 2, perPort: true}, roomy(2), unshapedPorts(2)...)
	var p *overtakenPort
	l.must(l.r.Detach(0))
	l.attach(0, func(e *porttest.End) port.Port {
		p = &overtakenPort{End: e, r: l.r}
		return p
	})
	f := &l.r.refresher.ports[0]
	hold := func(on bool) {
		l.must(l.r.Do(func(sw *dataplane.Switch) error {
			sw.HoldPeerForRing(0, on, Now())
			return nil
		}))
	}
	for range 20 {
		hold(true)
		eventually(t, "XOFF leaves", func() bool { return f.due.Load() != noDeadline })
		p.begin.Store(true)
		hold(false)
		eventually(t, "the peer is free", func() bool { return !p.begin.Load() && f.free() })
	}
}

// A peer that is held because nobody looks is freed after any change that comes meanwhile, also where the change knows
// no such hold.
func TestChangeDuringALateHold(t *testing.T) {
	for name, change := range map[string]func(c *dataplane.PortConfig){
		"nothing":          func(*dataplane.PortConfig) {},
		"a delay":          func(c *dataplane.PortConfig) { c.Delay = 1_000_000 },
		"no delay":         func(c *dataplane.PortConfig) { c.Delay = 0 },
		"other times":      func(c *dataplane.PortConfig) { c.Quanta = 2000 },
		"flow control off": func(c *dataplane.PortConfig) { c.Mode = macctl.ModeOff },
		"PAUSE":            func(c *dataplane.PortConfig) { c.Mode = macctl.ModePause },
		"another priority": func(c *dataplane.PortConfig) { c.Lossless = 1 << (lossless + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			ports := unshapedPorts(2)
			if name == "no delay" {
				ports[0].Delay = 1_000_000
			}
			l := newTestbed(t, executors[0], roomy(2), ports...)
			l.losesFrames = true
			f := &l.r.refresher.ports[0]
			c := l.ports[0]
			change(&c)
			l.ports[0] = c
			next, err := dataplane.Prepare(l.cfg, l.ports, l.statics)
			l.must(err)
			l.must(l.r.Do(func(sw *dataplane.Switch) error {
				l.stations[0].send(several(0, 1, lossless, 20, 60)...)
				eventually(t, "the peer is held", func() bool { return f.hold.late() && f.due.Load() != noDeadline })
				_, err := l.r.putInForce(sw, next, l.ports)
				f.run(f.due.Load(), func([]byte, bool) {}) // XOFF leaves again before a worker runs
				return err
			}))
			eventually(t, "the peer is free, while other frames go on", func() bool {
				s := l.stations[0]
				l.stations[1].send(data(1, 0, 0, 0, 60))
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.receiver.Paused(Now()) == 0 && f.due.Load() == noDeadline
			})
		})
	}
}

// Ports that have no link, no sockets or a host behind them are not refreshed.
func TestRefreshEnds(t *testing.T) {
	for name, end := range map[string]func(l *testbed) error{
		"link down": func(l *testbed) error { return l.r.SetUp(0, false) },
		"detached":  func(l *testbed) error { return l.r.Detach(0) },
		"removed": func(l *testbed) error {
			delete(l.ports, 0)
			l.losesFrames = true
			return l.r.Configure(l.cfg, l.ports, nil)
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
