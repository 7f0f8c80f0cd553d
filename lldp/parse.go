package lldp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrPDU is wrapped by errors about an LLDPDU that is discarded as a whole (IEEE 802.1AB 9.2.8.7.1), because
//   - it does not begin with chassis ID, port ID and TTL, in this order,
//   - one of these has a length that it cannot have, or stands twice, or
//   - a TLV reaches beyond the end, or the end has a value.
var ErrPDU = errors.New("lldp: LLDPDU")

// Discarded counts the TLVs of an LLDPDU that were not taken.
type Discarded struct {
	Malformed int // impossible length, or a second TLV of a type that may stand once
	Reserved  int // of a reserved type; the PDU keeps them
}

// ParsePDU reads an LLDPDU. Padding may follow its end, and the end itself may be missing. Malformed optional TLVs are
// left out and counted; the rest of the LLDPDU holds.
func ParsePDU(b []byte) (p PDU, d Discarded, err error) {
	if b, err = p.parseMandatory(b); err != nil {
		return PDU{}, Discarded{}, err
	}
	seen := map[Type]bool{}
	for len(b) > 0 {
		var t TLV
		if t, b, err = NextTLV(b); err != nil {
			return PDU{}, Discarded{}, fmt.Errorf("%w: %w", ErrPDU, err)
		}
		switch {
		case t.Type == TypeEnd && len(t.Value) == 0:
			return p, d, nil
		case t.Type <= TypeTTL:
			return PDU{}, Discarded{},
				fmt.Errorf("%w: type %d of %d octets among the optional ones", ErrPDU, t.Type, len(t.Value))
		case single(t.Type) && seen[t.Type], !p.addTLV(t):
			d.Malformed++
		case t.Type > TypeManagementAddress && t.Type < TypeOrganization:
			d.Reserved++
		}
		seen[t.Type] = true
	}
	return p, d, nil
}

// parseMandatory reads the first three TLVs and returns what follows.
func (p *PDU) parseMandatory(b []byte) ([]byte, error) {
	for want := TypeChassisID; want <= TypeTTL; want++ {
		t, rest, err := NextTLV(b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPDU, err)
		}
		if t.Type != want {
			return nil, fmt.Errorf("%w: type %d where type %d belongs", ErrPDU, t.Type, want)
		}
		var ok bool
		switch want {
		case TypeChassisID:
			p.Chassis, ok = parseID(t.Value)
		case TypePortID:
			p.Port, ok = parseID(t.Value)
		default:
			if ok = len(t.Value) == 2; ok {
				p.TTL = binary.BigEndian.Uint16(t.Value)
			}
		}
		if !ok {
			return nil, fmt.Errorf("%w: type %d has %d octets", ErrPDU, want, len(t.Value))
		}
		b = rest
	}
	return b, nil
}

// single reports whether an LLDPDU may have only one TLV of the type.
func single(t Type) bool { return t >= TypePortDescription && t <= TypeCapabilities }

// addTLV adds an optional TLV. It returns false for a malformed one.
func (p *PDU) addTLV(t TLV) (ok bool) {
	switch t.Type {
	case TypePortDescription:
		return setText(&p.PortDescription, t.Value)
	case TypeSystemName:
		return setText(&p.SystemName, t.Value)
	case TypeSystemDescription:
		return setText(&p.SystemDescription, t.Value)
	case TypeCapabilities: // single: a malformed one leaves nil
		p.Capabilities, ok = parseCapabilities(t.Value)
		return ok
	case TypeManagementAddress:
		return appendParsed(&p.Management, parseManagement, t.Value)
	case TypeOrganization:
		return appendParsed(&p.Organization, parseOrganization, t.Value)
	}
	p.Reserved = append(p.Reserved, TLV{t.Type, slices.Clone(t.Value)})
	return true
}

func setText(text *string, value []byte) (ok bool) {
	if ok = len(value) <= maxText; ok {
		*text = string(value)
	}
	return ok
}

func appendParsed[T any](list *[]T, parse func([]byte) (T, bool), value []byte) bool {
	v, ok := parse(value)
	if ok {
		*list = append(*list, v)
	}
	return ok
}
