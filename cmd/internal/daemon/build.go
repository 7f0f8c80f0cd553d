package daemon

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// thresholds are the policies of the lossless pool by the value of buffer.policy.
var thresholds = map[config.Policy]buffer.Threshold{
	config.PolicyDT:     buffer.DynamicThreshold{},
	config.PolicyStatic: buffer.StaticThreshold{},
	config.PolicyDSH:    buffer.DynamicThreshold{},
	config.PolicyABM:    buffer.DynamicThreshold{},
}

// switchConfig translates what concerns the whole switch.
func switchConfig(c *config.Config, identity bridge.Identity) (dataplane.Config, error) {
	b := buffer.Config{
		Cell:     int(c.Buffer.Cell),
		Lossless: buffer.PoolConfig{Size: c.Buffer.Lossless.Size + c.HeadroomGrowth(), Alpha: c.Buffer.Lossless.Alpha},
		Beside:   c.Buffer.Lossless.Beside,
		Lossy:    buffer.PoolConfig{Size: c.Buffer.Lossy.Size, Alpha: c.Buffer.Lossy.Alpha},
		RingHold: c.Buffer.RingHold, Headroom: c.Buffer.Sharing(), Active: c.Buffer.Policy == config.PolicyABM,
	}
	if b.Threshold = thresholds[c.Buffer.Policy]; b.Threshold == nil {
		return dataplane.Config{}, fmt.Errorf("buffer.policy: no threshold is known for %q", c.Buffer.Policy)
	}
	lossless := c.Priorities.Lossless
	for i := range c.Ports {
		if e := c.Ports[i].Negotiated; e != nil && c.Ports[i].FlowControl == config.FlowPFC {
			lossless |= e.Lossless
		}
	}
	return dataplane.Config{Buffer: b, Lossless: lossless, Demote: c.UnknownLossless == config.Demote,
		Ageing: c.Ageing, Identity: identity, Measurement: c.Headroom.Format(), Salt: saltOf(c.Name)}, nil
}

// saltOf is a hash of the switch's name (FNV-1a): switches of a network have different ones, and each the same one
// whenever it starts, in virtual time too.
func saltOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // which never fails
	return h.Sum64()
}

// segmentsGSO tells whether GSO frames are segmented. One port with a speed makes all ports segment.
func segmentsGSO(c *config.Config) bool {
	return slices.ContainsFunc(c.Ports, func(p config.Port) bool { return p.Speed != 0 })
}

// portConfigs translates all ports. numbers holds their numbers by name, and the result is by number.
func portConfigs(c *config.Config, numbers map[string]int) (map[int]dataplane.PortConfig, error) {
	ports := map[int]dataplane.PortConfig{}
	for i := range c.Ports {
		pc, err := portConfig(c, &c.Ports[i])
		if err != nil {
			return nil, err
		}
		if other, ok := c.Joined(&c.Ports[i]); ok { // the port exchanges all frames with one other, beside the bridge
			pc.Bridge.Wired, pc.Bridge.Wire, pc.Bridge.Loop = true, numbers[other], false
		}
		ports[numbers[pc.Name]] = pc
	}
	return ports, nil
}

func portConfig(c *config.Config, p *config.Port) (dataplane.PortConfig, error) {
	tagged, err := bridge.VLANs(p.Tagged...)
	if err != nil {
		return dataplane.PortConfig{}, fmt.Errorf("port %s: %w", p.Name, err)
	}
	cut := segmentsGSO(c)
	pc := dataplane.PortConfig{
		Name: p.Name, TAP: p.Kind == config.KindTAP, Speed: p.Speed, Burst: p.Burst,
		Delay: int64(p.Delay / time.Nanosecond), MaxFrame: p.MTU + frame.HeaderOctets, Cut: cut,
		Quanta: c.Pause.Quanta, Remain: c.Pause.Remaining,
		Classify: classify.Config{Trust: trusts[p.Trust], Default: p.DefaultPriority, DSCP: c.Priorities.DSCP,
			MTU: p.MTU, Slot: int(p.Ring.Frame)},
		Bridge: bridge.PortConfig{PVID: p.PVID, Tagged: tagged, Admit: admits[c.AdmitOf(p)],
			Learning: p.Learning, Secure: secures[p.Secure], Stations: p.Stations, Flood: p.Flood, Storm: p.Storm,
			Loop: p.Loop},
		StripZero: p.PriorityTags == config.StripPriorityTags,
		Packet:    p.Send == config.SendPacket,
	}
	if !cut {
		pc.MaxFrame = port.MaxFrame
	}
	pc.Mode, pc.Lossless = flowControl(c, p)
	pc.Asymmetric = p.Asymmetric
	for q, r := range p.Queues {
		pc.Ingress[q] = buffer.QueueConfig{Private: r.Private, Headroom: r.Headroom, Xon: r.Xon, XonOffset: r.XonOffset,
			Xoff: r.Xoff, Alpha: r.Alpha}
	}
	for q, queue := range c.QueuesOf(p) {
		pc.Egress[q] = sched.Queue{Strict: queue.Strict, Weight: queue.Weight}
		if e := c.ECN[q]; e.Enabled {
			pc.ECN[q] = dataplane.ECN{Kmin: e.Kmin, Kmax: e.Kmax, Pmax: e.Pmax}
		}
	}
	return pc, nil
}

