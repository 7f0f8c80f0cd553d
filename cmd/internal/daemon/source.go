package daemon

import (
	"context"
	"errors"
	"maps"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/runner"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
)

// source implements api.Source, together with the runner.
type source struct {
	*runner.Runner
	d *Daemon
}

// Source returns the daemon as the API reads it.
func (d *Daemon) Source() api.Source { return source{d.runner, d} }

// A view is what readers get of the daemon. It is immutable: each change publishes a new one.
type view struct {
	cfg    *config.Config
	states map[string]string // of the ports, by name
	noHelp map[string]string // why ports have no programs in the kernel, by name

	speakers map[string]*speaker          // of the ports that have one, by name
	probers  map[string]*Prober           // likewise
	retired  map[string]headroom.Counters // of ports that have no prober any more, by name
	numbers  map[string]int               // of all ports, by name
}

// publish gives readers the current state.
func (d *Daemon) publish() {
	v := &view{cfg: d.cfg, states: make(map[string]string, len(d.ports)), speakers: map[string]*speaker{},
		noHelp: map[string]string{}, probers: maps.Clone(d.probers),
		retired: maps.Clone(d.retiredCounters), numbers: d.numbers}
	for name, p := range d.ports {
		v.states[name] = p.state
		if p.noAssist != nil {
			v.noHelp[name] = p.noAssist.Error()
		}
		if p.speaker != nil {
			v.speakers[name] = p.speaker
		}
	}
	d.published.Store(v)
}

func (s source) Name() string { return s.d.published.Load().cfg.Name }

func (s source) Ports() []api.PortInfo {
	v := s.d.published.Load()
	all := make([]api.PortInfo, 0, len(v.cfg.Ports))
	for i := range v.cfg.Ports {
		c := &v.cfg.Ports[i]
		info := api.PortInfo{Name: c.Name, Interface: c.Interface, Netns: c.Netns, Kind: string(c.Kind),
			State: v.states[c.Name], NoAssist: v.noHelp[c.Name]}
		if speaker := v.speakers[c.Name]; speaker != nil {
			info.Mismatch = speaker.inForce().Mismatch
		}
		all = append(all, info)
	}
	return all
}

func (source) KernelBacklogDrops() uint64 { return kernelBacklogDrops() }

func (s source) Headroom() []api.HeadroomInfo {
	v := s.d.published.Load()
	all := []api.HeadroomInfo{}
	for i := range v.cfg.Ports {
		c := &v.cfg.Ports[i]
		if p := v.probers[c.Name]; p != nil {
			all = append(all, api.HeadroomInfo{Port: c.Name, Calculated: c.CalculatedHeadroom(),
				Report: s.d.probeReport(p), Packing: v.cfg.Packing(c)})
		}
	}
	return all
}

func (s source) RetiredProbes() map[string]headroom.Counters { return s.d.published.Load().retired }

func (s source) Watchdog() []deadlock.Status { return s.d.watchdog.status() }

func (s source) Threads() (all []api.Thread) {
	for _, w := range s.Runner.Threads() {
		t := api.Thread{Thread: w.Pulse.Thread, Receives: w.Receives, Sends: w.Sends, BehindNs: w.Behind,
			LongestGapNs: w.Longest}
		switch {
		case w.Looked:
			t.State = api.ThreadLooks
		case w.Pulse.Waits:
			t.State = api.ThreadWaits
		case w.Pulse.Ready && w.Ran > 0:
			t.State = api.ThreadRuns
		case w.Pulse.Ready:
			t.State = api.ThreadNoCPU
		default:
			t.State = api.ThreadStopped
		}
		all = append(all, t)
	}
	return all
}

func (s source) RetiredStorms() []deadlock.Status { return s.d.watchdog.retired() }

func (s source) Events(since uint64) (events []dataplane.Event) {
	s.View(func(sw *dataplane.Switch) { events = sw.Events(nil, since) })
	return events
}

func (s source) Trace(q api.TraceRequest) (dataplane.TraceResult, bool) {
	return s.Runner.Trace(q.Port, q.Frame, q.Vnet)
}

func (s source) NextEvent() (next uint64) {
	s.View(func(sw *dataplane.Switch) { next = sw.NextEvent() })
	return next
}

func (s source) WallOf(ns int64) time.Time { return time.Now().Add(time.Duration(ns - runner.Now())) }

func (s source) Keeps() bool { return s.d.keeps.Load() }

func (s source) ConfigYAML() []byte { return config.Expand(s.d.published.Load().cfg) }

func (s source) Restart() (begin func(), err error) {
	if s.d.restart == nil {
		return nil, errors.New("this switch cannot start itself again: end its process, and start that again")
	}
	return s.d.restart()
}

func (s source) Apply(ctx context.Context, name string, yaml []byte, dry bool) (*api.Applied, error) {
	c, warnings, err := config.Parse(name, yaml)
	if err != nil {
		return nil, err
	}
	a := &api.Applied{}
	for _, w := range warnings {
		a.Warnings = append(a.Warnings, w.String())
	}
	if err := s.d.awaitHost(ctx); err != nil {
		return nil, err
	}
	if !dry {
		notify(s.d.log, systemd.SdNotifyReloading+"\n"+systemd.SdNotifyMonotonicUsec())
		defer notify(s.d.log, systemd.SdNotifyReady)
	}
	outcome, err := s.d.change(ctx, c, dry)
	if err != nil {
		return nil, err
	}
	for _, k := range config.Diff(outcome.before, outcome.after) {
		a.Changes = append(a.Changes, api.Change(k))
	}
	a.Warnings, a.PortsReset = append(a.Warnings, outcome.lost...), outcome.reset
	return a, nil
}
