package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// A failingPort refuses what it is told to refuse.
type failingPort struct {
	*porttest.End
	started, steered error
	meanwhile        func() // what happens while it starts
	steering         func() // what happens while it sorts frames anew
	roomless         bool   // its waiting room has no room
}

func (f *failingPort) Octets(c port.Class) int {
	if f.roomless {
		return 0
	}
	return f.End.Octets(c)
}

func (f *failingPort) Start() error {
	if f.meanwhile != nil {
		f.meanwhile()
	}
	return f.started
}

func (f *failingPort) Steer([]bpf.RawInstruction) error {
	if f.steering != nil {
		f.steering()
	}
	return f.steered
}

// second makes another link of port i, whose station is not told.
func (l *testbed) second() (*failingPort, *porttest.End) {
	l.t.Helper()
	near, far, err := porttest.Pair(porttest.Options{Now: wallClock, Slots: 16384, Classify: byPriority})
	l.must(err)
	l.t.Cleanup(func() { _ = far.Close() })
	return &failingPort{End: near}, far
}

// Frames are sorted anew before a configuration that makes more of them lossless, and after one that makes less so.
func TestSteeringComesInTime(t *testing.T) {
	l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
	near, _ := l.second()
	_, err := l.r.Replace(0, near)
	l.must(err)
	const more = lossless + 1
	var inForce []uint8
	near.steering = func() {
		l.r.View(func(sw *dataplane.Switch) {
			c, _ := sw.PortConfig(0)
			inForce = append(inForce, c.LosslessPriorities())
		})
	}
	for _, tt := range []struct {
		priorities uint8
		want       []uint8
	}{
		{1<<lossless | 1<<more, []uint8{1 << lossless, 1<<lossless | 1<<more}},
		{1 << more, []uint8{1 << more}},
	} {
		inForce = nil
		c := l.ports[0]
		c.Lossless = tt.priorities
		l.ports[0] = c
		l.must(l.r.Configure(l.cfg, l.ports, l.statics))
		assert.True(t, slices.Equal(inForce, tt.want),
			"to %08b: sorted anew while %08b were in force, want %08b", tt.priorities, inForce, tt.want)
	}
}

// Sockets are replaced when the ring is empty; the port stays up and knows what it knew.
func TestReplace(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
		a, b := l.stations[0], l.stations[1]
		const n = 300
		a.send(several(0, 1, lossless, n, small)...)
		near, far := l.second()
		near.started = errors.New("not now")
		if _, err := l.r.Replace(0, near); !errors.Is(err, near.started) {
			t.Errorf("error %v, want %v", err, near.started)
		}
		assert.True(t, l.r.refresher.ports[0].guard.Load() != nil,
			"where nobody looks at the old rings, which stay, nobody holds the peer any more")
		near.started = nil
		lost, err := l.r.Replace(0, near)
		assert.True(t, err == nil && lost == 0, "lost %d, %v", lost, err)
		a.link(near.End, far)
		a.send(several(0, 1, 0, 10, small)...)
		eventually(t, "all arrive", func() bool {
			return len(b.received(0, lossless)) == n && len(b.received(0, 0)) == 10
		})
		v := l.empties()
		assert.True(t, v.Ports[0].Up && v.Ports[0].RingSlots.Full == 16384 && v.Ports[0].XoffWanted == 0,
			"up %v, %d slots, holds %08b", v.Ports[0].Up, v.Ports[0].RingSlots.Full, v.Ports[0].XoffWanted)
		for _, event := range l.r.sw.Events(nil, 0) {
			assert.True(t, event.Kind != dataplane.EventPortDown, "event %+v", event)
		}
		_, err = l.r.Replace(7, near)
		assert.True(t, err != nil, "a port that does not exist got sockets")
	})
}

