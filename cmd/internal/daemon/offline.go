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
	sw, err := NewCore(c, bridge.Identity{Public: [8]byte{1}}, 0, func(int, *dataplane.PortConfig) {})
	if err != nil {
		return nil, err
	}
	return &OfflineSwitch{sw, numbersInOrder(c)}, nil
}

func numbersInOrder(c *config.Config) map[string]int {
	numbers := map[string]int{}
	for i := range c.Ports {
		numbers[c.Ports[i].Name] = i
	}
	return numbers
}

// NewCore makes the switch of a resolved configuration, without interfaces: its ports are numbered in their order, and
// all are up. Its first moment is 1. stations bounds the filtering database; 0: as on real links. adjust changes the
// configuration of each port.
func NewCore(c *config.Config, identity bridge.Identity, stations int, adjust func(int, *dataplane.PortConfig)) (
	*dataplane.Switch, error) {
	numbers := numbersInOrder(c)
	ports, err := portConfigs(c, numbers)
	if err != nil {
		return nil, err
	}
	for i := range c.Ports {
		p := ports[i]
		adjust(i, &p)
		ports[i] = p
	}
	sc, err := switchConfig(c, identity)
	if err != nil {
		return nil, err
	}
	sc.Stations = stations
	sw, err := dataplane.New(sc, offlineTime)
	if err != nil {
		return nil, err
	}
	sc.Trunks = trunkConfigs(c, numbers)
	if err := sw.Reconfigure(sc, ports, statics(c, numbers), offlineTime); err != nil {
		return nil, errors.Join(err, sw.Close())
	}
	for i := range c.Ports {
		sw.SetUp(i, true, offlineTime)
	}
	return sw, nil
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
