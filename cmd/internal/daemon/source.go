package daemon

import (
	"context"
	"maps"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/runner"
	"pfcswitch/deadlock"
)

// source is the daemon as the API reads it.
type source struct{ d *Daemon }

var _ api.Source = source{}

// Source returns the daemon as the API reads it.
func (d *Daemon) Source() api.Source { return source{d} }

// A view is what readers get of the daemon. It is immutable: each change publishes a new one.
type view struct {
	cfg    *config.Config
	states map[string]string // of the ports, by name

	speakers map[string]*speaker // of the ports that have one, by name
	probers  map[string]*prober  // likewise
	numbers  map[string]int      // of all ports, by name
}

// publish gives readers the current state.
func (d *Daemon) publish() {
	v := &view{cfg: d.cfg, states: make(map[string]string, len(d.ports)), speakers: map[string]*speaker{},
		probers: maps.Clone(d.probers), numbers: d.numbers}
	for name, p := range d.ports {
		v.states[name] = p.state
		if p.speaker != nil {
			v.speakers[name] = p.speaker
		}
	}
	d.published.Store(v)
}

// Name implements api.Source.
func (s source) Name() string { return s.d.published.Load().cfg.Name }

// Ports implements api.Source.
func (s source) Ports() []api.PortInfo {
	v := s.d.published.Load()
	all := make([]api.PortInfo, 0, len(v.cfg.Ports))
	for i := range v.cfg.Ports {
		c := &v.cfg.Ports[i]
		info := api.PortInfo{Name: c.Name, Interface: c.Interface, Netns: c.Netns, Kind: string(c.Kind),
			State: v.states[c.Name]}
		if speaker := v.speakers[c.Name]; speaker != nil {
			info.Mismatch = speaker.inForce().Mismatch
		}
		all = append(all, info)
	}
	return all
}

// Snapshot implements api.Source.
func (s source) Snapshot(v *dataplane.Snapshot) { s.d.runner.Snapshot(v) }
func (s source) Retired() *dataplane.Snapshot   { return s.d.runner.Retired() }

// Headroom implements api.Source.
func (s source) Headroom() []api.HeadroomInfo {
	v := s.d.published.Load()
	all := []api.HeadroomInfo{}
	for i := range v.cfg.Ports {
		c := &v.cfg.Ports[i]
		p := v.probers[c.Name]
		if p == nil {
			continue
		}
		info := api.HeadroomInfo{Port: c.Name, Calculated: c.CalculatedHeadroom(), Cell: v.cfg.Buffer.Cell}
		s.d.runner.View(func(*dataplane.Switch) { info.Report = p.probe.Report(runner.Now()) })
		all = append(all, info)
	}
	return all
}

// FDB implements api.Source.
func (s source) FDB() []bridge.Entry { return s.d.runner.FDB() }

// Watchdog implements api.Source.
func (s source) Watchdog() []deadlock.Status { return s.d.watchdog.status() }

func (s source) RetiredStorms() []deadlock.Status { return s.d.watchdog.retired() }

// Events implements api.Source.
func (s source) Events(since uint64) (events []dataplane.Event) {
	s.d.runner.View(func(sw *dataplane.Switch) { events = sw.Events(nil, since) })
	return events
}

// Trace implements api.Source.
func (s source) Trace(q api.TraceRequest) (dataplane.TraceResult, bool) {
	return s.d.runner.Trace(q.Port, q.Frame, q.Vnet)
}

// NextEvent implements api.Source.
func (s source) NextEvent() (next uint64) {
	s.d.runner.View(func(sw *dataplane.Switch) { next = sw.NextEvent() })
	return next
}

// WallOf implements api.Source.
func (s source) WallOf(ns int64) time.Time {
	return time.Now().Add(time.Duration(ns - runner.Now()))
}

// ConfigYAML implements api.Source.
func (s source) ConfigYAML() []byte { return config.Expand(s.d.published.Load().cfg) }

// Apply implements api.Source.
func (s source) Apply(ctx context.Context, name string, yaml []byte) ([]string, error) {
	c, warnings, err := config.Parse(name, yaml)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(warnings))
	for _, w := range warnings {
		texts = append(texts, w.String())
	}
	done := s.d.notifyReload()
	lost, err := s.d.Apply(ctx, c)
	done()
	return append(texts, lost...), err
}

// ClearWatermarks implements api.Source.
func (s source) ClearWatermarks() { s.d.runner.ClearWatermarks() }

// Tap implements api.Source.
func (s source) Tap() *capture.Tap { return s.d.runner.Tap() }

// Interfaces implements api.Source.
func (s source) Interfaces(dst []capture.Interface) []capture.Interface {
	return s.d.runner.Interfaces(dst)
}
