package daemon

import (
	"context"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
)

// source is what the API reads of a daemon.
type source struct{ d *Daemon }

var _ api.Source = source{}

// Name implements api.Source.
func (s source) Name() string {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.d.cfg.Name
}

// Ports implements api.Source.
func (s source) Ports() []api.PortInfo {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	all := make([]api.PortInfo, 0, len(s.d.cfg.Ports))
	for i := range s.d.cfg.Ports {
		c := &s.d.cfg.Ports[i]
		all = append(all, api.PortInfo{Name: c.Name, Interface: c.Interface, Netns: c.Netns, Kind: string(c.Kind),
			State: s.d.ports[c.Name].state})
	}
	return all
}

// Snapshot implements api.Source.
func (s source) Snapshot(v *dataplane.Snapshot) { s.d.runner.Snapshot(v) }

// FDB implements api.Source.
func (s source) FDB() []bridge.Entry { return s.d.runner.FDB() }

// Events implements api.Source.
func (s source) Events(since uint64) (events []dataplane.Event) {
	s.d.runner.View(func(sw *dataplane.Switch) { events = sw.Events(nil, since) })
	return events
}

// WallOf implements api.Source.
func (s source) WallOf(ns int64) time.Time {
	return time.Now().Add(time.Duration(ns - dataplane.Now()))
}

// ConfigYAML implements api.Source.
func (s source) ConfigYAML() []byte {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return config.Expand(s.d.cfg)
}

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
	return texts, s.d.Apply(ctx, c)
}

// ClearWatermarks implements api.Source.
func (s source) ClearWatermarks() { s.d.runner.ClearWatermarks() }
