package acceptance

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// storm lets a station pause its port without end.
func (s *Station) storm() (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			s.pause(0xffff)
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() { close(ended); <-over }
}

const watched = Lossless3 + "watchdog: {period: 10ms, count: 3, recovery: 300ms, action: "

func (r *Rig) watch(n int) deadlock.Status {
	r.T.Helper()
	for _, s := range r.Source().Watchdog() {
		if s.Name == PortName(n) && (s.Queue == 3 || s.Queue == deadlock.All) {
			return s
		}
	}
	r.T.Fatalf("port %d is not watched", n)
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
			r := Start(t, 4, Setup{Keys: watched + tt.action + "}", Each: At100M + flow(tt.mode)})
			h1, h2 := r.Station(1, tt.mode, 100e6), r.Station(2, tt.mode, 100e6)
			h3, h4 := r.Station(3, tt.mode, 100e6), r.Station(4, tt.mode, 100e6)
			stopBystander := h3.Send(Stream{To: 4, Prio: 3, Rate: 20e6})
			calm := h2.storm()
			stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 10e6})
			eventually(t, "the storm is found", func() bool { return r.watch(2).Detected > 0 })
			switch tt.action {
			case "forward":
				eventually(t, "frames leave in spite of XOFF", func() bool { return h2.Tally(1, 3).Frames > 10 })
			case "drop":
				eventually(t, "frames are dropped",
					func() bool { return r.Snapshot(1).Counters.Drops[3][dataplane.DropWatchdog] > 10 })
			}
			eventually(t, "it is found again", func() bool { return r.watch(2).Detected > 1 })
			calm()
			stop()
			stopBystander()
			eventually(t, "the last storm is over", func() bool { return r.watch(2).State == deadlock.Operational })
			s := r.watch(2)
			assert.True(t, s.Detected == s.Recovered && (tt.action != "drop" || s.Dropped != 0) &&
				(tt.action != "forward" || s.Sent != 0), "%+v", s)
			h4.Whole(h3, 3)
			if tt.action == "forward" {
				h2.Whole(h1, 3)
			}
			r.NoLosslessDrops()
			first := r.Events(dataplane.EventDeadlock, 2)
			second := r.Events(dataplane.EventDeadlockRecovered, 2)
			assert.MustBeTrue(t, len(first) != 0 && len(second) != 0 && first[0].Peer != 0 &&
				strings.Contains(first[0].Text, tt.action), "first notifications %+v, second %+v", first, second)
			for n := range 4 {
				assert.True(t, n == 1 || r.watch(n+1).Detected == 0, "port %d: %+v", n+1, r.watch(n+1))
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
	r := NewRig(t, 2)
	with := func(watchdog string) Setup {
		return Setup{Keys: Lossless3 + "watchdog: " + watchdog, Each: At100M + flow(mode)}
	}
	action := func(name string) Setup { return with(fmt.Sprintf(settings, name)) }
	r.Start(action("alert"))
	h1, h2 := r.Station(1, mode, 100e6), r.Station(2, mode, 100e6)
	calm := h2.storm()
	eventually(t, "the switch is paused", func() bool { return r.Snapshot(2).Paused&(1<<3) != 0 })
	h1.Send(Stream{To: 2, Prio: 3, Frames: 50})
	eventually(t, "the storm is found", func() bool { return r.watch(2).State == deadlock.Stormed })
	assert.Equal(t, h2.Tally(1, 3).Frames, 0, "XOFF was not obeyed under alert")
	must(t, r.Apply(action("forward"), 2))
	eventually(t, "the frames leave", func() bool { return h2.Tally(1, 3).Frames == 50 })
	must(t, r.Apply(action("drop"), 2))
	h1.Send(Stream{To: 2, Prio: 3, Frames: 80}) // 30 more
	eventually(t, "frames are dropped",
		func() bool { return r.Snapshot(1).Counters.Drops[3][dataplane.DropWatchdog] == 30 })
	must(t, r.Apply(action("alert"), 2))
	h1.Send(Stream{To: 2, Prio: 3, Frames: 90}) // 10 more
	eventually(t, "frames wait, since XOFF is obeyed again", func() bool { return r.Snapshot(2).Held[3] == 10 })
	e := r.Events(dataplane.EventDeadlockAction, 2)
	assert.True(t, len(e) == 3, "%+v", e)
	reason, arrived := "link", uint64(50)
	switch end {
	case "flap":
		calm() // its last pause still runs
		must(t, r.Host(2).LinkDown("eth0"))
		r.WaitUp(2, false)
		eventually(t, "the storm is over", func() bool { return r.watch(2).State == deadlock.Operational })
		must(t, r.Host(2).LinkUp("eth0"))
		r.WaitUp(2, true)
	case "off":
		must(t, r.Apply(action("drop"), 2))
		eventually(t, "the frames are dropped", func() bool { return r.Snapshot(2).Held[3] == 0 })
		must(t, r.Apply(with("off"), 2))
		h1.Send(Stream{To: 2, Prio: 3, Frames: 95}) // 5 more
		eventually(t, "frames wait, since XOFF is obeyed again", func() bool { return r.Snapshot(2).Held[3] == 5 })
		calm()
		reason, arrived = "not watched", arrived+5
	}
	e = r.Events(dataplane.EventDeadlockRecovered, 2)
	assert.True(t, len(e) == 1 && strings.Contains(e[0].Text, reason), "%+v", e)
	eventually(t, "what waits leaves", func() bool {
		return r.Snapshot(2).Held[3] == 0 && h2.Tally(1, 3).Frames == arrived
	})
	r.Passes(1, 2)
}

