package dcbx

import (
	"encoding/binary"

	"pfcswitch/lldp"
)

// ouiIntel marks the one TLV of CEE or CIN, which contains TLVs with the same header.
var ouiIntel = lldp.OUI{0x00, 0x1B, 0x21}

// A Control is the control TLV of CEE and CIN.
type Control struct {
	Oper, Max uint8 // versions of the protocol; 0 is the only one
	Seq, Ack  uint32
}

const (
	typeControl   lldp.Type = 1
	controlLength int       = 10
)

// tlv returns c as a TLV.
//
//	1 octet:  operating version
//	1 octet:  maximum version
//	4 octets: sequence number of the announcement
//	4 octets: sequence number of the peer that is acknowledged
func (c Control) tlv() lldp.TLV {
	b := binary.BigEndian.AppendUint32([]byte{c.Oper, c.Max}, c.Seq)
	return lldp.TLV{Type: typeControl, Value: binary.BigEndian.AppendUint32(b, c.Ack)}
}

func parseControl(b []byte) (c *Control, ok bool) {
	if len(b) != controlLength {
		return nil, false
	}
	return &Control{b[0], b[1], binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint32(b[6:])}, true
}

// A Kind is a feature of CEE and CIN.
type Kind uint8

// The features.
const (
	KindGroups Kind = iota // priority groups: what ETS is today
	KindPFC
	KindApplication
	NumKinds
)

var kindNames = [NumKinds]string{"priority groups", "PFC", "applications"}

// String returns the name of the feature.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "?"
}

// types are the TLV types of the features in each version, 0 where a feature is left out: CIN knows no applications but
// FCoE, which has no use here.
func (v Version) types() [NumKinds]lldp.Type {
	if v == VersionCIN {
		return [NumKinds]lldp.Type{KindGroups: 2, KindPFC: 3}
	}
	return [NumKinds]lldp.Type{2, 3, 4}
}

// order is that of the features in the TLV. Wireshark reads CIN with the layout of CEE, whose PFC is an octet longer
// and whose groups are shorter. With PFC first it still finds the map of CIN's PFC.
func (v Version) order() [NumKinds]Kind {
	if v == VersionCIN {
		return [NumKinds]Kind{KindPFC, KindGroups, KindApplication}
	}
	return [NumKinds]Kind{KindGroups, KindPFC, KindApplication}
}

// A Feature is the TLV of a feature.
type Feature struct {
	Oper, Max uint8 // versions of the feature; 0 is the only one
	Enable    bool
	Willing   bool
	Error     bool  // the two ends are not compatible
	Reserved  uint8 // bits of mask 0x1F; with PFC, 0x10 says that headroom can be measured automatically
	Subtype   uint8
	Data      string // in the form of the feature and the version
}

const (
	featureHeader   = 4
	flagEnable      = 0x80
	flagWillingOld  = 0x40
	flagError       = 0x20
	reservedFeature = 0x1F
)

// tlv returns f as a TLV.
//
//	1 octet:  operating version
//	1 octet:  maximum version
//	1 octet:  enable, willing, error, 5 reserved bits
//	1 octet:  subtype
//	n octets: data
func (f Feature) tlv(t lldp.Type) lldp.TLV {
	flags := flag(f.Enable, flagEnable) | flag(f.Willing, flagWillingOld) | flag(f.Error, flagError) |
		f.Reserved&reservedFeature
	return lldp.TLV{Type: t, Value: append([]byte{f.Oper, f.Max, flags, f.Subtype}, f.Data...)}
}

func parseFeature(k Kind, v Version, b []byte) (f *Feature, ok bool) {
	if len(b) < featureHeader || !dataFits(k, v, len(b)-featureHeader) {
		return nil, false
	}
	return &Feature{Oper: b[0], Max: b[1], Enable: b[2]&flagEnable != 0, Willing: b[2]&flagWillingOld != 0,
		Error: b[2]&flagError != 0, Reserved: b[2] & reservedFeature, Subtype: b[3],
		Data: string(b[featureHeader:])}, true
}

