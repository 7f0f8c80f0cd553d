package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// storm lets a station pause priority 3, or under PAUSE the port, without end.
func (s *station) storm(mode macctl.Mode) (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			if mode == macctl.ModePause {
				s.pause(0xffff)
			} else {
				s.pfc(1<<3, 0xffff)
			}
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() { close(ended); <-over }
}

const watched = "priorities: {lossless: [3]}\nwatchdog: {period: 10ms, count: 3, recovery: 300ms, action: "

func (r *rig) watch(n int) deadlock.Status {
	r.t.Helper()
	for _, s := range (source{r.d}).Watchdog() {
		if s.Name == portName(n) && (s.Queue == 3 || s.Queue == deadlock.All) {
			return s
		}
	}
	r.t.Fatalf("port %d is not watched", n)
	return deadlock.Status{}
}

// A host that sends XOFF without end is found, by PFC and by PAUSE, and what is done about it helps: frames for it
// leave (forward), or are dropped and counted (drop). A flow between two other hosts loses nothing.
func TestStorm(t *testing.T) {
	for _, tt := range []struct {
		mode   macctl.Mode
		action string
	}{{macctl.ModePFC, "forward"}, {macctl.ModePFC, "drop"}, {macctl.ModePause, "forward"},
		{macctl.ModePause, "drop"}} {
		t.Run(tt.mode.String()+" "+tt.action, func(t *testing.T) {
			r := newRig(t, 4, lab.LinkOptions{})
			r.start(setup{keys: watched + tt.action + "}", each: at100M + ", flow_control: " + tt.mode.String()})
			h1, h2 := r.station(1, tt.mode, 100e6), r.station(2, tt.mode, 100e6)
			h3, h4 := r.station(3, tt.mode, 100e6), r.station(4, tt.mode, 100e6)
			stopBystander := h3.send(stream{to: 4, prio: 3, rate: 20e6})
			calm := h2.storm(tt.mode)
			stop := h1.send(stream{to: 2, prio: 3, rate: 10e6})
			eventually(t, "the storm is found", func() bool { return r.watch(2).Detected > 0 })
			switch tt.action {
			case "forward":
				eventually(t, "frames leave in spite of XOFF", func() bool { return h2.tally(1, 3).frames > 10 })
			case "drop":
				eventually(t, "frames are dropped",
					func() bool { return r.snapshot(1).Counters.Drops[3][dataplane.DropWatchdog] > 10 })
			}
			eventually(t, "it is found again", func() bool { return r.watch(2).Detected > 1 })
			calm()
			stop()
			stopBystander()
			eventually(t, "the last storm is over", func() bool { return r.watch(2).State == deadlock.Operational })
			if s := r.watch(2); s.Detected != s.Recovered || tt.action == "drop" && s.Dropped == 0 ||
				tt.action == "forward" && s.Sent == 0 {
				t.Errorf("%+v", s)
			}
			h4.whole(h3, 3)
			if tt.action == "forward" {
				h2.whole(h1, 3)
			}
			r.noLosslessDrops()
			first := r.events(dataplane.EventDeadlock, 2)
			second := r.events(dataplane.EventDeadlockRecovered, 2)
			if len(first) == 0 || len(second) == 0 || first[0].Peer == 0 ||
				!strings.Contains(first[0].Text, tt.action) {
				t.Fatalf("first notifications %+v, second %+v", first, second)
			}
			for n := range 4 {
				if n != 1 && r.watch(n+1).Detected != 0 {
					t.Errorf("port %d: %+v", n+1, r.watch(n+1))
				}
			}
		})
	}
}

// stormy are settings under which a storm lasts until its peer or somebody else ends it.
var stormy = map[string]string{
	"count": "{period: 10ms, count: 3, recovery: 60s, action: %s}",
	"sonic": "{mode: sonic, detection: 100ms, restoration: 60s, poll: 100ms, action: %s}",
}

// Actions that are changed in the middle of a storm leave no queue stuck, and each is in force at once; nor do a link
// that flaps and a watchdog that is switched off. PFC and PAUSE, by looks and by SONiC's rules.
func TestChangeInAStorm(t *testing.T) {
	for _, mode := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
		for name, settings := range stormy {
			for _, end := range []string{"flap", "off"} {
				t.Run(fmt.Sprintf("%v %s %s", mode, name, end),
					func(t *testing.T) { changeInAStorm(t, mode, settings, end) })
			}
		}
	}
}

