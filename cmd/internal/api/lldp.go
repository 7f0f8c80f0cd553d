package api

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"pfcswitch/macctl"
)

// LLDP is the answer to show lldp.
type LLDP struct {
	Header
	Ports []LLDPPort `json:"ports"` // in the order of the configuration, those that speak LLDP
}

// LLDPPort is what a port sends and receives by LLDP.
type LLDPPort struct {
	Port        string           `json:"port"`
	ChassisID   string           `json:"chassis_id"` // as it is sent
	PortID      string           `json:"port_id"`
	Statistics  LLDPStatistics   `json:"statistics"` // since the port was opened
	DCBX        DCBX             `json:"dcbx"`
	Neighbors   []LLDPNeighbor   `json:"neighbors"`   // in the order in which they came
	Transitions []LLDPTransition `json:"transitions"` // of the state machines: the newest of each, oldest first
}

// LLDPStatistics count frames and TLVs as IEEE 802.1AB 9.2.6 does.
type LLDPStatistics struct {
	SentFrames       uint64 `json:"sent_frames"`
	ReceivedFrames   uint64 `json:"received_frames"`
	DiscardedFrames  uint64 `json:"discarded_frames"`
	ErrorFrames      uint64 `json:"error_frames"`
	DiscardedTLVs    uint64 `json:"discarded_tlvs"`
	UnrecognizedTLVs uint64 `json:"unrecognized_tlvs"`
	Ageouts          uint64 `json:"ageouts"`
	NotStoredFrames  uint64 `json:"not_stored_frames"` // neighbours that were forgotten for another
}

// LLDPTransition is a step of a state machine of IEEE 802.1AB 9.2.
type LLDPTransition struct {
	Machine string `json:"machine"` // receive, timer, transmit
	From    string `json:"from"`    // states
	To      string `json:"to"`
	Cause   string `json:"cause"`
	AgeNs   int64  `json:"age_ns"` // since it was made
}

// DCBX is the outcome of the exchange.
type DCBX struct {
	Version            string     `json:"version"` // that this end speaks: ieee, cee, cin, off
	Peer               bool       `json:"peer"`    // the neighbour that is followed speaks it too
	Willing            bool       `json:"willing"`
	LosslessPriorities []Priority `json:"lossless_priorities"` // that the port has under PFC
	Reason             string     `json:"reason"`              // why these: own, peer, mismatch, no-peer, …
	Mismatch           bool       `json:"mismatch"`
	ETSAdopted         bool       `json:"ets_adopted"` // the egress queues are as the peer recommends
	MeasuresHere       bool       `json:"measures_here"`
	MeasuresPeer       bool       `json:"measures_peer"`
	MeasurementAgreed  bool       `json:"measurement_agreed"` // both ends can measure headroom
}

// LLDPNeighbor is what a neighbour sends. Unprintable texts are shown in hexadecimal.
type LLDPNeighbor struct {
	ChassisID           string       `json:"chassis_id"`
	PortID              string       `json:"port_id"`
	MAC                 string       `json:"mac"`
	SystemName          *string      `json:"system_name"`
	SystemDescription   *string      `json:"system_description"`
	PortDescription     *string      `json:"port_description"`
	Capabilities        []string     `json:"capabilities"`
	EnabledCapabilities []string     `json:"enabled_capabilities"`
	ManagementAddresses []string     `json:"management_addresses"`
	TTLSeconds          int          `json:"ttl_s"`
	AgeNs               int64        `json:"age_ns"`     // since its last frame
	ExpiresNs           int64        `json:"expires_ns"` // until it is forgotten
	Frames              uint64       `json:"frames"`
	Followed            bool         `json:"followed"` // of several neighbours, the one that counts
	DCBXVersions        []string     `json:"dcbx_versions"`
	PFC                 *NeighborPFC `json:"pfc"` // null: it sends none
	Applications        []DCBXApp    `json:"applications"`
}

// NeighborPFC is the PFC configuration that a neighbour sends, in the version that this end speaks.
type NeighborPFC struct {
	Priorities []Priority `json:"priorities"`
	Willing    bool       `json:"willing"`
	Measures   bool       `json:"measures"` // it can measure headroom
}

// DCBXApp is the priority of an application by the IEEE version.
type DCBXApp struct {
	Priority Priority `json:"priority"`
	Selector int      `json:"selector"` // 1 EtherType, 2 TCP or SCTP, 3 UDP, 4 any of these, 5 DSCP
	Protocol int      `json:"protocol"`
}

func (m *moment) readLLDP() *LLDP {
	r := &LLDP{m.Header, m.source.LLDP()}
	for i := range r.Ports {
		p := &r.Ports[i]
		if v := m.port(p.Port); v != nil && v.Config.Mode == macctl.ModeOff { // the link swallows control frames
			p.DCBX.LosslessPriorities = Priorities(0)
		}
	}
	return r
}

// Text implements Reply.
func (r *LLDP) Text() string {
	if len(r.Ports) == 0 {
		return r.headline() + "\nno port speaks LLDP\n"
	}
	t := newTable("PORT", "DCBX", "LOSSLESS", "WHY", "MISMATCH", "MEASURES", ">TX FRAMES", ">RX FRAMES", ">BAD")
	n := newTable("PORT", "NEIGHBOR", "ITS PORT", "CHASSIS", "PFC", "WILLING", "DCBX", "FOLLOWED", ">AGE s", ">TTL s",
		"DESCRIPTION")
	for _, p := range r.Ports {
		t.row(p.Port, p.DCBX.Version, JoinPriorities(p.DCBX.LosslessPriorities), p.DCBX.Reason,
			either(p.DCBX.Mismatch, "yes", "no"), p.DCBX.measures(), p.Statistics.SentFrames,
			p.Statistics.ReceivedFrames, p.Statistics.DiscardedFrames+p.Statistics.DiscardedTLVs)
		for _, x := range p.Neighbors {
			pfc, willing := none, none
			if x.PFC != nil {
				pfc, willing = JoinPriorities(x.PFC.Priorities), either(x.PFC.Willing, "yes", "no")
			}
			n.row(p.Port, x.SystemName, x.PortID, x.ChassisID, pfc, willing,
				cmp.Or(strings.Join(x.DCBXVersions, ","), none), either(x.Followed, "yes", "no"),
				fmt.Sprint(x.AgeNs/1e9), strconv.Itoa(x.TTLSeconds), x.SystemDescription)
		}
	}
	return sections(r.headline(), section{"", t}, section{"neighbors", n})
}

// measures says who can measure headroom.
func (d *DCBX) measures() string {
	switch {
	case d.MeasurementAgreed:
		return "agreed"
	case d.MeasuresHere:
		return "only here"
	case d.MeasuresPeer:
		return "only the peer"
	}
	return "no"
}
