package simulation

import (
	"errors"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
)

// A Plan is the traffic of a topology for real links.
type Plan struct {
	Flows   []PlannedFlow
	Ports   map[string]*config.Port // to which hosts are linked, resolved
	Slowest int64                   // speed of the slowest link, bit/s
	InOrder bool                    // no trunk spreads the frames of a flow
	Whole   bool                    // no lossless frame may be lost on its way
}

// A PlannedFlow is one pair of hosts of an entry under traffic.
type PlannedFlow struct {
	*config.LabTraffic
	From, To    string
	Lossless    bool // at each switch of its way
	Start, Stop time.Duration
	Octets      int    // of a frame
	Size        int64  // payload octets that it has to send; 0: until Stop
	Frames      uint64 // with Size
	Unanswered  uint64 // frames on their way without an acknowledgement at most; 0: any number
}

// NewPlan finds the flows of a topology, those at random as virtual time has them with this seed, and follows their
// frames through the switches. Its errors have file, line and key.
func NewPlan(t *config.Topology, seed uint64) (*Plan, error) {
	if err := refuseVirtual(t); err != nil {
		return nil, err
	}
	f, err := build(t, Options{Seed: seed, real: true})
	if err != nil {
		return nil, err
	}
	p := &Plan{Ports: map[string]*config.Port{}, Slowest: f.slowest, InOrder: f.keepsOrder(),
		Whole: len(t.Faults) == 0 || f.keepsAll(&Report{})}
	for i, fl := range f.flows {
		c := f.FlowConfig(i)
		p.Flows = append(p.Flows, PlannedFlow{fl.LabTraffic, fl.from, fl.to, fl.lossless, time.Duration(c.Start),
			time.Duration(c.Stop), c.Octets, fl.size, c.Frames, c.Window})
	}
	for name := range f.hosts {
		_, p.Ports[name] = f.portOf(name)
	}
	return p, errors.Join(p.checkSpeeds(t), p.checkFlows(t), f.close())
}

// checkFlows refuses more flows than a sender or a sink holds, and two without a size that nothing tells apart.
func (p *Plan) checkFlows(t *config.Topology) error {
	type load struct {
		from, to string
		priority uint8
		start    time.Duration
	}
	seen, flows := map[load]string{}, map[string]int{}
	for i := range p.Flows {
		fl := &p.Flows[i]
		for _, host := range []string{"from " + fl.From, "to " + fl.To} {
			if flows[host]++; flows[host] > traffic.MaxFlows {
				return t.Errorf("traffic."+fl.Name, "more than %d flows %s, which no sender or sink has on real "+
					"links: write a shorter duration or a smaller load, or run the file by pfcswitch sim",
					traffic.MaxFlows, host)
			}
		}
		if fl.Size > 0 {
			continue
		}
		key := load{fl.From, fl.To, fl.Priority, fl.Start}
		if other := seen[key]; other != "" {
			return t.Errorf("traffic."+fl.Name, "%s sends to %s in priority %d from the same moment on by %s: remove "+
				"one of them, or run the file by pfcswitch sim", fl.From, fl.To, fl.Priority, other)
		}
		seen[key] = fl.Name
	}
	return nil
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
	const advice = "so only virtual time has it: remove it, or run the file by pfcswitch sim"
	for i := range t.Traffic {
		l := &t.Traffic[i]
		switch {
		case l.Window > 0 && l.Octets < traffic.MinAsking:
			return t.Errorf("traffic."+l.Name+".octets", "frames that ask for acknowledgements have at least %d on "+
				"real links: write more, or run the file by pfcswitch sim", traffic.MinAsking)
		case l.TTL > 0:
			return t.Errorf("traffic."+l.Name+".ttl", "a bridge takes nothing off a TTL, "+advice)
		}
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