// flowControl returns the mode of a port and its lossless priorities.
func flowControl(c *config.Config, p *config.Port) (macctl.Mode, uint8) {
	mode := p.FlowControl.Mode()
	return mode, mode.Lossless(c.LosslessOf(p))
}

var admits = map[config.Admit]bridge.Admit{config.AdmitAll: bridge.AdmitAll,
	config.AdmitTagged: bridge.AdmitTagged, config.AdmitUntagged: bridge.AdmitUntagged}

var secures = map[config.Secure]bridge.Secure{config.SecureOff: bridge.SecureOff,
	config.SecureSticky: bridge.SecureSticky, config.SecureStatic: bridge.SecureStatic}

var trusts = map[config.Trust]classify.Trust{config.TrustPCP: classify.TrustPCP, config.TrustDSCP: classify.TrustDSCP,
	config.TrustPort: classify.TrustPort}

// socketConfig says how the sockets of a port are to be opened, where a program in the kernel holds its peer or not,
// and the port is in use or not yet.
func socketConfig(c *config.Config, p *config.Port, at place, held, used bool) (port.Config, error) {
	pc, err := portConfig(c, p)
	if err != nil {
		return port.Config{}, err
	}
	sockets := ringSizes(c, p, at, held, used)
	if sockets.Fanout, err = dataplane.Steering(&pc); err != nil {
		return port.Config{}, fmt.Errorf("port %s: %w", p.Name, err)
	}
	return sockets, nil
}

// statics translates the static FDB entries. numbers holds the port numbers by name.
func statics(c *config.Config, numbers map[string]int) []dataplane.Static {
	var all []dataplane.Static
	var group []int // of the names before
	for i := range c.FDB {
		e := &c.FDB[i]
		static := dataplane.Static{MAC: frame.Address(e.MAC[:]), VID: e.VLAN, Port: numbers[e.Port]}
		if len(e.Ports) > 0 {
			if i == 0 || len(c.FDB[i-1].Ports) == 0 || &c.FDB[i-1].Ports[0] != &e.Ports[0] {
				group = nil
				for _, name := range e.Ports {
					group = append(group, numbers[name])
				}
			}
			static.Group = group // a fabric has a hundred thousand entries, and few groups
		}
		all = append(all, static)
	}
	return all
}

// trunkConfigs translates the trunks. numbers holds the port numbers by name.
func trunkConfigs(c *config.Config, numbers map[string]int) (all []dataplane.TrunkConfig) {
	for i := range c.Trunks {
		t := &c.Trunks[i]
		v := dataplane.TrunkConfig{Name: t.Name, Uplink: numbers[t.Uplink], ByFlow: t.Distribution == config.FlowHash,
			Aware: t.Colour == config.ColourAware, IPOctets: t.MeterOctets == config.IPOctets, Flow: trunkFlow(c, t),
			Aggregate: trunk.AggregatorConfig{Members: len(t.Members), Metered: t.Metered, Lossless: c.TrunkLossless(t),
				Meters: t.Profiles, Total: t.Total}}
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
	v := trunk.REDConfig{Low: r.Low, High: r.High, Probability: r.Probability,
		Averaged: t.REDQueue == config.AveragedQueue}
	for _, p := range c.Ports {
		if p.Name == t.Uplink && p.Speed > 0 {
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

func mark(m *config.Mark) (v trunk.Mark) {
	if m != nil {
		v = trunk.Mark{High: m.High, Low: m.Low}
	}
	return v
}
