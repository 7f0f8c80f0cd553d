package daemon

import (
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
)

// trunkConfigs translates the trunks. numbers holds the port numbers by name.
func trunkConfigs(c *config.Config, numbers map[string]int) (all []dataplane.TrunkConfig) {
	for i := range c.Trunks {
		t := &c.Trunks[i]
		v := dataplane.TrunkConfig{Name: t.Name, Uplink: numbers[t.Uplink], ByFlow: t.Distribution == config.FlowHash,
			Aware: t.Colour == config.ColourAware, IPOctets: t.MeterOctets == config.IPOctets, Flow: trunkFlow(c, t),
			Aggregate: trunk.AggregatorConfig{Members: len(t.Members), Metered: t.Metered, Lossless: c.TrunkLossless(t), Meters: t.Profiles, Total: t.Total}}
		for _, name := range t.Members {
			v.Members = append(v.Members, numbers[name])
		}
		for p, r := range t.RED {
			v.Aggregate.RED[p] = trunkRED(c, t, r)
		}
		v.Aggregate.TotalRED = trunkRED(c, t, t.TotalRED)
		all = append(all, v)
	}
	return all
}

func trunkRED(c *config.Config, t *config.Trunk, r *config.TrunkRED) trunk.REDConfig {
	if r == nil {
		return trunk.REDConfig{}
	}
	v := trunk.REDConfig{Low: r.Low, High: r.High, Probability: r.Probability, Averaged: t.REDQueue == config.AveragedQueue}
	for i := range c.Ports {
		if p := &c.Ports[i]; p.Name == t.Uplink && p.Speed > 0 {
			v.TypicalNs = int64(frame.WireOctets(int(p.MaxFrame()))) * 8 * 1_000_000_000 / p.Speed
		}
	}
	return v
}

func trunkFlow(c *config.Config, t *config.Trunk) trunk.FlowConfig {
	v := trunk.FlowConfig{Mode: t.FlowControl.Mode(), Lossless: c.TrunkLossless(t),
		Member: mark(t.Watermarks.Member), Uplink: mark(t.Watermarks.Uplink)}
	for p := range v.Priority {
		v.Priority[p], v.UplinkPriority[p] = mark(t.Watermarks.Priority[p]), mark(t.Watermarks.UplinkPriority[p])
	}
	return v
}

func mark(m *config.Mark) trunk.Mark {
	if m == nil {
		return trunk.Mark{}
	}
	return trunk.Mark{High: m.High, Low: m.Low}
}
