package dcbx

import (
	"bytes"
	"encoding/binary"

	"pfcswitch/lldp"
)

// ouiIEEE marks the TLVs of IEEE 802.1. Lengths count the information behind the subtype.
var ouiIEEE = lldp.OUI{0x00, 0x80, 0xC2}

const (
	subtypeETS            = 9
	subtypeRecommendation = 10
	subtypePFC            = 11
	subtypeApplication    = 12

	etsLength = 21
	pfcLength = 2
)

// Flags of the ETS and PFC configuration TLVs.
const (
	flagWilling = 0x80
	reservedPFC = 0x30
)

// An ETS is an ETS configuration TLV, or a recommendation (IEEE 802.1Q D.2.8, D.2.9).
type ETS struct {
	Willing   bool     // of a configuration
	Class     [8]uint8 // traffic class of each priority
	Bandwidth [8]uint8 // percent of each traffic class with selection ETS; together 100
	Selection [8]uint8 // of each traffic class
}

// Transmission selection algorithms.
const (
	SelectStrict = 0
	SelectETS    = 2
)

// organization returns e as a TLV.
//
//	1 octet:  willing, 0: no credit-based shaper, 3 reserved bits, 3 bits 0: eight traffic classes (recommendation: 0)
//	4 octets: traffic class of priority 0 to 7, 4 bits each
//	8 octets: bandwidth of traffic class 0 to 7
//	8 octets: transmission selection of traffic class 0 to 7
func (e *ETS) organization(subtype uint8) lldp.Organization {
	b := make([]byte, 1, etsLength)
	if subtype == subtypeETS {
		b[0] = flag(e.Willing, flagWilling)
	}
	for p := 0; p < 8; p += 2 {
		b = append(b, e.Class[p]<<4|e.Class[p+1]&0xF)
	}
	b = append(append(b, e.Bandwidth[:]...), e.Selection[:]...)
	return lldp.Organization{OUI: ouiIEEE, Subtype: subtype, Info: string(b)}
}

func parseETS(info string) (e *ETS, ok bool) {
	if len(info) != etsLength {
		return nil, false
	}
	e = &ETS{Willing: info[0]&flagWilling != 0}
	for p := range e.Class {
		e.Class[p] = info[1+p/2] >> (4 * (1 - p%2)) & 0xF
	}
	copy(e.Bandwidth[:], info[5:])
	copy(e.Selection[:], info[13:])
	return e, true
}

// A PFC is a PFC configuration TLV (IEEE 802.1Q D.2.10).
type PFC struct {
	Willing  bool
	Reserved uint8 // bits of mask 0x30; 0x20 says that headroom can be measured automatically
	Cap      uint8 // traffic classes that can have PFC at a time, 8 = all
	Enable   uint8 // bit n = priority n
}

// organization returns p as a TLV.
//
//	1 octet: willing, 0: can bypass MACsec, 2 reserved bits, 4 bits: capability
//	1 octet: PFC enable vector
func (p PFC) organization() lldp.Organization {
	flags := flag(p.Willing, flagWilling) | p.Reserved&reservedPFC | p.Cap&0xF
	return lldp.Organization{OUI: ouiIEEE, Subtype: subtypePFC, Info: string([]byte{flags, p.Enable})}
}

func parsePFC(info string) (p *PFC, ok bool) {
	if len(info) != pfcLength {
		return nil, false
	}
	return &PFC{Willing: info[0]&flagWilling != 0, Reserved: info[0] & reservedPFC, Cap: info[0] & 0xF,
		Enable: info[1]}, true
}

// An App gives the priority of an application (IEEE 802.1Q D.2.11).
type App struct {
	Priority uint8
	Selector uint8 // kind of Protocol
	Protocol uint16
}

// Selectors.
const (
	SelectEtherType = 1
	SelectUDP       = 3
	SelectDSCP      = 5
)

// RoCEv2Port is the UDP port of RoCEv2.
const RoCEv2Port = 4791

const appLength = 3

const maxApps = (lldp.MaxInfo - 1) / appLength

// organizationApps returns an application priority TLV.
//
//	1 octet: reserved
//	each application:
//	  3 bits:   priority
//	  2 bits:   reserved
//	  3 bits:   selector
//	  2 octets: protocol
func organizationApps(apps []App) lldp.Organization {
	b := []byte{0}
	for _, a := range apps[:min(len(apps), maxApps)] {
		b = binary.BigEndian.AppendUint16(append(b, a.Priority<<5|a.Selector&7), a.Protocol)
	}
	return lldp.Organization{OUI: ouiIEEE, Subtype: subtypeApplication, Info: string(b)}
}

