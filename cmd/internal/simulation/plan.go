package simulation

import (
	"time"

	"pfcswitch/cmd/internal/config"
)

// A Plan is the traffic of a topology for real links.
type Plan struct {
	Flows   []PlannedFlow
	Ports   map[string]*config.Port // to which hosts are linked, resolved
	Slowest int64                   // speed of the slowest link, bit/s
	InOrder bool                    // no trunk spreads the frames of a flow
}

// A PlannedFlow is one pair of hosts of an entry under traffic.
type PlannedFlow struct {
	*config.LabTraffic
	From, To string
	Lossless bool // at each switch of its way
}

// NewPlan finds the flows of a topology, and follows their frames through the switches. Its errors have file, line and
// key.
func NewPlan(t *config.Topology) (*Plan, error) {
	f, err := build(t, Options{real: true})
	if err != nil {
		return nil, err
	}
	p := &Plan{Ports: map[string]*config.Port{}, Slowest: f.slowest, InOrder: f.keepsOrder()}
	for _, fl := range f.flows {
		p.Flows = append(p.Flows, PlannedFlow{fl.LabTraffic, fl.from, fl.to, fl.lossless})
	}
	for name := range f.hosts {
		_, p.Ports[name] = f.portOf(name)
	}
	return p, f.close()
}

// Length is how long the traffic of a topology lasts.
func Length(t *config.Topology) (length time.Duration) {
	for i := range t.Traffic {
		length = max(length, t.Traffic[i].Start+t.Traffic[i].Duration)
	}
	return length
}
