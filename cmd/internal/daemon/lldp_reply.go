package daemon

import (
	"net"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// LLDP implements api.Source.
func (s source) LLDP() []api.LLDPPort {
	v := s.d.published.Load()
	var all []api.LLDPPort
	for i := range v.cfg.Ports {
		c := &v.cfg.Ports[i]
		if speaker := v.speakers[c.Name]; speaker != nil {
			p := speaker.describe()
			p.DCBX.LosslessPriorities = api.Priorities(v.cfg.LosslessOf(c))
			all = append(all, p)
		}
	}
	return all
}

// describe returns what a port sends and receives by LLDP.
func (s *speaker) describe() (p api.LLDPPort) {
	s.read(func(x *dcbx.Exchange, c *dcbx.Config, now int64) {
		local, st, o, agreed := x.Agent().Config().Local, x.Agent().Statistics(), x.Outcome(), x.Agreement(s.port)
		p = api.LLDPPort{Port: s.port, ChassisID: local.ChassisText(), PortID: local.PortText(), Neighbors: []api.LLDPNeighbor{},
			Transitions: []api.LLDPTransition{},
			Statistics: api.LLDPStatistics{SentFrames: st.FramesSent, ReceivedFrames: st.FramesReceived, DiscardedFrames: st.FramesDiscarded,
				ErrorFrames: st.FramesInErrors, DiscardedTLVs: st.TLVsDiscarded, UnrecognizedTLVs: st.TLVsUnrecognized, Ageouts: st.Ageouts,
				NotStoredFrames: st.NotStored},
			DCBX: api.DCBX{Version: o.Version.String(), Peer: o.Peer, Willing: c.Willing && c.CanPFC, Reason: o.Reason.String(), Mismatch: o.Mismatch,
				ETSAdopted: o.ETSAdopted, MeasuresHere: agreed.Own, MeasuresPeer: agreed.Peer, MeasurementAgreed: agreed.Agreed()}}
		for _, n := range x.Agent().Neighbours() {
			p.Neighbors = append(p.Neighbors, describeNeighbour(n, o.Version, c, now))
		}
		for _, t := range x.Agent().Transitions() {
			p.Transitions = append(p.Transitions, api.LLDPTransition{Machine: t.Machine, From: t.From, To: t.To, Cause: t.Cause, AgeNs: now - t.At})
		}
	})
	return p
}

// describeNeighbour describes one neighbour; v is the version that this end speaks.
func describeNeighbour(n *lldp.Neighbour, v dcbx.Version, c *dcbx.Config, now int64) api.LLDPNeighbor {
	x := api.LLDPNeighbor{ChassisID: n.ChassisText(), PortID: n.PortText(), MAC: net.HardwareAddr(n.Source[:]).String(),
		SystemName: printable(n.SystemName), SystemDescription: printable(n.SystemDescription), PortDescription: printable(n.PortDescription),
		Capabilities: []string{}, EnabledCapabilities: []string{}, ManagementAddresses: []string{}, DCBXVersions: []string{}, Applications: []api.DCBXApp{},
		TTLSeconds: int(n.TTL), AgeNs: now - n.Seen, ExpiresNs: n.Expires - now, Frames: n.Frames}
	if n.Capabilities != nil {
		x.Capabilities, x.EnabledCapabilities = lldp.CapabilityNames(n.Capabilities.Supported), lldp.CapabilityNames(n.Capabilities.Enabled)
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
	if told := dcbx.ParseIEEE(n.Organization); told != nil {
		for _, a := range told.Apps {
			x.Applications = append(x.Applications, api.DCBXApp{Priority: api.Priority(a.Priority), Selector: int(a.Selector), Protocol: int(a.Protocol)})
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
