package daemon

import (
	"errors"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
)

// A Rest is a switch without interfaces: every port of its configuration is up, its buffer is empty, and it has learned
// nothing.
type Rest struct {
	sw      *dataplane.Switch
	numbers map[string]int
}

// restTime is the only moment of a switch at rest.
const restTime = 1

// AtRest makes a switch of a configuration. Links whose speed is to be asked for have that of a virtual one.
func AtRest(c *config.Config) (*Rest, error) {
	c, err := c.Resolve(nil)
	if err != nil {
		return nil, err
	}
	r := &Rest{numbers: map[string]int{}}
	for i := range c.Ports {
		r.numbers[c.Ports[i].Name] = i
	}
	ports := map[int]dataplane.PortConfig{}
	for i := range c.Ports {
		pc, err := portConfig(c, &c.Ports[i])
		if err != nil {
			return nil, err
		}
		join(&pc, c, &c.Ports[i], r.numbers)
		ports[i] = pc
	}
	sc := switchConfig(c, bridge.Identity{1})
	if r.sw, err = dataplane.New(sc, restTime); err != nil {
		return nil, err
	}
	sc.Trunks = trunkConfigs(c, r.numbers)
	if err := r.sw.Reconfigure(sc, ports, statics(c, r.numbers), restTime); err != nil {
		return nil, errors.Join(err, r.sw.Close())
	}
	for i := range ports {
		r.sw.SetUp(i, true, restTime)
	}
	return r, nil
}

// Foresee tells what would become of a frame; ok is false where there is no such port.
func (r *Rest) Foresee(q api.Question) (f dataplane.Foresight, ok bool) {
	i, ok := r.numbers[q.Port]
	if !ok {
		return f, false
	}
	return r.sw.Foresee(i, q.Frame, q.Vnet, restTime)
}

// Close frees the packet memory.
func (r *Rest) Close() error { return r.sw.Close() }
