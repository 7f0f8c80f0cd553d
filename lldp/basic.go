package lldp

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
)

// Subtypes of chassis and port IDs (IEEE 802.1AB tables 8-2 and 8-3).
const (
	ChassisMAC     = 4
	ChassisNetwork = 5
	ChassisLocal   = 7

	PortMAC     = 3
	PortNetwork = 4
	PortIfName  = 5
	PortLocal   = 7
)

// An ID names a chassis, or a port of one.
type ID struct {
	Subtype uint8
	Value   string // 1 to 255 octets
}

// MaxID is the longest value of an ID, in octets.
const MaxID = 255

// text returns an ID as people write it; mac and network are the subtypes of its kind of ID.
func (id ID) text(mac, network uint8) string {
	switch {
	case id.Subtype == mac && len(id.Value) == 6:
		return net.HardwareAddr(id.Value).String()
	case id.Subtype == network && len(id.Value) > 1:
		if a, ok := netip.AddrFromSlice([]byte(id.Value[1:])); ok {
			return a.String()
		}
	}
	return Printable(id.Value)
}

// Printable returns s where it is printable ASCII, else its octets in hexadecimal.
func Printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return hex.EncodeToString([]byte(s))
		}
	}
	return s
}

// parseID reads
//
//	1 octet:        subtype
//	1 to 255 octets: ID
func parseID(value []byte) (id ID, ok bool) {
	if len(value) < 2 || len(value) > 1+MaxID {
		return id, false
	}
	return ID{value[0], string(value[1:])}, true
}

func (id ID) tlv(t Type) TLV {
	return TLV{t, append([]byte{id.Subtype}, id.Value[:min(len(id.Value), MaxID)]...)}
}

// Capabilities say what a system supports and has enabled, bit n = bit n of IEEE 802.1AB table 8-4.
type Capabilities struct{ Supported, Enabled uint16 }

// CapabilityBridge is the bit of a bridge.
const CapabilityBridge uint16 = 1 << 2

var capabilityNames = []string{"other", "repeater", "bridge", "wlan", "router", "telephone", "docsis", "station",
	"c-vlan", "s-vlan", "tpmr"}

// CapabilityNames lists the bits that are set, without reserved bits.
func CapabilityNames(bits uint16) []string {
	names := []string{}
	for i, name := range capabilityNames {
		if bits>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return names
}

// parseCapabilities reads
//
//	2 octets: supported
//	2 octets: enabled
func parseCapabilities(value []byte) (c *Capabilities, ok bool) {
	if len(value) != 4 {
		return nil, false
	}
	return &Capabilities{binary.BigEndian.Uint16(value), binary.BigEndian.Uint16(value[2:])}, true
}

func (c Capabilities) tlv() TLV {
	value := binary.BigEndian.AppendUint16(nil, c.Supported)
	return TLV{TypeCapabilities, binary.BigEndian.AppendUint16(value, c.Enabled)}
}

// Families of management addresses (IANA address family numbers), and how interfaces are numbered.
const (
	FamilyIPv4 = 1
	FamilyIPv6 = 2
	FamilyMAC  = 6

	NumberUnknown = 1
	NumberIfIndex = 2
)

// A ManagementAddress is where a system can be reached.
type ManagementAddress struct {
	Family    uint8
	Address   string // 1 to 31 octets
	Numbering uint8  // what Interface counts
	Interface uint32
	OID       string // at most 128 octets, as ASN.1 encodes them
}

// Bounds of a ManagementAddress, in octets.
const (
	maxManagement = 31
	maxOID        = 128
)

// String returns the address as people write it.
func (m ManagementAddress) String() string {
	switch a, ok := netip.AddrFromSlice([]byte(m.Address)); {
	case ok && (m.Family == FamilyIPv4 && a.Is4() || m.Family == FamilyIPv6 && a.Is6()):
		return a.String()
	case m.Family == FamilyMAC && len(m.Address) == 6:
		return net.HardwareAddr(m.Address).String()
	}
	return hex.EncodeToString([]byte(m.Address))
}

// parseManagement reads
//
//	1 octet:         length of what follows it, 2 to 32
//	1 octet:         address family
//	1 to 31 octets:  address
//	1 octet:         interface numbering
//	4 octets:        interface number
//	1 octet:         length of the object identifier, 0 to 128
//	0 to 128 octets: object identifier
func parseManagement(value []byte) (m ManagementAddress, ok bool) {
	if len(value) == 0 {
		return m, false
	}
	n, rest := int(value[0]), value[1:]
	if n < 2 || n > 1+maxManagement || len(rest) < n+6 {
		return m, false
	}
	m.Family, m.Address = rest[0], string(rest[1:n])
	rest = rest[n:]
	m.Numbering, m.Interface = rest[0], binary.BigEndian.Uint32(rest[1:])
	oid := int(rest[5])
	if oid > maxOID || len(rest[6:]) < oid {
		return m, false
	}
	m.OID = string(rest[6 : 6+oid])
	return m, true
}

func (m ManagementAddress) tlv() TLV {
	address, oid := m.Address[:min(len(m.Address), maxManagement)], m.OID[:min(len(m.OID), maxOID)]
	value := append([]byte{byte(1 + len(address)), m.Family}, address...)
	value = binary.BigEndian.AppendUint32(append(value, m.Numbering), m.Interface)
	return TLV{TypeManagementAddress, append(append(value, byte(len(oid))), oid...)}
}

// maxText is the longest port description, system name and system description, in octets.
const maxText = 255
