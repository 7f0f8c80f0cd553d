package config

import "fmt"

// warnTrunks finds settings without effect.
func (c *Config) warnTrunks() (all []Warning) {
	for i := range c.Trunks {
		t := &c.Trunks[i]
		key := "trunks." + t.Name
		all = append(all, c.warnTrunkLengths(t)...)
		all = append(all, c.warnLowMarks(t)...)
		meters, red := t.TotalMeter != TrunkMeter{}, t.TotalRED != nil
		for p := range t.Meters {
			meters = meters || t.Meters[p] != TrunkMeter{}
			red = red || t.RED[p] != nil
		}
		for _, k := range []struct {
			name  string
			given bool
		}{{"meters", meters}, {"red", red}} {
			if k.given && !t.Metered {
				all = append(all, c.warning(key+"."+k.name, "has no effect, because the members together are no faster than the uplink"))
			}
		}
	}
	return all
}

// warnTrunkLengths finds ports with a smaller MTU than other ports of the trunk.
func (c *Config) warnTrunkLengths(t *Trunk) (all []Warning) {
	longest := 0
	for _, name := range t.ports() {
		if p := c.port(name); p != nil {
			longest = max(longest, p.MTU)
		}
	}
	for _, name := range t.ports() {
		if p := c.port(name); p != nil && p.MTU < longest {
			all = append(all, c.warning("ports."+name+".mtu", "%d, below the %d of another port of trunk %s: longer frames never leave by this port, "+
				"so that they are dropped, or go by other members: write one mtu for all of them", p.MTU, longest, t.Name))
		}
	}
	return all
}

// warnLowMarks finds low watermarks that a single paused member can keep exceeded. Frames go to the member with the
// shortest queue, so all members hold about the same when the uplink is held.
func (c *Config) warnLowMarks(t *Trunk) (all []Warning) {
	n := int64(len(t.Members))
	warn := func(key string, m *Mark) {
		if m != nil && n > 1 && m.Low <= m.High/n {
			all = append(all, c.warning("trunks."+t.Name+".watermarks."+key+".low", "%s is not above what each of %d members holds at the high mark: one "+
				"member that its peer pauses keeps the uplink held while the others are empty: write more than %s", formatSize(m.Low), n, formatSize(m.High/n)))
		}
	}
	warn("uplink", t.Watermarks.Uplink)
	for p, m := range t.Watermarks.UplinkPriority {
		warn(fmt.Sprintf("uplink_priority.%d", p), m)
	}
	return all
}
