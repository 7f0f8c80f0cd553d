package lldp

import "encoding/binary"

// A PDU is the contents of an LLDPDU (IEEE 802.1AB clause 8). Texts hold the octets that were sent. Printable makes
// them fit for a terminal.
type PDU struct {
	Chassis ID
	Port    ID
	TTL     uint16 // seconds for which the PDU holds; 0: the announcement ends now

	PortDescription   string // "" where it is missing; at most 255 octets, as the next two
	SystemName        string
	SystemDescription string
	Capabilities      *Capabilities // nil where they are missing
	Management        []ManagementAddress
	Organization      []Organization
	Reserved          []TLV // of types that are reserved today
}

// An MSAP names the sender: a port of a chassis.
type MSAP struct{ Chassis, Port ID }

// MSAP returns who sent the PDU.
func (p *PDU) MSAP() MSAP { return MSAP{p.Chassis, p.Port} }

// Name returns the name of the sender: its system name, else its chassis ID.
func (p *PDU) Name() string {
	if p.SystemName != "" {
		return Printable(p.SystemName)
	}
	return p.ChassisText()
}

// ChassisText returns the chassis ID as people write it.
func (p *PDU) ChassisText() string { return p.Chassis.text(ChassisMAC, ChassisNetwork) }

// PortText returns the port ID as people write it.
func (p *PDU) PortText() string { return p.Port.text(PortMAC, PortNetwork) }

// AppendPDU appends p in wire form: chassis ID, port ID and TTL first, in this order, and the end last. A PDU with TTL
// 0 has nothing else (a shutdown LLDPDU).
func AppendPDU(b []byte, p *PDU) []byte {
	b = AppendTLV(b, p.Chassis.tlv(TypeChassisID))
	b = AppendTLV(b, p.Port.tlv(TypePortID))
	b = AppendTLV(b, TLV{TypeTTL, binary.BigEndian.AppendUint16(nil, p.TTL)})
	if p.TTL != 0 {
		b = p.appendOptional(b)
	}
	return AppendTLV(b, TLV{Type: TypeEnd})
}

func (p *PDU) appendOptional(b []byte) []byte {
	for i, text := range []string{p.PortDescription, p.SystemName, p.SystemDescription} {
		if text != "" {
			b = AppendTLV(b, TLV{TypePortDescription + Type(i), []byte(text[:min(len(text), maxText)])})
		}
	}
	if p.Capabilities != nil {
		b = AppendTLV(b, p.Capabilities.tlv())
	}
	for _, m := range p.Management {
		b = AppendTLV(b, m.tlv())
	}
	for _, o := range p.Organization {
		b = AppendTLV(b, o.TLV())
	}
	for _, t := range p.Reserved {
		b = AppendTLV(b, t)
	}
	return b
}