// Frames that come while sockets are replaced, to those of before or to both, are forwarded once and in order.
func TestReplaceLosesNothing(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
		a, b := l.stations[0], l.stations[1]
		near, far := l.second()
		const before, after = 150, 250 // more than a burst
		frames := map[uint8][][]byte{0: several(0, 1, 0, after, small), lossless: several(0, 1, lossless, after, small)}
		near.meanwhile = func() {
			a.send(frames[lossless]...)
			a.send(frames[0]...)
			a.link(near.End, far)
			a.send(frames[lossless][before:]...)
			a.send(frames[0][before:]...)
		}
		lost, err := l.r.Replace(0, near)
		assert.True(t, err == nil && lost == 0, "lost %d, %v", lost, err)
		for prio, sent := range frames {
			eventually(t, "all arrive", func() bool { return len(b.received(0, prio)) >= len(sent) })
			got := b.received(0, prio)
			assert.True(t, len(got) == len(sent) && slices.IsSorted(got),
				"priority %d: %d frames arrive, in order %v, want %d", prio, len(got), slices.IsSorted(got), len(sent))
		}
		c := l.empties().Ports[0].Counters
		assert.True(t, c.Drops == [len(c.Drops)][dataplane.NumDropReasons]uint64{} && c.ReceivedFrames == 2*after,
			"received %d frames, dropped %v", c.ReceivedFrames, c.Drops)
	})
}

// Lossy frames that wait in a long ring when it is replaced are forwarded before.
func TestReplaceForwardsALongRing(t *testing.T) {
	const n = 8000
	l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
	near, far := l.second()
	l.must(l.r.Detach(0))
	var busy atomic.Bool
	l.attach(0, func(p *porttest.End) port.Port { return busyPort{p, &busy, new(atomic.Int64)} })
	l.must(l.r.Do(func(*dataplane.Switch) error { // the worker stands still
		l.stations[0].send(several(0, 1, 0, n, small)...)
		return nil
	}))
	busy.Store(true)
	_, err := l.r.Replace(0, near)
	l.must(err)
	l.stations[0].link(near.End, far)
	c := l.empties().Ports[0].Counters
	if lost := c.Drops[dataplane.Unknown][dataplane.DropRing]; lost != 0 || c.ReceivedFrames != n {
		t.Errorf("%d frames are forwarded and %d lost in the ring, want %d and none", c.ReceivedFrames, lost, n)
	}
}

// The workers stand still for no longer where the real-time clock is set meanwhile.
func TestHandoverWhileTheClockIsSet(t *testing.T) {
	for name, step := range map[string]int64{"back": -3600 * second, "forth": 3600 * second} {
		t.Run(name, func(t *testing.T) {
			near, far, err := porttest.Pair(porttest.Options{Now: wallClock, Slots: 64})
			assert.Must(t, err)
			t.Cleanup(func() { _, _ = near.Close(), far.Close() })
			calls, now, wall := 0, int64(0), wallClock()
			until := handover(near, make([]port.Frame, 8), func() (int64, int64) {
				if calls++; calls == 3 {
					wall += step
				}
				assert.MustBeTrue(t, calls <= 100, "the workers stand still until the clock is what it was")
				now, wall = now+1000, wall+1000
				return now, wall
			})
			assert.Equal(t, until, wall, "end of the handover, want now")
		})
	}
}

// A stamp later than now is from before the clock was set back.
func TestCameBy(t *testing.T) {
	wall := wallClock()
	for _, row := range []struct {
		stamp, until int64
		want         bool
	}{{wall - 2, wall - 1, true}, {wall - 1, wall - 1, true}, {wall - 1, wall - 2, false},
		{wall + 3600*second, wall - 2, true}} {
		assert.Equal(t, cameBy(row.stamp, row.until), row.want, "a stamp %d ns after the moment came by it",
			row.stamp-row.until)
	}
}

