package dcbx

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

// These tests compare what is read with what was announced. The layouts stand in codec_test.go.

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
		e.Willing = rapid.Bool().Draw(t, "willing")
	}
	return e
}

func drawPFC(t *rapid.T) *PFC {
	return &PFC{Willing: rapid.Bool().Draw(t, "willing"),
		Reserved: rapid.Byte().Draw(t, "reserved") & 0x30,
		Cap:      rapid.Uint8Max(15).Draw(t, "cap"), Enable: rapid.Byte().Draw(t, "enable")}
}

func drawApps(t *rapid.T, least, most int) (apps []App) {
	for range rapid.IntRange(least, most).Draw(t, "applications") {
		apps = append(apps, App{rapid.Uint8Max(7).Draw(t, "priority"), rapid.Uint8Max(7).Draw(t, "selector"),
			rapid.Uint16().Draw(t, "protocol")})
	}
	return apps
}

// drawIEEE draws an announcement in the IEEE version, with any TLV left out.
func drawIEEE(t *rapid.T) (x IEEE) {
	present := func(what string) bool { return rapid.Bool().Draw(t, what+" present") }
	if present("ETS") {
		x.ETS = drawETS(t, subtypeETS)
	}
	if present("recommendation") {
		x.Recommendation = drawETS(t, subtypeRecommendation)
	}
	if present("PFC") {
		x.PFC = drawPFC(t)
	}
	if present("applications") {
		x.Apps = drawApps(t, 1, maxApps)
	}
	return x
}

// tlvs returns the TLVs of x.
func (x *IEEE) tlvs() (list []lldp.Organization) {
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

func TestIEEERoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawIEEE(t)
		list := want.tlvs()
		got := ParseIEEE(list)
		if len(list) == 0 {
			got = &IEEE{}
		}
		assert.MustBeTrue(t, reflect.DeepEqual(*got, want) && reflect.DeepEqual(got.tlvs(), list),
			"%x: got %+v\nwant %+v", list, got, want)
		for _, o := range list {
			n := len(o.Info)
			assert.MustBeTrue(t, n <= lldp.MaxInfo && (o.Subtype == subtypeApplication || n == etsLength ||
				n == pfcLength), "subtype %d has %d octets", o.Subtype, n)
		}
		apps := drawApps(t, maxApps, maxApps+3)
		if got, ok := parseApps(organizationApps(apps).Info); !ok || !slices.Equal(got, apps[:maxApps]) {
			t.Fatalf("got %d applications of %d, %t, want the first %d", len(got), len(apps), ok, maxApps)
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
	if rapid.Bool().Draw(t, "control announced") {
		x.Control = drawControl(t)
	}
	for k, typ := range v.types() {
		if typ != 0 && rapid.Bool().Draw(t, "announced") {
			x.Features[k] = drawFeature(t, Kind(k), v)
		}
	}
	return x
}

// The shares of an end's queues are announced, read and announced again in the same octets, in every version.
func TestGroupsRoundTrip(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		rapid.Check(t, func(t *rapid.T) {
			want := drawQueues(t).groupsOf(v)
			if q, ok := parseGroupsOf(v, want); !ok || q.groupsOf(v) != want {
				t.Fatalf("%v: announced %x, read %v, %t, announced again %x", v, want, q, ok, q.groupsOf(v))
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		want := drawQueues(t).ets(rapid.Bool().Draw(t, "willing"))
		if q, ok := want.Queues(); !ok || q.ets(want.Willing) != want {
			t.Fatalf("announced %+v, read %v, %t, announced again %+v", want, q, ok, q.ets(want.Willing))
		}
	})
}

func TestLegacyRoundTrip(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		rapid.Check(t, func(t *rapid.T) {
			want := drawLegacy(t, v)
			o := want.organization()
			got := ParseLegacy([]lldp.Organization{o}, v)
			assert.MustBeTrue(t, reflect.DeepEqual(got, want) && got.organization() == o,
				"%x: got %+v\nwant %+v", o.Info, got, want)
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
		p.Organization = append(ieee.tlvs(), cee.organization(), cin.organization())
		want := lldp.AppendFrame(nil, source, &p)

		from, b, err := lldp.ParseFrame(want)
		if len(want) > maxFrame {
			assert.MustBeTrue(t, err != nil, "a frame of %d octets is taken", len(want))
			return
		}
		assert.MustBeTrue(t, err == nil && from == source, "%x: from %x, %v", want, from, err)
		read, discarded, err := lldp.ParsePDU(b)
		assert.MustBeTrue(t, err == nil && discarded == (lldp.Discarded{}) && reflect.DeepEqual(read, p),
			"got %+v, %+v, %v\nwant %+v", read, discarded, err, p)
		gotIEEE, gotCEE, gotCIN := ParseIEEE(read.Organization), ParseLegacy(read.Organization, VersionCEE),
			ParseLegacy(read.Organization, VersionCIN)
		if gotIEEE == nil {
			gotIEEE = &IEEE{}
		}
		if !reflect.DeepEqual(*gotIEEE, ieee) || !reflect.DeepEqual(gotCEE, cee) || !reflect.DeepEqual(gotCIN, cin) {
			t.Fatalf("got %+v, %+v, %+v\nwant %+v, %+v, %+v", gotIEEE, gotCEE, gotCIN, ieee, cee, cin)
		}
		read.Organization = append(gotIEEE.tlvs(), gotCEE.organization(), gotCIN.organization())
		assert.MustBeSame(t, lldp.AppendFrame(nil, from, &read), want, "made again")
	})
}

// maxFrame is the longest frame of Ethernet, in octets without FCS.
const maxFrame = 1514
