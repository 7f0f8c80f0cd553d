package dcbx

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/lldp"
)

// These tests know what was told, and that it is what is read; that what is read makes the same octets again follows
// from comparing both. The layouts themselves stand in codec_test.go.

func octets(t *rapid.T, name string, n int) []byte {
	return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, name)
}

// drawETS draws any ETS configuration, or any recommendation, whose first octet is reserved.
func drawETS(t *rapid.T, subtype uint8) *ETS {
	e := &ETS{Bandwidth: [8]uint8(octets(t, "bandwidth", 8)), Selection: [8]uint8(octets(t, "selection", 8))}
	for p := range e.Class {
		e.Class[p] = rapid.Uint8Max(15).Draw(t, "class")
	}
	if subtype == subtypeETS {
		e.Willing, e.CBS, e.MaxTCs = rapid.Bool().Draw(t, "willing"), rapid.Bool().Draw(t, "CBS"),
			rapid.Uint8Max(7).Draw(t, "classes")
	}
	return e
}

func drawPFC(t *rapid.T) *PFC {
	return &PFC{Willing: rapid.Bool().Draw(t, "willing"), MBC: rapid.Bool().Draw(t, "MBC"),
		Reserved: rapid.Byte().Draw(t, "reserved") & 0x30,
		Cap:      rapid.Uint8Max(15).Draw(t, "cap"), Enable: rapid.Byte().Draw(t, "enable")}
}

func drawApps(t *rapid.T, least, most int) (apps []App) {
	for range rapid.IntRange(least, most).Draw(t, "applications") {
		apps = append(apps,
			App{rapid.Uint8Max(7).Draw(t, "priority"), rapid.Uint8Max(7).Draw(t, "selector"),
				rapid.Uint16().Draw(t, "protocol")})
	}
	return apps
}

// drawIEEE draws an announcement in the IEEE version, with any TLV left out.
func drawIEEE(t *rapid.T) (x IEEE) {
	told := func(what string) bool { return rapid.Bool().Draw(t, what+" told") }
	if told("ETS") {
		x.ETS = drawETS(t, subtypeETS)
	}
	if told("recommendation") {
		x.Recommendation = drawETS(t, subtypeRecommendation)
	}
	if told("PFC") {
		x.PFC = drawPFC(t)
	}
	if told("applications") {
		x.Apps = drawApps(t, 1, maxApps)
	}
	return x
}

// tell returns the TLVs of x.
func (x *IEEE) tell() (list []lldp.Organization) {
	if x.ETS != nil {
		list = append(list, x.ETS.organization(subtypeETS))
	}
	if x.Recommendation != nil {
		list = append(list, x.Recommendation.organization(subtypeRecommendation))
	}
	if x.PFC != nil {
		list = append(list, x.PFC.organization())
	}
	if x.Apps != nil {
		list = append(list, organizationApps(x.Apps))
	}
	return list
}

func TestETSRoundTrip(t *testing.T) {
	for _, subtype := range []uint8{subtypeETS, subtypeRecommendation} {
		rapid.Check(t, func(t *rapid.T) {
			want := drawETS(t, subtype)
			o := want.organization(subtype)
			got, ok := parseETS(o.Info)
			if !ok || *got != *want || got.organization(subtype) != o || len(o.Info) != etsLength {
				t.Fatalf("subtype %d, %x: got %+v, %t\nwant %+v", subtype, o.Info, got, ok, want)
			}
		})
	}
}

func TestPFCRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawPFC(t)
		o := want.organization()
		got, ok := parsePFC(o.Info)
		if !ok || *got != *want || got.organization() != o || len(o.Info) != pfcLength {
			t.Fatalf("%x: got %+v, %t\nwant %+v", o.Info, got, ok, want)
		}
	})
}

func TestAppsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := drawApps(t, 0, maxApps+3)
		want := told[:min(len(told), maxApps)] // no more fit a TLV
		o := organizationApps(told)
		got, ok := parseApps(o.Info)
		if !ok || len(o.Info) > lldp.MaxInfo || organizationApps(got) != o ||
			len(want) > 0 && !reflect.DeepEqual(got, want) || len(got) != len(want) {
			t.Fatalf("%x: got %+v, %t\nwant %+v", o.Info, got, ok, want)
		}
	})
}

func TestControlRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawControl(t)
		tlv := want.tlv()
		if got, ok := parseControl(tlv.Value); !ok || *got != *want || tlv.Type != typeControl {
			t.Fatalf("%x: got %+v, %t\nwant %+v", tlv.Value, got, ok, want)
		}
	})
}

func drawControl(t *rapid.T) *Control {
	return &Control{rapid.Byte().Draw(t, "oper"), rapid.Byte().Draw(t, "max"), rapid.Uint32().Draw(t, "seq"),
		rapid.Uint32().Draw(t, "ack")}
}

