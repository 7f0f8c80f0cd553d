package config

import (
	"fmt"
	"slices"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/headroom"
)

// checkTrunks finds faults of trunks that do not depend on speeds.
func (c *Config) checkTrunks() (faults []*Error) {
	taken := map[string]string{}
	for i := range c.Trunks {
		t := &c.Trunks[i]
		faults = slices.Concat(faults, c.checkTrunkPorts(t, taken), c.checkTrunkControl(t), c.checkTrunkDrops(t))
	}
	for i := range c.FDB {
		for at, name := range c.FDB[i].behind(fmt.Sprintf("fdb[%d]", i)) {
			if owner, in := taken[name]; in {
				faults = append(faults, c.Errorf(at, "%q belongs to trunk %s, which sends frames without looking at "+
					"addresses: remove the entry", name, owner))
			}
		}
	}
	return faults
}

// checkTrunkPorts finds ports that do not exist, or belong to two trunks. taken holds the trunk of each port.
func (c *Config) checkTrunkPorts(t *Trunk, taken map[string]string) (faults []*Error) {
	key := "trunks." + t.Name
	switch n := len(t.Members); {
	case t.Uplink == "":
		faults = append(faults, c.Errorf(key, "has no uplink: write the key of a port"))
	case n == 0:
		faults = append(faults, c.Errorf(key, "has no members: write the keys of ports, such as members: [p1, p2]"))
	case n > trunk.MaxMembers:
		faults = append(faults, c.Errorf(key+".members", "%d members: a trunk has at most %d, so remove some", n,
			trunk.MaxMembers))
	case slices.Contains(t.Members, t.Uplink):
		return append(faults, c.Errorf(key+".uplink",
			"%q is a member too: a frame of it would go back where it came from, so take another port, or remove it "+
				"from members", t.Uplink))
	}
	names := c.portNames()
	for i, name := range t.ports() {
		at := key + ".uplink"
		if i > 0 {
			at = fmt.Sprintf("%s.members[%d]", key, i-1)
		}
		if name == "" {
			continue
		}
		if fault := c.checkPortName(at, name, names); fault != nil {
			faults = append(faults, fault)
		}
		if p := c.port(name); p != nil {
			if other, joined := c.Joined(p); joined {
				faults = append(faults, c.Errorf(at,
					"port %s is joined to port %s by wire, which exchange all frames: take another port", name, other))
			}
		}
		if owner, twice := taken[name]; twice {
			faults = append(faults, c.Errorf(at,
				"port %s is in trunk %s already: a port belongs to one trunk, and once, so remove it here or there",
				name, owner))
			continue
		}
		taken[name] = t.Name
	}
	return faults
}

// checkTrunkControl requires one flow control for the whole trunk, and watermarks that suit it.
func (c *Config) checkTrunkControl(t *Trunk) (faults []*Error) {
	key := "trunks." + t.Name
	for _, name := range t.ports() {
		if p := c.port(name); p != nil && p.FlowControl != t.FlowControl {
			faults = append(faults, c.Errorf(key+".flow_control",
				"%s, but port %s has %s: a trunk passes pauses through, so that all its ports speak the same: change "+
					"one of the two", t.FlowControl, name, p.FlowControl))
		}
	}
	for i, m := range []*Mark{t.Watermarks.Member, t.Watermarks.Uplink} {
		if name := []string{"member", "uplink"}[i]; m != nil && t.FlowControl != FlowPause {
			faults = append(faults, c.Errorf(key+".watermarks."+name,
				"holds a whole port, which flow_control: %s cannot: write priority or uplink_priority, or "+
					"flow_control: pause", t.FlowControl))
		}
	}
	for i, marks := range []*[8]*Mark{&t.Watermarks.Priority, &t.Watermarks.UplinkPriority} {
		for p, m := range marks {
			at := fmt.Sprintf("%s.watermarks.%s.%d", key, []string{"priority", "uplink_priority"}[i], p)
			switch {
			case m == nil:
			case t.FlowControl != FlowPFC:
				faults = append(faults, c.Errorf(at,
					"holds one priority, which flow_control: %s cannot: write member or uplink, or flow_control: pfc",
					t.FlowControl))
			case !c.Priorities.IsLossless(p):
				faults = append(faults, c.Errorf(at,
					"priority %d is not lossless, so that nothing can hold it: add it to priorities.lossless, or "+
						"remove this", p))
			}
		}
	}
	return faults
}

// checkTrunkDrops refuses drops of lossless priorities, and buckets that are smaller than a frame.
func (c *Config) checkTrunkDrops(t *Trunk) (faults []*Error) {
	key, lossless := "trunks."+t.Name, c.TrunkLossless(t)
	least := c.largestMetered(t)
	for p := range t.Meters {
		at := fmt.Sprintf("%s.meters.%d", key, p)
		m := &t.Meters[p]
		if lossless>>p&1 == 1 {
			if m.PIR != nil || m.PBS != nil {
				faults = append(faults, c.Errorf(at,
					"priority %d is lossless, and a meter with pir or pbs drops what is above: remove them (cir and "+
						"cbs only colour), or make the priority lossy", p))
			}
			if t.RED[p] != nil {
				faults = append(faults, c.Errorf(fmt.Sprintf("%s.red.%d", key, p),
					"priority %d is lossless, and RED drops frames: remove it, or make the priority lossy", p))
			}
		}
		if m.CIR != nil && m.PIR != nil && *m.PIR < *m.CIR {
			faults = append(faults, c.Errorf(at+".pir",
				"%s is below cir %s: the peak rate is at least the committed one, so raise it", formatRate(*m.PIR),
				formatRate(*m.CIR)))
		}
		faults = append(faults, c.checkBursts(at, m, least)...)
	}
	if lossless == 0xFF && (t.TotalMeter.PIR != nil || t.TotalMeter.PBS != nil) {
		faults = append(faults, c.Errorf(key+".meters.total",
			"all priorities are lossless, and a meter with pir or pbs drops what is above: remove them"))
	}
	if lossless == 0xFF && t.TotalRED != nil {
		faults = append(faults, c.Errorf(key+".red.total",
			"all priorities are lossless, and RED drops frames: remove it, or make priorities lossy"))
	}
	return append(faults, c.checkBursts(key+".meters.total", &t.TotalMeter, least)...)
}

func (c *Config) checkBursts(key string, m *TrunkMeter, least int64) (faults []*Error) {
	for i, burst := range []*int64{m.CBS, m.PBS} {
		if name := []string{"cbs", "pbs"}[i]; burst != nil && *burst < least {
			faults = append(faults, c.Errorf(key+"."+name,
				"%s is below one frame, which could never pass: write at least %dB", formatSize(*burst), least))
		}
	}
	return faults
}

// largestMetered is the metered size of the largest frame of a trunk, in octets.
func (c *Config) largestMetered(t *Trunk) (most int64) {
	for _, name := range t.ports() {
		p := c.port(name)
		switch {
		case p == nil:
		case t.MeterOctets == IPOctets:
			most = max(most, p.MaxFrame()-frame.HeaderOctets)
		default:
			most = max(most, p.MaxFrame()+headroom.WireOverhead)
		}
	}
	return most
}