// crowded is a switch whose buffer takes few lossless frames for port 1, which sends none. All but one of those behind
// them wait in the ring of port 0, since its waiting room has no room.
func crowded(t *testing.T) *testbed {
	ports := unshapedPorts(2)
	ports[0].Ingress[lossless].Headroom = cell
	ports[1] = slowest(1)
	l := newTestbed(t, executors[0], testConfig(2), ports...)
	l.must(l.r.Do(func(sw *dataplane.Switch) error { return sw.SetRoom(0, 0) }))
	l.stations[1].stop()
	return l
}

func (l *testbed) waits(i int) {
	l.t.Helper()
	eventually(l.t, "a frame waits in the ring", func() (waits bool) {
		l.r.View(func(sw *dataplane.Switch) { waits = inRing(sw, i) })
		return waits
	})
}

// What does not leave the ring in time is lost, and counted.
func TestReplaceCountsWhatWaits(t *testing.T) {
	l := crowded(t)
	l.stations[0].send(several(0, 1, lossless, 500, small)...)
	l.waits(0)
	near, _ := l.second()
	near.roomless = true
	var lost int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		lost, err = l.r.Replace(0, near)
	}()
	meanwhile := l.readsUntil(done)
	assert.True(t, meanwhile >= 3, "%d snapshots while the change waited, want that nobody waits for it", meanwhile)
	c := l.snapshotOf(0).Counters
	assert.True(t, err == nil && lost != 0 && c.LosslessDrops[dataplane.Unknown] == uint64(lost) &&
		c.Drops[dataplane.Unknown][dataplane.DropRing] == uint64(lost), "lost %d (%v), counted %d and %d", lost, err,
		c.LosslessDrops[dataplane.Unknown], c.Drops[dataplane.Unknown][dataplane.DropRing])
}

// What the ring still holds when it is replaced goes into the waiting room, where there is room.
func TestReplaceKeepsWhatWaits(t *testing.T) {
	l := crowded(t)
	const n = 500
	l.stations[0].send(several(0, 1, lossless, n, small)...)
	l.waits(0)
	near, _ := l.second()
	lost, err := l.r.Replace(0, near)
	assert.True(t, lost == 0 && err == nil, "lost %d, %v", lost, err)
	l.stations[1].hold(0)
	eventually(t, "all arrive", func() bool { return len(l.stations[1].received(0, lossless)) == n })
	got := l.stations[1].received(0, lossless)
	assert.True(t, slices.IsSorted(got), "the frames arrive out of order")
}

// What waits in the rings of a port whose sockets go, or which goes itself, is counted as lost in them.
func TestRingsThatGoAreCounted(t *testing.T) {
	for name, leave := range map[string]func(l *testbed) error{
		"sockets": func(l *testbed) error { return l.r.Detach(0) },
		"port": func(l *testbed) error {
			return l.r.Configure(testConfig(2), map[int]dataplane.PortConfig{1: l.ports[1]}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := crowded(t)
			l.losesFrames = true
			const n = 500
			l.stations[0].send(several(0, 1, lossless, n, small)...)
			l.waits(0)
			l.must(leave(l))
			var c *dataplane.Counters
			if old := l.r.RemovedCounters().Ports; len(old) == 1 {
				c = &old[0].Counters
			}
			if p := l.snapshotOf(0); p.Config.Name == "p0" {
				c = &p.Counters
			}
			if c == nil || c.ReceivedFrames == n ||
				c.ReceivedFrames+c.Drops[dataplane.Unknown][dataplane.DropRing] != n ||
				c.LosslessDrops[dataplane.Unknown] != 0 {
				t.Errorf("%+v, want %d frames received or lost in the ring, and no fault", c, n)
			} else if d := c.LosslessDiscarded[dataplane.Unknown][dataplane.DropRing]; c.ReceivedFrames+d != n {
				t.Errorf("%d frames count as discarded, want %d", d, n-c.ReceivedFrames)
			}
		})
	}
}

