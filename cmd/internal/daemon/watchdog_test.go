package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/runner"
	"pfcswitch/deadlock"
)

// unplugged starts a switch at 1 Gbit/s without interfaces, with keys for the whole switch and for each of its two
// ports.
func unplugged(t *testing.T, keys, port string) *Daemon {
	t.Helper()
	d := unpluggedLog(t, keys, port, discards)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

func unpluggedLog(t *testing.T, keys, port string, log *slog.Logger) *Daemon {
	t.Helper()
	stations := "fdb:\n"
	text := header("test", t.TempDir()+"/api.sock") + keys + "\nports:\n"
	for i, name := range []string{"p1", "p2"} {
		stations += fmt.Sprintf("  - {mac: \"02:00:00:00:00:%02x\", vlan: 1, port: %s}\n", i, name)
		text += fmt.Sprintf("  %s: {interface: nowhere-%s, speed: 1G, %s}\n", name, name, port)
	}
	c := parse(t, text+stations)
	return assert.Got(New(c, log)).Must(t)
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
					p.discardsControl = swallows && p.cfg.Name == "p1"
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
				assert.True(t, fmt.Sprint(got) == fmt.Sprint(want),
					"p1 keeps MAC Control frames: %v; watched\n got %v\nwant %v", swallows, got, want)
			}
		})
	}
}

// A configured watchdog that watches nothing of a port is logged, once, whatever has taken the lossless priorities
// away.
func TestUnwatchedPortIsLogged(t *testing.T) {
	for keys, want := range map[string]int{"watchdog: {action: drop}": 1, "": 0, "watchdog: off": 0} {
		var out strings.Builder
		d := unpluggedLog(t, Lossless3+keys, "flow_control: pfc", slog.New(slog.NewTextHandler(&out, nil)))
		for range 2 {
			d.ports["p1"].discardsControl = true
			must(t, d.putInForce(t.Context(), d.cfg))
		}
		d.ports["p1"].discardsControl = false
		must(t, d.putInForce(t.Context(), d.cfg))
		must(t, d.Close())
		for _, text := range []string{"is not watched", "is watched again"} {
			n := strings.Count(out.String(), text)
			assert.True(t, n == want && (want <= 0 || strings.Contains(out.String(), "port=p1")),
				"%q: %q is logged %d times, want %d:\n%s", keys, text, n, want, out.String())
		}
	}
}

// Each port is watched by its own settings, and a change of them is in force at once.
func TestSettingsOfEachPort(t *testing.T) {
	d := unplugged(t, Lossless3+"watchdog: {count: 5, action: forward}", "flow_control: pfc")
	check := func(want ...deadlock.Config) {
		t.Helper()
		for i, s := range d.watchdog.status() {
			assert.Equal(t, s.Config, want[i], "%s", s.Name)
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

// A port that is removed in the middle of a storm takes its counters with it, and not what is told of the storm.
func TestPortRemovedInAStorm(t *testing.T) {
	d := unplugged(t, "priorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}\nwatchdog: {period: 1ms, count: 5, recovery: "+
		"60s, action: drop}", "flow_control: pfc")
	lockUp(d)
	eventually(t, "the frames are dropped", func() bool {
		pausePort0(d)
		dropped := 0
		for _, s := range d.watchdog.status() {
			dropped += int(s.Dropped)
		}
		return dropped == 8
	})
	c := *d.cfg
	c.Ports, c.FDB = c.Ports[1:], c.FDB[1:]
	must(t, d.putInForce(t.Context(), &c))
	n := 0
	for _, e := range d.Source().Events(0) {
		if e.Kind == dataplane.EventDeadlockRecovered {
			n++
			assert.True(t, strings.Contains(e.Text, " and 1 dropped"), "%v", e.Text)
		}
	}
	assert.Equal(t, n, 8, "storms are over")
}

// A log that takes nothing holds up neither the watchdog, which has to end what it began, nor the end of the switch.
func TestStuckLog(t *testing.T) {
	l := heldLog{discards.Handler(), make(chan struct{})}
	defer close(l.freed)
	const recovery, slack = 200 * time.Millisecond, 100 * time.Millisecond
	d := unpluggedLog(t, "priorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}\nwatchdog: {period: 1ms, count: 5, "+
		"recovery: 200ms, action: forward}", "flow_control: pfc", slog.New(l))
	await := func(kind dataplane.EventKind) (at int64) {
		eventually(t, string(kind), func() bool {
			pausePort0(d)
			for _, e := range d.Source().Events(0) {
				if e.Kind == kind && e.Priority == 0 {
					at = e.Time
				}
			}
			return at != 0
		})
		return at
	}
	lockUp(d)
	detected := await(dataplane.EventDeadlock)
	took := time.Duration(await(dataplane.EventDeadlockRecovered) - detected)
	assert.True(t, took <= recovery+slack, "recovered after %v, want %v", took, recovery)
	ended := make(chan error, 1)
	go func() { ended <- d.Close() }()
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(Timeout):
		t.Fatal("the switch does not end")
	}
}

// lockUp makes every queue of port 0 hold a frame and be paused.
func lockUp(d *Daemon) {
	d.runner.Act(func(sw *dataplane.Switch) {
		now, ports := runner.Now(), map[int]dataplane.PortConfig{}
		var s dataplane.Snapshot
		sw.Snapshot(&s, now)
		for i, p := range s.Ports {
			ports[i] = p.Config
			sw.SetUp(i, true, now)
		}
		offerAll(sw, ports, 0, now)
	})
	pausePort0(d)
}

func pausePort0(d *Daemon) {
	d.runner.Act(func(sw *dataplane.Switch) {
		now := runner.Now()
		pauseAll(sw, 0, now)
		sw.Dequeue(0, now, nil)
	})
}

// A second notification says whether anything has changed: under alert it comes though the queue is as stuck as before.
func TestTextOfRecovery(t *testing.T) {
	for _, tt := range []struct {
		event deadlock.Event
		want  string
	}{
		{deadlock.Event{Action: deadlock.Alert, Held: 66},
			"still blocked after 200ms: XOFF was obeyed throughout, no frame was sent and 66 wait"},
		{deadlock.Event{Action: deadlock.Alert, Held: 66, Sent: 1}, "detection started again after 200ms"},
		{deadlock.Event{Action: deadlock.Alert}, "detection started again after 200ms"},
		{deadlock.Event{Action: deadlock.Forward, Held: 66}, "detection started again after 200ms"},
		{deadlock.Event{Action: deadlock.Drop, Dropped: 7}, "meanwhile 0 frames were sent and 7 dropped"},
	} {
		tt.event.Kind, tt.event.Lasted, tt.event.Reason = deadlock.Recovered, 200*time.Millisecond,
			"the recovery time is over"
		assert.Contains(t, describe(&tt.event), tt.want, "%+v", tt.event)
	}
}