// drawFeature draws any TLV of a feature, with data of a valid length.
func drawFeature(t *rapid.T, k Kind, v Version) *Feature {
	f := &Feature{Oper: rapid.Byte().Draw(t, "oper"), Max: rapid.Byte().Draw(t, "max"),
		Enable:  rapid.Bool().Draw(t, "enable"),
		Willing: rapid.Bool().Draw(t, "willing"), Error: rapid.Bool().Draw(t, "error"),
		Reserved: rapid.Byte().Draw(t, "reserved") & 0x1F,
		Subtype:  rapid.Byte().Draw(t, "subtype")}
	n := pfcDataLength(v)
	switch {
	case k == KindApplication:
		n = appLengthCEE * rapid.IntRange(0, 70).Draw(t, "applications")
	case k == KindGroups && v == VersionCIN:
		n = groupLengthCIN
	case k == KindGroups:
		n = groupLength
	}
	f.Data = string(octets(t, "data", n))
	return f
}

// drawLegacy draws an announcement in CEE or CIN, with any feature left out.
func drawLegacy(t *rapid.T, v Version) *Legacy {
	x := &Legacy{Version: v}
	if rapid.Bool().Draw(t, "control told") {
		x.Control = drawControl(t)
	}
	for k, typ := range v.types() {
		if typ != 0 && rapid.Bool().Draw(t, "told") {
			x.Features[k] = drawFeature(t, Kind(k), v)
		}
	}
	return x
}

func TestFeatureRoundTrip(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		for k, typ := range v.types() {
			if typ == 0 {
				continue
			}
			rapid.Check(t, func(t *rapid.T) {
				want := drawFeature(t, Kind(k), v)
				tlv := want.tlv(typ)
				got, ok := parseFeature(Kind(k), v, tlv.Value)
				if !ok || *got != *want || !reflect.DeepEqual(got.tlv(typ), tlv) {
					t.Fatalf("%v, %v: %x: got %+v, %t\nwant %+v", v, Kind(k), tlv.Value, got, ok, want)
				}
			})
		}
	}
}

// The shares of an end's queues are announced, read and announced again in the same octets, in every version.
func TestGroupsRoundTrip(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		rapid.Check(t, func(t *rapid.T) {
			want := drawQueues(t).groupsOf(v)
			if q, ok := parseGroupsOf(v, want); !ok || q.groupsOf(v) != want {
				t.Fatalf("%v: told %x, read %v, %t, told again %x", v, want, q, ok, q.groupsOf(v))
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		want := drawQueues(t).ets(rapid.Bool().Draw(t, "willing"))
		if q, ok := want.Queues(); !ok || q.ets(want.Willing) != want {
			t.Fatalf("told %+v, read %v, %t, told again %+v", want, q, ok, q.ets(want.Willing))
		}
	})
}

func TestLegacyRoundTrip(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		rapid.Check(t, func(t *rapid.T) {
			want := drawLegacy(t, v)
			o := want.organization()
			got := ParseLegacy([]lldp.Organization{o}, v)
			if !reflect.DeepEqual(got, want) || got.organization() != o {
				t.Fatalf("%x: got %+v\nwant %+v", o.Info, got, want)
			}
		})
	}
}

// A whole frame with all three versions is read through the Ethernet header, the LLDPDU and its TLVs. It is the same
// when it is written again.
func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := [6]byte(octets(t, "source", 6))
		ieee, cee, cin := drawIEEE(t), drawLegacy(t, VersionCEE), drawLegacy(t, VersionCIN)
		p := agent(end(1, 8)).Local
		p.TTL = rapid.Uint16Min(1).Draw(t, "TTL")
		p.Organization = append(ieee.tell(), cee.organization(), cin.organization())
		want := lldp.AppendFrame(nil, source, &p)

		from, b, err := lldp.ParseFrame(want)
		if len(want) > maxFrame {
			if err == nil {
				t.Fatalf("a frame of %d octets is taken", len(want))
			}
			return
		}
		if err != nil || from != source {
			t.Fatalf("%x: from %x, %v", want, from, err)
		}
		read, discarded, err := lldp.ParsePDU(b)
		if err != nil || discarded != (lldp.Discarded{}) || !reflect.DeepEqual(read, p) {
			t.Fatalf("got %+v, %+v, %v\nwant %+v", read, discarded, err, p)
		}
		gotIEEE, gotCEE, gotCIN := ParseIEEE(read.Organization), ParseLegacy(read.Organization, VersionCEE),
			ParseLegacy(read.Organization, VersionCIN)
		if gotIEEE == nil {
			gotIEEE = &IEEE{}
		}
		if !reflect.DeepEqual(*gotIEEE, ieee) || !reflect.DeepEqual(gotCEE, cee) || !reflect.DeepEqual(gotCIN, cin) {
			t.Fatalf("got %+v, %+v, %+v\nwant %+v, %+v, %+v", gotIEEE, gotCEE, gotCIN, ieee, cee, cin)
		}
		read.Organization = append(gotIEEE.tell(), gotCEE.organization(), gotCIN.organization())
		if again := lldp.AppendFrame(nil, from, &read); !bytes.Equal(again, want) {
			t.Fatalf("made again\n got %x\nwant %x", again, want)
		}
	})
}

// maxFrame is the longest frame of Ethernet, in octets without FCS.
const maxFrame = 1514
