package simulation

import (
	"errors"
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
	if err := refuseVirtual(t); err != nil {
		return nil, err
	}
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
	return p, errors.Join(p.checkSpeeds(t), f.close())
}

// checkSpeeds refuses DCQCN to a port that is slower than its sender's: a sink takes the interval of its CNPs from the
// speed of its own port, and would tell the sender too seldom.
func (p *Plan) checkSpeeds(t *config.Topology) error {
	for _, fl := range p.Flows {
		if from, to := p.Ports[fl.From].Speed, p.Ports[fl.To].Speed; fl.DCQCN && to < from {
			return t.Errorf("traffic."+fl.Name+".cc", "%s is at a slower port than %s, whose speed is that of the "+
				"CNPs: give both one speed, or run the file by pfcswitch sim", fl.To, fl.From)
		}
	}
	return nil
}

// refuseVirtual refuses what is for virtual time alone.
func refuseVirtual(t *config.Topology) error {
	const advice = "only virtual time has it: remove it, or run the file by pfcswitch sim"
	for i := range t.Traffic {
		l := &t.Traffic[i]
		for _, k := range []struct {
			name string
			set  bool
		}{{"size", l.Size > 0}, {"window", l.Window > 0}, {"ttl", l.TTL > 0}, {"poisson", l.Poisson != ""}} {
			if k.set {
				return t.Errorf("traffic."+l.Name+"."+k.name, advice)
			}
		}
	}
	if len(t.Faults) > 0 {
		return t.Errorf("faults."+t.Faults[0].Name, advice)
	}
	return t.RefuseHalfDuplex()
}

// Length is how long the traffic of a topology lasts.
func Length(t *config.Topology) (length time.Duration) {
	for i := range t.Traffic {
		length = max(length, t.Traffic[i].Start+t.Traffic[i].Duration)
	}
	return length
}
