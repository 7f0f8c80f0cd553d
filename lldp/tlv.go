package lldp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A Type is the type of a TLV (IEEE 802.1AB table 8-1).
type Type uint8

// The types. 9 to 126 are reserved.
const (
	TypeEnd Type = iota
	TypeChassisID
	TypePortID
	TypeTTL
	TypePortDescription
	TypeSystemName
	TypeSystemDescription
	TypeCapabilities
	TypeManagementAddress
	TypeOrganization Type = 127
)

// MaxValue is the longest value of a TLV, in octets.
const MaxValue = 511

const tlvHeader = 2

// A TLV is one element of an LLDPDU, or of another sequence with the same header.
type TLV struct {
	Type  Type
	Value []byte // at most MaxValue octets; in a parsed TLV it aliases the input
}

// ErrTLV is wrapped by errors about a sequence of TLVs that
//   - ends within a header, or
//   - has a TLV that is longer than what is left.
var ErrTLV = errors.New("lldp: TLV beyond the end")

// AppendTLV appends t in wire form. A longer value is cut at MaxValue.
//
//	7 bits: type
//	9 bits: length of the value
//	n octets: value
func AppendTLV(b []byte, t TLV) []byte {
	value := t.Value[:min(len(t.Value), MaxValue)]
	b = binary.BigEndian.AppendUint16(b, uint16(t.Type)<<9|uint16(len(value)))
	return append(b, value...)
}

// NextTLV reads the TLV that b begins with and returns what follows it.
func NextTLV(b []byte) (t TLV, rest []byte, err error) {
	if len(b) < tlvHeader {
		return t, nil, fmt.Errorf("%w: %d octets for a header", ErrTLV, len(b))
	}
	header := binary.BigEndian.Uint16(b)
	t.Type = Type(header >> 9)
	n, left := int(header&MaxValue), b[tlvHeader:]
	if n > len(left) {
		return t, nil, fmt.Errorf("%w: type %d has %d octets, and %d are left", ErrTLV, t.Type, n, len(left))
	}
	t.Value = left[:n:n]
	return t, left[n:], nil
}

// An OUI names the organization of organizationally specific TLVs.
type OUI [3]byte

// An Organization is an organizationally specific TLV (type 127).
type Organization struct {
	OUI     OUI
	Subtype uint8
	Info    string // at most MaxInfo octets, whatever they are
}

// MaxInfo is the longest Info, in octets.
const MaxInfo = MaxValue - organizationHeader

const organizationHeader = 4

// TLV returns o as a TLV.
//
//	3 octets: OUI
//	1 octet:  subtype
//	n octets: information
func (o Organization) TLV() TLV {
	value := append(append(make([]byte, 0, organizationHeader+len(o.Info)), o.OUI[:]...), o.Subtype)
	return TLV{TypeOrganization, append(value, o.Info...)}
}

func parseOrganization(value []byte) (o Organization, ok bool) {
	if len(value) < organizationHeader {
		return o, false
	}
	return Organization{OUI: OUI(value), Subtype: value[3], Info: string(value[organizationHeader:])}, true
}