// A peer that is held because its ring is full stays held when a configuration comes, or is refused, and when a drain
// ends.
func TestRingHoldsSurviveChanges(t *testing.T) {
	const other = 5
	ports := []dataplane.PortConfig{unshaped(0), slowest(1)}
	for i := range ports {
		ports[i].Lossless |= 1 << other
	}
	ports[0].Ingress[lossless].Headroom = cell
	cfg := testConfig(8)
	cfg.Lossless |= 1 << other
	l := newTestbed(t, executors[0], cfg, ports...)
	l.losesFrames = true
	l.stations[1].stop()
	l.stations[0].send(several(0, 1, lossless, 8000, small)...)
	controlSent := func() macctl.InitiatorCounters { return l.snapshotOf(0).ControlSent }
	refused := cfg
	refused.Buffer.Lossless.Size /= 2
	eventually(t, "the ring is held, and more is in use than the smaller pool has", func() bool {
		pool := l.snapshot().Buffer.Lossless
		return controlSent().XoffSent[other] > 0 && pool.Used.Shared.Now > pool.SharedSize-pool.Size/2
	})
	for name, change := range map[string]func() error{
		"refused": func() error {
			if err := l.r.Configure(refused, l.ports, l.statics); !errors.Is(err, buffer.ErrBusy) {
				return fmt.Errorf("error %w, want that it is busy", err)
			}
			return nil
		},
		"in force":   func() error { return l.r.Configure(cfg, l.ports, l.statics) },
		"drain ends": func() error { return errors.Join(l.r.Drain(portSet(0)), l.r.Drain(portSet())) },
	} {
		before := controlSent()
		for range 5 {
			l.stations[1].hold(0xffff) // whatever the machine takes its time for
			l.must(change())
			time.Sleep(5 * time.Millisecond)
		}
		if now := controlSent(); now.XonSent[other] != before.XonSent[other] {
			t.Errorf("%s: the peer was told %d times that it may go on", name, now.XonSent[other]-before.XonSent[other])
		}
	}
}

// readsUntil counts the snapshots of a switch whose ring is drained for a change, until that has come.
func (l *testbed) readsUntil(done chan struct{}) (n int) {
	for {
		draining := false
		l.r.View(func(sw *dataplane.Switch) { draining = l.r.tasks[0].draining })
		if draining {
			l.snapshot()
			n++
		}
		select {
		case <-done:
			return n
		case <-time.After(time.Millisecond):
		}
	}
}

// A port that cannot be attached keeps none of the others from it.
func TestAttachSeveral(t *testing.T) {
	l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
	var all []Attachment
	for _, i := range []int{0, 7, 1} {
		near, _ := l.second()
		all = append(all, Attachment{Index: i, Port: near, MAC: testPort(i).MAC})
	}
	errs := l.r.Attach(all...)
	for i, err := range errs {
		assert.True(t, err != nil, "port %d has its sockets, or does not exist: no error", all[i].Index)
	}
	l.must(errors.Join(l.r.Detach(0), l.r.Detach(1)))
	errs = l.r.Attach(all...)
	assert.True(t, errs[0] == nil && errs[1] != nil && errs[2] == nil, "%v, want one for port 7", errs)
	for i := range 2 {
		assert.True(t, l.r.tasks[i] != nil && l.r.tasks[i].port == all[2*i].Port && l.r.tasks[i].rx != nil,
			"port %d has not its sockets, or no worker", i)
	}
}

// A configuration that is in force is in force, whatever fails then.
func TestConfigureWarns(t *testing.T) {
	l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
	near, _ := l.second()
	l.must(l.r.Detach(0))
	l.must(errors.Join(l.r.Attach(Attachment{Port: near, MAC: testPort(0).MAC})...))
	near.steered = errors.New("the kernel refuses")
	ports := asMap(unshapedPorts(2)...)
	changed := ports[0]
	changed.Lossless = 1 << 5
	ports[0] = changed
	l.must(l.r.Configure(l.cfg, ports, l.statics))
	events := l.r.sw.Events(nil, 0)
	last := events[len(events)-1]
	assert.True(t, last.Kind == dataplane.EventPort && last.Port == "p0" &&
		strings.Contains(last.Text, "the kernel refuses"), "last event %+v, want one of what failed", last)
}