// A peer that throttles to 90 % with short pauses, gapless traffic behind it, is not taken for a storm.
func TestThrottlingIsNoStorm(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3 + "watchdog: {period: 1ms, count: 4, action: drop}",
		Each: "speed: 1G, ring: {outage: 400ms, max: 64MiB}"})
	h1, h2 := r.Station(1, macctl.ModePFC, 1e9), r.Station(2, macctl.ModePFC, 1e9)
	stop := h1.Send(Stream{To: 2, Prio: 3})
	for begun := time.Now(); time.Since(begun) < 2*time.Second; time.Sleep(time.Millisecond) {
		h2.PFC(1<<3, 195) // 100 µs
	}
	stop()
	s := r.watch(2)
	assert.True(t, s.Detected == 0, "%+v", s)
	h2.Whole(h1, 3)
}

// Nor are 15 pauses of half the detection time in a row, with a queue that is never empty, and a queue without flow
// control whose number the peer pauses all the time.
func TestBurstsAreNoDeadlock(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3 + "watchdog: {period: 10ms, count: 4, action: drop}", Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3}, Stream{To: 2, Prio: 0, Rate: 5e6})
	for range 15 {
		h2.PFC(1<<3, 3906) // 20 ms
		for begun := time.Now(); time.Since(begun) < 25*time.Millisecond; time.Sleep(5 * time.Millisecond) {
			h2.PFC(1<<0, 0xffff)
		}
	}
	stop()
	for _, s := range r.Source().Watchdog() {
		assert.True(t, s.Detected == 0 && s.Queue == 3, "%+v", s)
	}
	h2.Whole(h1, 3)
	h2.Whole(h1, 0)
}

// A switch that is stopped for a second, while its peer pauses it as usual, takes nothing for a deadlock.
func TestStoppedSwitchIsNoDeadlock(t *testing.T) {
	r := NewRig(t, 2)
	p := r.StartProcess(Setup{Keys: Lossless3 + "watchdog: {period: 10ms, count: 3, action: drop}",
		Each: "speed: 100M, ring: {outage: 1500ms}"})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 2e6})
	for range 3 {
		h2.PFC(1<<3, 3900) // 20 ms
		freeze(t, p)
		time.Sleep(time.Second)
		thaw(t, p)
		h2.GoesOn(1, 20)
	}
	stop()
	h2.Whole(h1, 3)
	must(t, p.Stop(syscall.SIGTERM, Timeout))
	log := p.Output()
	assert.True(t, !strings.Contains(log, "deadlock"), "%v", log)
}