func parseApps(info string) (apps []App, ok bool) {
	if len(info) == 0 || len(info)%appLength != 1 {
		return nil, false
	}
	for b := []byte(info[1:]); len(b) > 0; b = b[appLength:] {
		apps = append(apps, App{Priority: b[0] >> 5, Selector: b[0] & 7, Protocol: binary.BigEndian.Uint16(b[1:])})
	}
	return apps, true
}

func flag(on bool, mask uint8) uint8 {
	if on {
		return mask
	}
	return 0
}

// An IEEE has the IEEE TLVs of an LLDPDU. A missing, malformed or duplicate TLV is nil.
type IEEE struct {
	ETS            *ETS
	Recommendation *ETS
	PFC            *PFC
	Apps           []App
	DuplicatePFC   bool // it stands more than once
}

// ParseIEEE reads the IEEE TLVs among list. The result is nil where there is none.
func ParseIEEE(list []lldp.Organization) *IEEE {
	var (
		x    IEEE
		seen [subtypeApplication + 1]int
	)
	for _, o := range list {
		if o.OUI != ouiIEEE || o.Subtype < subtypeETS || o.Subtype > subtypeApplication {
			continue
		}
		if seen[o.Subtype]++; seen[o.Subtype] > 1 {
			o.Info = "" // nobody knows which is meant
			x.DuplicatePFC = x.DuplicatePFC || o.Subtype == subtypePFC
		}
		x.parse(o)
	}
	if seen == [len(seen)]int{} {
		return nil
	}
	return &x
}

// parse reads one TLV. A malformed one is nil.
func (x *IEEE) parse(o lldp.Organization) {
	switch o.Subtype {
	case subtypeETS:
		x.ETS, _ = parseETS(o.Info)
	case subtypeRecommendation:
		x.Recommendation, _ = parseETS(o.Info)
	case subtypePFC:
		x.PFC, _ = parsePFC(o.Info)
	default:
		x.Apps, _ = parseApps(o.Info)
	}
}

// symmetric decides which priorities are lossless in the IEEE version (802.1Q 38.4.2), whose ends must have the same:
//
//	own willing  peer willing
//	no           yes           own
//	yes          no            peer's
//	yes          yes           those of the end whose MAC address decides
//	no           no            own; where they differ, those that both have, else one end loses frames
func (c *Config) symmetric(peer *PFC, mac [6]byte) pfcDecision {
	willing := c.willingPFC()
	switch {
	case willing && !peer.Willing:
		return pfcDecision{enable: peer.Enable, reason: ReasonPeer}
	case willing && c.winsTie(mac):
		return pfcDecision{enable: c.PFC, reason: ReasonTieOwn}
	case willing:
		return pfcDecision{enable: peer.Enable, reason: ReasonTiePeer}
	case peer.Willing || peer.Enable == c.PFC:
		return pfcDecision{enable: c.PFC, reason: ReasonOwn}
	}
	return pfcDecision{enable: c.PFC & peer.Enable, reason: ReasonMismatch, mismatch: true}
}

// winsTie reports whether this end decides where both are willing. Implementations differ in which address wins.
func (c *Config) winsTie(peer [6]byte) bool {
	higher := bytes.Compare(c.MAC[:], peer[:]) >= 0
	return higher == c.HigherWins
}

// willingPFC reports whether this end adopts the peer's PFC. A port without PFC cannot.
func (c *Config) willingPFC() bool { return c.Willing && c.CanPFC }

// decideIEEE completes the outcome by the IEEE TLVs of the only neighbour.
func (c *Config) decideIEEE(peer *IEEE, mac [6]byte, o *Outcome) {
	switch {
	case peer.PFC != nil:
		o.setPFC(c.symmetric(peer.PFC, mac))
		o.Measures = peer.PFC.Reserved&c.IEEEBit != 0
	case peer.DuplicatePFC:
		o.Reason = ReasonDuplicate
	default:
		o.Reason = ReasonNoTLV
	}
	// ETS is asymmetric (802.1Q 38.4.1): a willing end takes the recommendation, whatever the peer itself does.
	if peer.Recommendation != nil && c.Willing {
		if q, ok := peer.Recommendation.Queues(); ok {
			o.Queues, o.ETSAdopted = q, true
			o.ets = *peer.Recommendation
		}
	}
}