func changeInAStorm(t *testing.T, mode macctl.Mode, settings, end string) {
	r := newRig(t, 2, lab.LinkOptions{})
	with := func(watchdog string) setup {
		return setup{keys: "priorities: {lossless: [3]}\nwatchdog: " + watchdog, each: at100M + ", flow_control: " +
			mode.String()}
	}
	action := func(name string) setup { return with(fmt.Sprintf(settings, name)) }
	r.start(action("alert"))
	h1, h2 := r.station(1, mode, 100e6), r.station(2, mode, 100e6)
	calm := h2.storm(mode)
	eventually(t, "the switch is paused", func() bool { return r.snapshot(2).Paused&(1<<3) != 0 })
	h1.send(stream{to: 2, prio: 3, frames: 50})
	eventually(t, "the storm is found", func() bool { return r.watch(2).State == deadlock.Stormed })
	if h2.tally(1, 3).frames != 0 {
		t.Error("XOFF was not obeyed under alert")
	}
	must(t, r.apply(action("forward"), 2))
	eventually(t, "the frames leave", func() bool { return h2.tally(1, 3).frames == 50 })
	must(t, r.apply(action("drop"), 2))
	h1.send(stream{to: 2, prio: 3, frames: 80}) // 30 more
	eventually(t, "frames are dropped",
		func() bool { return r.snapshot(1).Counters.Drops[3][dataplane.DropWatchdog] == 30 })
	must(t, r.apply(action("alert"), 2))
	h1.send(stream{to: 2, prio: 3, frames: 90}) // 10 more
	eventually(t, "frames wait, since XOFF is obeyed again", func() bool { return r.snapshot(2).Held[3] == 10 })
	if e := r.events(dataplane.EventDeadlockAction, 2); len(e) != 3 {
		t.Errorf("%+v", e)
	}
	reason, arrived := "link", uint64(50)
	switch end {
	case "flap":
		calm() // its last pause still runs
		must(t, r.host(2).LinkDown("eth0"))
		r.waitUp(2, false)
		eventually(t, "the storm is over", func() bool { return r.watch(2).State == deadlock.Operational })
		must(t, r.host(2).LinkUp("eth0"))
		r.waitUp(2, true)
	case "off":
		must(t, r.apply(action("drop"), 2))
		eventually(t, "the frames are dropped", func() bool { return r.snapshot(2).Held[3] == 0 })
		must(t, r.apply(with("off"), 2))
		h1.send(stream{to: 2, prio: 3, frames: 95}) // 5 more
		eventually(t, "frames wait, since XOFF is obeyed again", func() bool { return r.snapshot(2).Held[3] == 5 })
		calm()
		reason, arrived = "not watched", arrived+5
	}
	if e := r.events(dataplane.EventDeadlockRecovered, 2); len(e) != 1 || !strings.Contains(e[0].Text, reason) {
		t.Errorf("%+v", e)
	}
	eventually(t, "what waits leaves", func() bool {
		return r.snapshot(2).Held[3] == 0 &&
			h2.tally(1, 3).frames == arrived
	})
	r.passes(1, 2)
}

// notices keeps when each notification was logged, which is when it was made.
type notices struct {
	slog.Handler
	mu sync.Mutex
	at []time.Time
}

func (n *notices) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "deadlock") || strings.Contains(r.Message, "detection started again") {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.at = append(n.at, r.Time)
	}
	return nil
}

func (n *notices) times() []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.at)
}