// dataFits reports whether a feature can have n octets of data.
func dataFits(k Kind, v Version, n int) bool {
	switch k {
	case KindGroups:
		return n == groupLength && v != VersionCIN || n == groupLengthCIN && v == VersionCIN
	case KindPFC:
		return n == pfcDataLength(v)
	}
	return n%appLengthCEE == 0
}

// pfcDataLength returns the length of the data of PFC. CEE adds the number of traffic classes to the map.
//
//	1 octet: map, bit n = priority n
//	1 octet: traffic classes that can have PFC at a time (CEE)
func pfcDataLength(v Version) int {
	if v == VersionCIN {
		return 1
	}
	return 2
}

func pfcData(v Version, enable uint8) string { return string([]byte{enable, 8}[:pfcDataLength(v)]) }

const appLengthCEE = 6

// appData returns the data of the application feature of CEE. Applications without a selector in CEE are left out.
//
//	2 octets: protocol
//	6 bits:   the first 6 bits of the OUI
//	2 bits:   selector: 0 EtherType, 1 port of TCP or UDP
//	2 octets: the other octets of the OUI
//	1 octet:  map, bit n = priority n
func appData(apps []App) string {
	var b []byte
	for _, a := range apps {
		selector := uint8(1)
		switch a.Selector {
		case SelectEtherType:
			selector = 0
		case SelectDSCP:
			continue
		}
		b = binary.BigEndian.AppendUint16(b, a.Protocol)
		b = append(b, ouiIntel[0]&0xFC|selector, ouiIntel[1], ouiIntel[2], 1<<(a.Priority&7))
	}
	return string(b)
}

// A Legacy is the contents of the TLV of CEE or CIN.
type Legacy struct {
	Version   Version
	Control   *Control // nil where it is missing, malformed or stands twice
	Features  [NumKinds]*Feature
	Duplicate [NumKinds]bool // features that stand twice
}

// ParseLegacy reads the TLV of version v among list. The result is nil where there is none, and empty where there are
// two.
func ParseLegacy(list []lldp.Organization, v Version) *Legacy {
	var x *Legacy
	for _, o := range list {
		if o.OUI != ouiIntel || o.Subtype != v.subtype() {
			continue
		}
		if x != nil {
			return &Legacy{Version: v}
		}
		x = &Legacy{Version: v}
		x.parse([]byte(o.Info))
	}
	return x
}

func (x *Legacy) parse(b []byte) {
	controls := 0
	for len(b) > 0 {
		t, rest, err := lldp.NextTLV(b)
		if err != nil {
			*x = Legacy{Version: x.Version}
			return
		}
		b = rest
		if t.Type == typeControl {
			controls++
			x.Control, _ = parseControl(t.Value)
			continue
		}
		for k, typ := range x.Version.types() {
			if t.Type == typ {
				x.parseFeature(Kind(k), t.Value)
			}
		}
	}
	if controls > 1 {
		x.Control = nil
	}
}

func (x *Legacy) parseFeature(k Kind, b []byte) {
	f, ok := parseFeature(k, x.Version, b)
	switch {
	case !ok:
	case x.Features[k] != nil:
		x.Duplicate[k] = true
	default:
		x.Features[k] = f
	}
}

// organization returns x as a TLV.
func (x *Legacy) organization() lldp.Organization {
	var b []byte
	if x.Control != nil {
		b = lldp.AppendTLV(b, x.Control.tlv())
	}
	for _, k := range x.Version.order() {
		if f := x.Features[k]; f != nil {
			b = lldp.AppendTLV(b, f.tlv(x.Version.types()[k]))
		}
	}
	return lldp.Organization{OUI: ouiIntel, Subtype: x.Version.subtype(), Info: string(b)}
}
