package daemon

import (
	"math/bits"
	"net"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// LLDPConfig is what a port tells of itself. index is the number of its interface, chassis the chassis ID of the
// switch.
func LLDPConfig(c *config.Config, p *config.Port, chassis, mac [6]byte, index int) lldp.Config {
	id := string(chassis[:])
	return lldp.Config{MAC: mac, Interval: int(c.LLDP.Interval / time.Second), Hold: c.LLDP.Hold,
		Local: lldp.PDU{
			Chassis:         lldp.ID{Subtype: lldp.ChassisMAC, Value: id},
			Port:            lldp.ID{Subtype: lldp.PortIfName, Value: p.Name},
			PortDescription: p.Interface, SystemName: c.Name,
			SystemDescription: "pfcswitch " + api.ThisVersion().Version +
				", a software Ethernet switch that sends and obeys PAUSE and PFC",
			Capabilities: &lldp.Capabilities{Supported: lldp.CapabilityBridge, Enabled: lldp.CapabilityBridge},
			Management: []lldp.ManagementAddress{{Family: lldp.FamilyMAC, Address: id,
				Numbering: lldp.NumberIfIndex, Interface: uint32(index)}},
		}}
}

// DCBXConfig is what a port tells by DCBX. unwilling: it follows no neighbour, since what one asked for did not fit.
func DCBXConfig(c *config.Config, p *config.Port, mac [6]byte, unwilling bool) dcbx.Config {
	l := &c.LLDP
	m := dcbx.Config{Mode: dcbxModes[l.DCBX], Willing: l.Willing && !unwilling,
		HigherWins: l.TieBreak == config.TieHigher, IEEEBit: l.BitIEEE, LegacyBit: l.BitLegacy,
		Hold: int64(l.ChangeHold), MAC: mac, CanPFC: p.FlowControl == config.FlowPFC}
	if m.CanPFC {
		m.PFC = c.Priorities.Lossless
	}
	for q, queue := range c.Queues {
		m.Queues[q] = dcbx.Queue{Strict: queue.Strict, Weight: queue.Weight}
	}
	if prio, ok := rocePriority(&c.Priorities); ok && m.CanPFC {
		m.Apps = []dcbx.App{{Priority: prio, Selector: dcbx.SelectUDP, Protocol: dcbx.RoCEv2Port}}
	}
	return m
}

var dcbxModes = map[config.DCBX]dcbx.Mode{config.DCBXAuto: dcbx.ModeAuto, config.DCBXIEEE: dcbx.ModeIEEE,
	config.DCBXCEE: dcbx.ModeCEE, config.DCBXCIN: dcbx.ModeCIN, config.DCBXOff: dcbx.ModeOff}

// roceDSCP is the usual DSCP of RoCEv2.
const roceDSCP = 26

// rocePriority is the priority of RoCEv2: that of its DSCP if lossless, else the lowest lossless one.
func rocePriority(p *config.Priorities) (uint8, bool) {
	if prio := p.DSCP[roceDSCP]; p.IsLossless(int(prio)) {
		return prio, true
	}
	return uint8(bits.TrailingZeros8(p.Lossless)), p.Lossless != 0
}

// Negotiated returns the settings that outcome o gives a port in the place of its configuration, nil where they are the
// same.
func Negotiated(c *config.Config, p *config.Port, o dcbx.Outcome) *config.Negotiated {
	configured := config.Negotiated{Lossless: c.Priorities.Lossless, Queues: c.Queues}
	e := configured
	switch o.Reason {
	case dcbx.ReasonPeer, dcbx.ReasonTiePeer, dcbx.ReasonMismatch, dcbx.ReasonPeerError, dcbx.ReasonDisabled:
		if p.FlowControl == config.FlowPFC {
			e.Lossless = o.PFC
		}
	}
	if o.ETSAdopted {
		for q, queue := range o.Queues {
			e.Queues[q] = config.Queue{Strict: queue.Strict, Weight: queue.Weight}
		}
	}
	if e == configured {
		return nil
	}
	return &e
}

// WithNegotiated resolves configuration c, which has been resolved, with other negotiated settings of one port; nil
// means none.
func WithNegotiated(c *config.Config, name string, want *config.Negotiated) (*config.Config, error) {
	all, speeds := map[string]config.Negotiated{}, map[string]int64{}
	for _, p := range c.Ports {
		e := p.Negotiated
		if p.Name == name {
			e = want
		}
		if e != nil {
			all[p.Name] = *e
		}
		speeds[p.Name] = p.Speed
	}
	return c.WithNegotiated(all).Resolve(speeds)
}

// NotFollowed is what is said of a port where WithNegotiated fails.
const NotFollowed = "what the neighbour asks for by DCBX does not fit, and the port follows it no longer"

// DescribeLLDP returns what a port sends and receives by LLDP, all but its lossless priorities.
func DescribeLLDP(port string, x *dcbx.Exchange, c *dcbx.Config, now int64) api.LLDPPort {
	local, st, o, agreed := x.Agent().Config().Local, x.Agent().Statistics(), x.Outcome(), x.Agreement(port)
	p := api.LLDPPort{Port: port, ChassisID: local.ChassisText(), PortID: local.PortText(),
		Neighbors: []api.LLDPNeighbor{}, Transitions: []api.LLDPTransition{},
		Statistics: api.LLDPStatistics{SentFrames: st.FramesSent, ReceivedFrames: st.FramesReceived,
			DiscardedFrames: st.FramesDiscarded, ErrorFrames: st.FramesInErrors, DiscardedTLVs: st.TLVsDiscarded,
			UnrecognizedTLVs: st.TLVsUnrecognized, Ageouts: st.Ageouts, NotStoredFrames: st.NotStored},
		DCBX: api.DCBX{Version: o.Version.String(), Peer: o.Peer, Willing: c.Willing && c.CanPFC,
			Reason: o.Reason.String(), Mismatch: o.Mismatch, ETSAdopted: o.ETSAdopted, MeasuresHere: agreed.Own,
			MeasuresPeer: agreed.Peer, MeasurementAgreed: agreed.Agreed()}}
	for _, n := range x.Agent().Neighbours() {
		described := describeNeighbour(n, o.Version, c, now)
		described.Followed = n == x.Peer()
		p.Neighbors = append(p.Neighbors, described)
	}
	for _, t := range x.Agent().Transitions() {
		p.Transitions = append(p.Transitions, api.LLDPTransition{Machine: t.Machine, From: t.From, To: t.To,
			Cause: t.Cause, AgeNs: now - t.At})
	}
	return p
}

// describeNeighbour describes one neighbour; v is the version that this end speaks.
func describeNeighbour(n *lldp.Neighbour, v dcbx.Version, c *dcbx.Config, now int64) api.LLDPNeighbor {
	x := api.LLDPNeighbor{ChassisID: n.ChassisText(), PortID: n.PortText(), MAC: net.HardwareAddr(n.Source[:]).String(),
		SystemName: printable(n.SystemName), SystemDescription: printable(n.SystemDescription),
		PortDescription: printable(n.PortDescription), Capabilities: []string{}, EnabledCapabilities: []string{},
		ManagementAddresses: []string{}, DCBXVersions: []string{}, Applications: []api.DCBXApp{},
		TTLSeconds: int(n.TTL), AgeNs: now - n.Seen, ExpiresNs: n.Expires - now, Frames: n.Frames}
	if n.Capabilities != nil {
		x.Capabilities, x.EnabledCapabilities = lldp.CapabilityNames(n.Capabilities.Supported),
			lldp.CapabilityNames(n.Capabilities.Enabled)
	}
	for _, m := range n.Management {
		x.ManagementAddresses = append(x.ManagementAddresses, m.String())
	}
	for _, spoken := range dcbx.Versions(n.Organization) {
		x.DCBXVersions = append(x.DCBXVersions, spoken.String())
	}
	if pfc, ok := dcbx.PeerPFC(v, n.Organization); ok {
		measures := pfc.IEEE && pfc.Reserved&c.IEEEBit != 0 || !pfc.IEEE && pfc.Reserved&c.LegacyBit != 0
		x.PFC = &api.NeighborPFC{Priorities: api.Priorities(pfc.Enable), Willing: pfc.Willing, Measures: measures}
	}
	if tlvs := dcbx.ParseIEEE(n.Organization); tlvs != nil {
		for _, a := range tlvs.Apps {
			x.Applications = append(x.Applications, api.DCBXApp{Priority: api.Priority(a.Priority),
				Selector: int(a.Selector), Protocol: int(a.Protocol)})
		}
	}
	return x
}

// printable returns a text that is safe to show, nil if it is empty.
func printable(s string) *string {
	if s == "" {
		return nil
	}
	s = lldp.Printable(s)
	return &s
}