// Detection takes count periods, and at most one more, in the median of 20 rounds; within a period of it the first
// frame has left in spite of XOFF; the second notification comes after the recovery time and at most a period more.
func TestTimesOfNotification(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.start(setup{keys: "priorities: {lossless: [3]}\nwatchdog: {period: 10ms, count: 3, recovery: 50ms, action: " +
		"forward}", each: at100M})
	told := &notices{Handler: slog.DiscardHandler}
	r.d.watchdog.act(func(int64) { r.d.watchdog.log = slog.New(enabled{told}) })
	h1, h2 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6)
	const detection, recovery, period = 30 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond
	var found, restored, freed []time.Duration
	for round := range 20 {
		h2.pfc(1<<3, 0xffff) // 336 ms
		eventually(t, "the switch is paused", func() bool { return r.snapshot(2).Paused&(1<<3) != 0 })
		begun := time.Now()
		h1.send(stream{to: 2, prio: 3, frames: uint64(round) + 1})
		eventually(t, "the end of the storm", func() bool { return len(told.times()) == 2*(round+1) })
		h2.pfc(1<<3, 0)
		eventually(t, "the switch is free", func() bool { return r.snapshot(2).Paused&(1<<3) == 0 })
		at := told.times()[2*round:]
		found = append(found, at[0].Sub(begun))
		restored = append(restored, at[1].Sub(at[0]))
		eventually(t, "the frame has come", func() bool { return len(h2.arrivals(begun)) > 0 })
		freed = append(freed, h2.arrivals(begun)[0].stamp.Sub(at[0]))
	}
	slices.Sort(found)
	slices.Sort(restored)
	slices.Sort(freed)
	t.Logf("first frame %v to %v after detection, median %v", freed[0], freed[19], freed[10])
	t.Logf("detection %v to %v, median %v; recovery %v to %v, median %v", found[0], found[19], found[10], restored[0],
		restored[19], restored[10])
	if m := found[10]; found[0] < detection || m > detection+period {
		t.Errorf("detected after %v at least and %v in the median, want %v and at most %v", found[0], m, detection,
			detection+period)
	}
	if m := freed[10]; m > period {
		t.Errorf("the first frame left %v after detection in the median, want at most %v", m, period)
	}
	if m := restored[10]; m < recovery || m > recovery+period {
		t.Errorf("restored after %v in the median, want %v and at most %v", m, recovery, recovery+period)
	}
}

// enabled makes a handler take everything.
type enabled struct{ *notices }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }

// A peer that throttles to 90 % with short pauses, gapless traffic behind it, is not taken for a storm.
func TestThrottlingIsNoStorm(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.start(setup{keys: "priorities: {lossless: [3]}\nwatchdog: {period: 1ms, count: 4, action: drop}",
		each: "speed: 1G, ring: {outage: 400ms, max: 64MiB}"})
	h1, h2 := r.station(1, macctl.ModePFC, 1e9), r.station(2, macctl.ModePFC, 1e9)
	stop := h1.send(stream{to: 2, prio: 3})
	for begun := time.Now(); time.Since(begun) < 2*time.Second; time.Sleep(time.Millisecond) {
		h2.pfc(1<<3, 195) // 100 µs
	}
	stop()
	if s := r.watch(2); s.Detected != 0 {
		t.Errorf("%+v", s)
	}
	h2.whole(h1, 3)
}

// Nor are 15 pauses of half the detection time in a row, with a queue that is never empty, and a queue without flow
// control whose number the peer pauses all the time.
func TestBurstsAreNoDeadlock(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.start(setup{keys: "priorities: {lossless: [3]}\nwatchdog: {period: 10ms, count: 4, action: drop}", each: at100M})
	h1, h2 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6)
	stop := h1.send(stream{to: 2, prio: 3}, stream{to: 2, prio: 0, rate: 5e6})
	for range 15 {
		h2.pfc(1<<3, 3906) // 20 ms
		for begun := time.Now(); time.Since(begun) < 25*time.Millisecond; time.Sleep(5 * time.Millisecond) {
			h2.pfc(1<<0, 0xffff)
		}
	}
	stop()
	for _, s := range (source{r.d}).Watchdog() {
		if s.Detected != 0 || s.Queue != 3 {
			t.Errorf("%+v", s)
		}
	}
	h2.whole(h1, 3)
	h2.whole(h1, 0)
}

// A switch that is stopped for a second, while its peer pauses it as usual, takes nothing for a deadlock.
func TestStoppedSwitchIsNoDeadlock(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	p := r.startProcess(setup{keys: "priorities: {lossless: [3]}\nwatchdog: {period: 10ms, count: 3, action: drop}",
		each: "speed: 100M, ring: {outage: 1500ms}"})
	h1, h2 := r.station(1, macctl.ModePFC, 100e6), r.station(2, macctl.ModePFC, 100e6)
	stop := h1.send(stream{to: 2, prio: 3, rate: 2e6})
	for range 3 {
		before := h2.tally(1, 3).frames
		h2.pfc(1<<3, 3900) // 20 ms
		freeze(t, p)
		time.Sleep(time.Second)
		thaw(t, p)
		eventually(t, "frames go on", func() bool { return h2.tally(1, 3).frames > before+20 })
	}
	stop()
	h2.whole(h1, 3)
	must(t, p.Stop(syscall.SIGTERM, testTimeout))
	if log := p.Output(); strings.Contains(log, "deadlock") {
		t.Error(log)
	}
}
