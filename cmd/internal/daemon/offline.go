package daemon

import (
	"errors"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
)

// An OfflineSwitch is a switch without interfaces: every port of its configuration is up, its buffer is empty, and its
// FDB has no learned entries.
type OfflineSwitch struct {
	sw      *dataplane.Switch
	numbers map[string]int
}

// offlineTime is the only moment of an offline switch.
const offlineTime = 1

// NewOfflineSwitch makes a switch of a configuration. Automatic speeds are those of virtual links.
func NewOfflineSwitch(c *config.Config) (*OfflineSwitch, error) {
	c, err := c.Resolve(nil)
	if err != nil {
		return nil, err
	}
	r := &OfflineSwitch{numbers: map[string]int{}}
	for i := range c.Ports {
		r.numbers[c.Ports[i].Name] = i
	}
	ports, err := portConfigs(c, r.numbers)
	if err != nil {
		return nil, err
	}
	sc, err := switchConfig(c, bridge.Identity{Public: [8]byte{1}})
	if err != nil {
		return nil, err
	}
	if r.sw, err = dataplane.New(sc, offlineTime); err != nil {
		return nil, err
	}
	sc.Trunks = trunkConfigs(c, r.numbers)
	if err := r.sw.Reconfigure(sc, ports, statics(c, r.numbers), offlineTime); err != nil {
		return nil, errors.Join(err, r.sw.Close())
	}
	for i := range ports {
		r.sw.SetUp(i, true, offlineTime)
	}
	return r, nil
}

// Trace returns what would become of a frame; ok is false if there is no such port.
func (r *OfflineSwitch) Trace(q api.TraceRequest) (f dataplane.TraceResult, ok bool) {
	i, ok := r.numbers[q.Port]
	if !ok {
		return f, false
	}
	return r.sw.Trace(i, q.Frame, q.Vnet, offlineTime)
}

// Close frees the packet memory.
func (r *OfflineSwitch) Close() error { return r.sw.Close() }
