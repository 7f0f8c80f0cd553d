package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/runner"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// A watchdog runs the deadlock watchdog of a switch in its own goroutine. The goroutine sleeps until the data plane
// reports a stuck queue, and then polls in time. The runner's lock guards dog and view.
type watchdog struct {
	log    *slog.Logger // which keeps nobody waiting
	runner *runner.Runner
	dog    *deadlock.Watchdog
	view   SwitchView
	idle   map[string]bool // ports whose watchdog is configured and watches no queue; of configure alone
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{} // nil where it never ran
}

// A SwitchView is the switch for the deadlock watchdog.
type SwitchView struct{ Switch *dataplane.Switch }

var _ deadlock.Switch = (*SwitchView)(nil)

func newWatchdog(log *slog.Logger) *watchdog {
	g := &watchdog{log: log, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	g.dog = deadlock.New(&g.view)
	return g
}

// start begins to watch a runner whose switch calls suspect.
func (g *watchdog) start(r *runner.Runner) {
	g.runner, g.done = r, make(chan struct{})
	go g.run()
}

func (g *watchdog) close() {
	if g.done != nil {
		close(g.stop)
		<-g.done
	}
}

// suspect reports that a queue may be stuck. The data plane calls it under its lock.
func (g *watchdog) suspect() { wake(g.wake) }

// run polls when a queue is stuck and when a poll is due.
func (g *watchdog) run() {
	defer close(g.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next := g.look(); next == math.MaxInt64 {
			timer.Stop()
		} else {
			timer.Reset(time.Duration(next - runner.Now()))
		}
		select {
		case <-g.stop:
			return
		case <-g.wake:
		case <-timer.C:
		}
	}
}

// look polls, and returns when the next poll is due.
func (g *watchdog) look() (next int64) {
	g.act(func(now int64) {
		suspects := g.view.Switch.Suspects()
		for i := range suspects.All() {
			g.dog.Notify(i, now)
		}
		g.dog.Poll(now)
		next = g.dog.Next()
	})
	return next
}

// act runs f on the watchdog, and reports its events.
func (g *watchdog) act(f func(now int64)) {
	var reported []deadlock.Event
	g.runner.Act(func(sw *dataplane.Switch) {
		g.view.Switch = sw
		f(runner.Now())
		for _, e := range g.dog.Events() {
			if kind, ok := reportedKinds[e.Kind]; ok {
				sw.NoteWatch(e.Port, e.Name, e.Queue, kind, describe(&e), e.At)
				reported = append(reported, e)
			}
		}
	})
	for _, e := range reported {
		level := slog.LevelInfo
		if e.Kind == deadlock.Detected || e.Kind == deadlock.Recurring {
			level = slog.LevelWarn
		}
		g.log.Log(context.Background(), level, describe(&e), "port", e.Name, "priority", queueName(e.Queue), "kind",
			string(reportedKinds[e.Kind]))
	}
}

// reportIdle logs the ports whose configured watchdog watches no queue, and those where it does again: DCBX, or a link
// that blocks MAC Control frames, may take the lossless priorities of a port away.
func (g *watchdog) reportIdle(idle map[string]bool) {
	for name := range idle {
		if !g.idle[name] {
			g.log.Warn("the port is not watched for deadlocks: it has no lossless priority", "port", name)
		}
	}
	for name := range g.idle {
		if !idle[name] {
			g.log.Info("the port is watched again, or its watchdog was taken away", "port", name)
		}
	}
	g.idle = idle
}

// configure makes the watchdog follow a configuration and the ports of the data plane, by number. gone are the numbers
// of removed ports.
func (g *watchdog) configure(c *config.Config, numbers map[string]int, ports map[int]dataplane.PortConfig,
	gone []int) (err error) {
	idle := map[string]bool{}
	g.act(func(now int64) {
		for _, n := range gone {
			g.dog.Remove(n, now)
		}
		for i := range c.Ports {
			p, n := &c.Ports[i], numbers[c.Ports[i].Name]
			queues := WatchedQueues(ports[n])
			if fault := g.dog.Set(n, p.Name, queues, p.Watchdog.Config, now); fault != nil && err == nil {
				err = fmt.Errorf("port %s: %w", p.Name, fault)
			}
			if queues == 0 && c.WantsWatchdog(p) {
				idle[p.Name] = true
			}
		}
	})
	g.reportIdle(idle)
	g.suspect()
	return err
}

// save keeps the storm counters of ports that the data plane is about to remove.
func (g *watchdog) save(numbers map[string]int, ports map[int]dataplane.PortConfig) {
	g.act(func(now int64) {
		for _, n := range numbers {
			if _, stays := ports[n]; !stays {
				g.dog.SaveCounts(n, now)
			}
		}
	})
}

// WatchedQueues are the lossless egress queues of a port, bit n = queue n, as the data plane has them. A port whose
// link blocks MAC Control frames has none.
func WatchedQueues(p dataplane.PortConfig) uint16 {
	switch {
	case p.TAP: // the host's own stack pauses nobody
	case p.Mode == macctl.ModePFC:
		return uint16(p.Lossless)
	case p.Mode == macctl.ModePause:
		return 1 << deadlock.All
	}
	return 0
}

// status returns the state of every watched queue.
func (g *watchdog) status() (all []deadlock.Status) {
	g.act(func(now int64) { all = g.dog.Status(nil, now) })
	return all
}

// retired returns the counters of queues that are no longer watched.
func (g *watchdog) retired() (all []deadlock.Status) {
	g.act(func(int64) { all = g.dog.RemovedCounts(nil) })
	return all
}

// Read implements deadlock.Switch.
func (s *SwitchView) Read(port int, queue uint8, now int64, r *deadlock.QueueState) {
	s.Switch.ReadWatch(port, queue, now, (*dataplane.WatchReading)(r))
}

// NotifyPaused implements deadlock.Switch.
func (s *SwitchView) NotifyPaused(port int, queue uint8, on bool) {
	s.Switch.NotifyPaused(port, queue, on)
}

// Order implements deadlock.Switch.
func (s *SwitchView) Order(port int, queue uint8, o deadlock.Order, now int64) {
	s.Switch.BreakDeadlock(port, queue, o != deadlock.Obey, o == deadlock.Discard, now)
}

// reportedKinds are the watchdog events that a person should know, with their names. A queue that was stuck for a
// moment is not reported.
var reportedKinds = map[deadlock.Kind]dataplane.EventKind{
	deadlock.Detected:  dataplane.EventDeadlock,
	deadlock.Changed:   dataplane.EventDeadlockAction,
	deadlock.Recovered: dataplane.EventDeadlockRecovered,
	deadlock.Recurring: dataplane.EventDeadlockRecurring,
	deadlock.Reopened:  dataplane.EventDeadlockReopened,
}

// queueName names a queue as metrics and tables do.
func queueName(q uint8) string {
	if q == deadlock.All {
		return "all"
	}
	return fmt.Sprint(q)
}

var consequences = map[deadlock.Action]string{
	deadlock.Alert:   "alert: the peer is still obeyed",
	deadlock.Forward: "forward: its XOFF is ignored",
	deadlock.Drop:    "drop: its XOFF is ignored and the queue is emptied",
}

// describe says what happened, and why.
func describe(e *deadlock.Event) string {
	switch e.Kind {
	case deadlock.Detected:
		return fmt.Sprintf("continuous deadlock: the queue holds %d frames, sent none and was paused for %v; action %s",
			e.Held, e.Lasted.Round(100*time.Microsecond), consequences[e.Action])
	case deadlock.Changed:
		return fmt.Sprintf("%s in a deadlock that lasts; action %s", e.Reason, consequences[e.Action])
	case deadlock.Recovered:
		if e.Action == deadlock.Alert && e.Held > 0 && e.Sent == 0 {
			return fmt.Sprintf("still blocked after %v: XOFF was obeyed throughout, no frame was sent and %d wait; "+
				"detection started again, since %s", e.Lasted.Round(100*time.Microsecond), e.Held, e.Reason)
		}
		what := "detection started again"
		if e.Reason == deadlock.Unwatched {
			what = "XOFF is obeyed again"
		}
		return fmt.Sprintf("%s after %v, since %s; meanwhile %d frames were sent and %d dropped, %d wait",
			what, e.Lasted.Round(100*time.Microsecond), e.Reason, e.Sent, e.Dropped, e.Held)
	case deadlock.Recurring:
		return fmt.Sprintf("the deadlock keeps coming back (%s): XOFF for the queue is ignored for a slow period",
			e.Reason)
	}
	return fmt.Sprintf("XOFF for the queue is obeyed again, since %s", e.Reason)
}
