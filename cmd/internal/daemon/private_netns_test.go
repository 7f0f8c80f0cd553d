package daemon

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// An interface that moves to another namespace is gone; in the switch's namespace again, it works again, also where it
// came back before the switch had a look.
func TestInterfaceMoves(t *testing.T) {
	r := newRig(t, 3)
	elsewhere := r.Host(3)
	r.Start(Setup{})
	r.Passes(1, 2)
	away := func() { IP(t, r.Node, "link", "set", "p2", "netns", elsewhere.Namespace()) }
	back := func() {
		IP(t, elsewhere, "link", "set", "p2", "netns", r.Node.Namespace())
		must(t, r.Node.LinkUp("p2"))
	}
	away()
	r.WaitState(2, "waiting for it")
	r.WaitUp(2, false)
	back()
	r.WaitUp(2, true)
	r.Passes(1, 2)

	r.d().mu.Lock() // it looks at nothing
	away()
	back()
	r.d().mu.Unlock()
	h1, h2 := r.Station(1, macctl.ModePFC, 1e9), r.Station(2, macctl.ModePFC, 1e9)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 1e6})
	eventually(t, "frames come through again", func() bool { return h2.Tally(1, 3).Frames > 10 })
	stop()
	r.Passes(2, 1)
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
	r := start(t, 2, Setup{Keys: Lossless3 + "watchdog: {period: 10ms, count: 3, recovery: 50ms, action: " +
		"forward}", Each: At100M})
	logged := &notices{Handler: slog.DiscardHandler}
	r.d().watchdog.act(func(int64) { r.d().watchdog.log = slog.New(enabled{logged}) })
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	const detection, recovery, period = 30 * time.Millisecond, 50 * time.Millisecond, 10 * time.Millisecond
	var found, restored, freed []time.Duration
	for round := range 20 {
		h2.PFC(1<<3, 0xffff) // 336 ms
		eventually(t, "the switch is paused", func() bool { return r.Snapshot(2).Paused&(1<<3) != 0 })
		begun := time.Now()
		h1.Send(Stream{To: 2, Prio: 3, Frames: uint64(round) + 1})
		eventually(t, "the end of the storm", func() bool { return len(logged.times()) == 2*(round+1) })
		h2.PFC(1<<3, 0)
		eventually(t, "the switch is free", func() bool { return r.Snapshot(2).Paused&(1<<3) == 0 })
		at := logged.times()[2*round:]
		found = append(found, at[0].Sub(begun))
		restored = append(restored, at[1].Sub(at[0]))
		eventually(t, "the frame has come", func() bool { return len(h2.Arrivals(begun)) > 0 })
		freed = append(freed, h2.Arrivals(begun)[0].Stamp.Sub(at[0]))
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
	m := freed[10]
	assert.True(t, m <= period, "the first frame left %v after detection in the median, want at most %v", m, period)
	if m := restored[10]; m < recovery || m > recovery+period {
		t.Errorf("restored after %v in the median, want %v and at most %v", m, recovery, recovery+period)
	}
}

// enabled makes a handler take everything.
type enabled struct{ *notices }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }

// A port whose TAP cannot be installed has none.
func TestTAPThatCannotBeInstalled(t *testing.T) {
	r := newRig(t, 1)
	d := r.NIC(1, "speed: 1G").(*Daemon)
	d.mu.Lock()
	defer d.mu.Unlock()
	cfg := *d.ports["host"].cfg
	cfg.Interface = "nic1"
	p := &portLink{cfg: &cfg, number: dataplane.MaxPorts - 1} // which the switch does not have
	err := d.openTAP(p)
	assert.True(t, err != nil && p.tap == nil && p.socket == nil, "error %v, TAP %v", err, p.tap)
}