// A port that is removed and comes back goes on counting; what it lost stays lost.
func TestCountersOutliveTheirPort(t *testing.T) {
	l := newTestbed(t, executors[0], roomy(3), unshapedPorts(3)...)
	l.stations[0].send(several(0, 1, lossless, 100, small)...)
	eventually(t, "all arrive", func() bool { return len(l.stations[1].received(0, lossless)) == 100 })
	l.must(l.r.Do(func(sw *dataplane.Switch) error {
		sw.RingLost(0, port.Lossless, 5, Now())
		l.r.tasks[0].reaction.Record(1000)
		return nil
	}))
	before := l.snapshot()
	admitted := before.Buffer.Ports[0].Ingress[lossless].Admitted
	assert.True(t, admitted != 0, "the buffer has admitted nothing")
	ports := asMap(unshapedPorts(3)...)
	delete(ports, 0)
	l.must(l.r.Configure(l.cfg, ports, nil))
	gone := l.snapshot()
	assert.True(t, gone.LosslessDropsRemoved == 5 && before.LosslessDropsRemoved == 0 && len(gone.Ports) == 2,
		"%d lossless drops of ports that are gone, want 5", gone.LosslessDropsRemoved)
	for range 2 {
		l.must(l.r.Configure(l.cfg, asMap(unshapedPorts(3)...), nil))
		l.attach(0, nil)
		back := l.snapshot()
		was, is := &before.Ports[0], &back.Ports[0]
		assert.True(t, is.Counters.ReceivedFrames == was.Counters.ReceivedFrames &&
			is.Counters.LosslessDrops == was.Counters.LosslessDrops && is.Reaction.Count == was.Reaction.Count &&
			back.LosslessDropsRemoved == 0, "the port that came back has counted %+v, %d reactions, want %+v, %d",
			is.Counters, is.Reaction.Count, was.Counters, was.Reaction.Count)
		assert.Equal(t, back.Buffer.Ports[0].Ingress[lossless].Admitted, admitted,
			"frames that the buffer has admitted of the port that came back")
		l.must(l.r.Configure(l.cfg, ports, nil))
	}
}

// Peers that are held until a configuration fits stay held while others are tried, refused or in force, and are told
// once. Nobody else is held.
func TestDrain(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		ports := unshapedPorts(3)
		l := newTestbed(t, e, roomy(3), ports...)
		wanted := func() (all [3]uint8, told uint64) {
			v := l.snapshot()
			for i := range all {
				all[i] = v.Ports[i].XoffWanted
			}
			return all, v.Ports[0].ControlSent.XonSent[lossless]
		}
		held := [3]uint8{1 << lossless, 1 << lossless, 0}
		l.must(l.r.Drain(portSet(0, 1)))
		got, _ := wanted()
		assert.True(t, got == held, "held %08b, want %08b", got, held)
		eventually(t, "both are told", func() bool {
			told := false
			l.r.View(func(sw *dataplane.Switch) { told = sw.XoffSent(0) && sw.XoffSent(1) })
			return told
		})
		small := roomy(3)
		small.Buffer.Lossless.Size = cell
		err := l.r.Configure(small, asMap(ports...), nil)
		assert.True(t, err != nil, "a pool of one cell fits")
		l.must(l.r.Configure(roomy(3), asMap(ports...), nil))
		if got, xon := wanted(); got != held || xon != 0 {
			t.Errorf("after other configurations held %08b, want %08b; %d times told to go on", got, held, xon)
		}
		l.must(l.r.Drain(portSet()))
		eventually(t, "both may go on", func() bool { got, xon := wanted(); return got == [3]uint8{} && xon > 0 })
	})
}

func portSet(numbers ...int) (s bridge.PortSet) {
	for _, i := range numbers {
		s.Add(i)
	}
	return s
}
