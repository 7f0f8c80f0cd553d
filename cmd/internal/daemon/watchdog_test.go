package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
)

// unplugged starts a switch at 1 Gbit/s without interfaces, with keys for the whole switch and for each of its two ports.
func unplugged(t *testing.T, keys, port string) *Daemon {
	t.Helper()
	stations := "fdb:\n"
	text := fmt.Sprintf("name: test\nmetrics: {listen: off}\napi: {socket: %s/api.sock}\n%s\nports:\n", t.TempDir(), keys)
	for i, name := range []string{"p1", "p2"} {
		stations += fmt.Sprintf("  - {mac: \"02:00:00:00:00:%02x\", vlan: 1, port: %s}\n", i, name)
		text += fmt.Sprintf("  %s: {interface: nowhere-%s, speed: 1G, %s}\n", name, name, port)
	}
	c, _, err := config.Parse("test.yaml", []byte(text+stations))
	must(t, err)
	d, err := New(c, discards)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

var discards = slog.New(slog.NewTextHandler(io.Discard, nil))

// A port is watched for as long as it is lossless: not while its link keeps MAC Control frames.
func TestWatchedWhileLossless(t *testing.T) {
	for _, tt := range []struct {
		mode   string
		queues []uint8
	}{{"pfc", []uint8{3, 4}}, {"pause", []uint8{deadlock.All}}, {"off", nil}} {
		t.Run(tt.mode, func(t *testing.T) {
			d := unplugged(t, "priorities: {lossless: [3, 4]}", "flow_control: "+tt.mode)
			for _, swallows := range []bool{false, true, false} {
				for _, p := range d.ports {
					p.swallows = swallows && p.cfg.Name == "p1"
				}
				must(t, d.putInForce(t.Context(), d.cfg))
				want := map[string]bool{}
				for _, q := range tt.queues {
					want[fmt.Sprintf("p2 %d", q)] = true
					if !swallows {
						want[fmt.Sprintf("p1 %d", q)] = true
					}
				}
				got := map[string]bool{}
				for _, s := range d.watchdog.status() {
					got[fmt.Sprintf("%s %d", s.Name, s.Queue)] = true
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("p1 keeps MAC Control frames: %v; watched\n got %v\nwant %v", swallows, got, want)
				}
			}
		})
	}
}

// Each port is watched by its own settings, and a change of them is in force at once.
func TestSettingsOfEachPort(t *testing.T) {
	d := unplugged(t, "priorities: {lossless: [3]}\nwatchdog: {count: 5, action: forward}", "flow_control: pfc")
	check := func(want ...deadlock.Config) {
		t.Helper()
		for i, s := range d.watchdog.status() {
			if s.Config != want[i] {
				t.Errorf("%s: %+v, want %+v", s.Name, s.Config, want[i])
			}
		}
	}
	usual := d.cfg.Ports[0].Watchdog.Config
	check(usual, usual)
	own := usual
	own.Action, own.Period, own.Recovery = deadlock.Drop, 10*time.Millisecond, time.Second
	c := *d.cfg
	c.Ports = slices.Clone(c.Ports)
	c.Ports[1].Watchdog.Config = own
	must(t, d.putInForce(t.Context(), &c))
	check(usual, own)
}

// A stuckLog is the log of a process whose stderr nobody reads: it takes nothing until it is freed.
type stuckLog struct {
	slog.Handler
	entered chan string
	freed   chan struct{}
}

func (l *stuckLog) Handle(_ context.Context, r slog.Record) error {
	l.entered <- r.Message
	<-l.freed
	return nil
}

// A log that takes nothing holds up whoever tells of a deadlock, and not the data plane.
func TestStuckLog(t *testing.T) {
	d := unplugged(t, "priorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}\nwatchdog: {fast: off}", "flow_control: pfc")
	l := &stuckLog{Handler: discards.Handler(), entered: make(chan string), freed: make(chan struct{})}
	g := newWatchdog(slog.New(l))
	g.runner = d.runner
	var fault error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.act(func(now int64) { fault = lockUp(g, now) })
	}()
	select {
	case <-l.entered:
	case <-time.After(patience):
		t.Fatal("nothing is logged")
	}
	looked, told := make(chan struct{}), false
	go func() {
		defer close(looked)
		for _, e := range (source{d}).Events(0) {
			told = told || e.Kind == dataplane.EventDeadlock
		}
	}()
	select {
	case <-looked:
		if !told {
			t.Error("there is no event about the deadlock")
		}
	case <-time.After(patience):
		t.Error("the data plane waits for the log")
	}
	close(l.freed)
	go func() {
		for range l.entered { // what else there is to log
		}
	}()
	<-ended
	close(l.entered)
	<-looked
	must(t, fault)
}

// lockUp makes queue 0 of port 0 hold a frame and be paused until it is taken for locked up.
func lockUp(g *watchdog, now int64) error {
	const period = 100 * time.Millisecond
	sw, ports := g.sight.sw, map[int]dataplane.PortConfig{}
	var s dataplane.Snapshot
	sw.Snapshot(&s, now)
	for i, p := range s.Ports {
		ports[i] = p.Config
		sw.SetUp(i, true, now)
	}
	fill(sw, ports, now)
	c := deadlock.Config{Fast: true, Period: period, Count: 3, Recovery: time.Second}
	if err := g.dog.Set(0, "p1", 1, c, now); err != nil {
		return err
	}
	for range 5 {
		now += int64(period)
		g.dog.Look(now)
	}
	return nil
}
