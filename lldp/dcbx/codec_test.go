package dcbx

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

func ieeeTLV(t testing.TB, subtype uint8, info string) lldp.Organization {
	return lldp.Organization{OUI: ouiIEEE, Subtype: subtype, Info: unhex(t, info)}
}

func TestIEEETLVs(t *testing.T) {
	ets := weights.ets(true)
	for _, tt := range []struct {
		name string
		got  lldp.Organization
		want lldp.Organization
	}{
		{"PFC with the measurement bit", PFC{Reserved: 0x20, Cap: 8, Enable: 0x08}.organization(),
			ieeeTLV(t, 11, "28 08")},
		{"PFC with all bits", PFC{Willing: true, Reserved: 0xFF, Cap: 8, Enable: 0x81}.organization(),
			ieeeTLV(t, 11, "b8 81")},
		{"ETS configuration", ets.organization(subtypeETS),
			ieeeTLV(t, 9, "80 01234567 3001013001010001 0202020202020002")},
		{"ETS recommendation", ets.organization(subtypeRecommendation),
			ieeeTLV(t, 10, "00 01234567 3001013001010001 0202020202020002")},
		{"RoCEv2", organizationApps([]App{{3, SelectUDP, RoCEv2Port}}), ieeeTLV(t, 12, "00 63 12b7")},
	} {
		if tt.name[:3] == "ETS" { // the shares are a matter of their own
			tt.want.Info = tt.want.Info[:5] + string(ets.Bandwidth[:]) + tt.want.Info[13:]
		}
		assert.True(t, tt.got == tt.want, "%s: got %x, want %x", tt.name, tt.got.Info, tt.want.Info)
	}
}

func TestParseIEEE(t *testing.T) {
	pfc, pfc2 := ieeeTLV(t, 11, "e8 18"), ieeeTLV(t, 11, "08 10")
	tests := []struct {
		name string
		list []lldp.Organization
		want *IEEE
	}{
		{"none", []lldp.Organization{{OUI: ouiIEEE, Subtype: 1, Info: "ab"}, {OUI: ouiIntel, Subtype: 11, Info: "ab"}},
			nil},
		{"PFC", []lldp.Organization{pfc}, &IEEE{PFC: &PFC{Willing: true, Reserved: 0x20, Cap: 8, Enable: 0x18}}},
		{"PFC twice is none", []lldp.Organization{pfc, pfc2}, &IEEE{DuplicatePFC: true}},
		{"PFC of three octets", []lldp.Organization{ieeeTLV(t, 11, "28 08 00")}, &IEEE{}},
		{"applications", []lldp.Organization{ieeeTLV(t, 12, "00 63 12b7 61 8906")},
			&IEEE{Apps: []App{{3, 3, 4791}, {3, 1, 0x8906}}}},
	}
	for _, tt := range tests {
		got := ParseIEEE(tt.list)
		assert.True(t, reflect.DeepEqual(got, tt.want), "%s: got %+v, want %+v", tt.name, got, tt.want)
	}
}

// The layouts of Intel's two versions, as tshark and lldpad read them.
func TestLegacyTLVs(t *testing.T) {
	cee := Legacy{Version: VersionCEE, Control: &Control{Seq: 1, Ack: 2}}
	cee.Features[KindPFC] = &Feature{Enable: true, Willing: true, Reserved: 0x10, Data: pfcData(VersionCEE, 0x08)}
	cee.Features[KindApplication] = &Feature{Enable: true, Error: true,
		Data: appData([]App{{3, SelectUDP, RoCEv2Port}, {3, SelectEtherType, 0x8906}, {3, SelectDSCP, 26}})}
	cee.Features[KindGroups] = &Feature{Enable: true, Data: weights.groupData()}
	want := "020a 0000 00000001 00000002" + "0411 0000 80 00 012345f7"
	got := cee.organization()
	assert.True(t, got.OUI == ouiIntel && got.Subtype == 2, "CEE: %+v", got)
	b := unhex(t, want)
	assert.True(t, got.Info[:len(b)] == b, "CEE: got %x, want %x", got.Info, b)
	tail := unhex(t, "08"+"0606 0000 d0 00 08 08"+"0810 0000 a0 00 12b7 01 1b21 08 8906 00 1b21 08")
	at := len(got.Info) - len(tail)
	assert.True(t, got.Info[at:] == tail, "CEE: got %x, want %x", got.Info[at:], tail)
	cin := Legacy{Version: VersionCIN, Control: &Control{Seq: 1}}
	cin.Features[KindPFC] = &Feature{Enable: true, Reserved: 0x10, Data: pfcData(VersionCIN, 0x18)}
	cin.Features[KindGroups] = &Feature{Enable: true, Data: weights.groupsOf(VersionCIN)}
	const groups = "041c 0000 80 00 30 01 01 2f 01 01 00 01  0064 2064 4064 6064 8064 a064 d000 e064"
	got, want = cin.organization(), unhex(t,
		"020a 0000 00000001 00000000 0605 0000 90 00 18"+groups)
	assert.True(t, got.Subtype == 1 && got.Info == want, "CIN: got %x, want %x", got.Info, want)
}

func TestParseLegacy(t *testing.T) {
	const control = "020a 0000 00000001 00000002"
	const pfc = "0606 0000 90 00 08 08"
	parse := func(info ...string) *Legacy {
		var list []lldp.Organization
		for _, i := range info {
			list = append(list, lldp.Organization{OUI: ouiIntel, Subtype: 2, Info: unhex(t, i)})
		}
		return ParseLegacy(list, VersionCEE)
	}
	x := parse()
	assert.True(t, x == nil, "nothing: %+v", x)
	x = parse(control + pfc)
	assert.True(t, x.Control != nil && *x.Control == (Control{0, 0, 1, 2}) &&
		reflect.DeepEqual(x.Features[KindPFC], &Feature{Enable: true, Reserved: 0x10, Data: "\x08\x08"}), "PFC: %+v", x)
	for name, tt := range map[string]struct {
		info             []string
		control, feature bool
		twice            bool
	}{
		"control twice":      {[]string{control + control + pfc}, false, true, false},
		"no control":         {[]string{pfc}, false, true, false},
		"PFC twice":          {[]string{control + pfc + pfc}, true, true, true},
		"PFC of CIN":         {[]string{control + "0605 0000 90 00 08"}, true, false, false},
		"a header only":      {[]string{control + "0602 0000"}, true, false, false},
		"a short control":    {[]string{"0209 0000 00000001 000000" + pfc}, false, true, false},
		"beyond the end":     {[]string{control + pfc + "0606 0000"}, false, false, false},
		"an unknown feature": {[]string{control + "0c05 0000 80 00 01" + pfc}, true, true, false},
		"two of it":          {[]string{control + pfc, control + pfc}, false, false, false},
	} {
		x := parse(tt.info...)
		assert.True(t, (x.Control != nil) == tt.control && (x.Features[KindPFC] != nil) == tt.feature &&
			x.Duplicate[KindPFC] == tt.twice, "%s: got %+v", name, x)
	}
}

func drawQueues(t *rapid.T) (q Queues) {
	for p := range q {
		q[p] = Queue{Strict: rapid.Bool().Draw(t, "strict"), Weight: rapid.IntRange(1, 1000).Draw(t, "weight")}
	}
	return q
}

// Shares add up to 100, are within one percent of the weights, and mean the same at the other end.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawQueues(t)
		shares, sum, weights := q.percents(), 0, 0
		for p, queue := range q {
			if !queue.Strict {
				weights += queue.Weight
			}
			sum += int(shares[p])
		}
		assert.MustBeTrue(t, (weights <= 0 || sum == 100) && (weights != 0 || sum == 0),
			"%v: %v is %d in all", q, shares, sum)
		e := q.ets(false)
		fromETS, ok := e.Queues()
		fromCEE, ok2 := parseGroups(q.groupData())
		fromCIN, ok3 := parseGroupsCIN(q.groupDataCIN())
		assert.MustBeTrue(t, ok && ok2 && ok3 && fromETS == fromCEE && fromETS == fromCIN,
			"%v: %t %v, %t %v, %t %v", q, ok, fromETS, ok2, fromCEE, ok3, fromCIN)
		for p, queue := range q {
			exact := 100 * float64(queue.Weight) / float64(max(1, weights))
			assert.MustBeTrue(t, fromETS[p].Strict == queue.Strict, "%v: queue %d is %+v", q, p, fromETS[p])
			d := float64(shares[p]) - exact
			assert.MustBeTrue(t, queue.Strict || (d <= 1 && d >= -1), "%v: %d %% for %.2f %%", q, shares[p], exact)
		}
	})
}

func TestSharesOfClasses(t *testing.T) {
	e := ETS{Class: [8]uint8{0, 0, 0, 1, 1, 2, 2, 2}, Bandwidth: [8]uint8{60, 40}, Selection: [8]uint8{2, 2, 0}}
	q, ok := e.Queues()
	want := Queues{{false, 20 * 840}, {false, 20 * 840}, {false, 20 * 840}, {false, 20 * 840}, {false, 20 * 840},
		{Strict: true}, {Strict: true}, {Strict: true}}
	assert.True(t, ok && q == want, "got %v, %t", q, ok)
	e.Bandwidth[0] = 61
	_, ok = e.Queues()
	assert.True(t, !ok, "101 percent are taken")
	e.Bandwidth[0], e.Class[7] = 60, 9
	_, ok = e.Queues()
	assert.True(t, !ok, "class 9 is taken")
}

// CIN has groups with several priorities, with a strict one in its group, and contradictory ones.
func TestGroupsOfCIN(t *testing.T) {
	const good = "3c 28 00 00 00 00 00 00  001e 0846 2064 1000 1000 1000 1000 1000"
	want := Queues{{false, 60 * 840 * 30 / 100}, {false, 60 * 840 * 70 / 100}, {false, 40 * 840}, {true, 0}, {true, 0},
		{true, 0}, {true, 0}, {true, 0}}
	q, ok := parseGroupsCIN(unhex(t, good))
	assert.True(t, ok && q == want, "got %v, %t, want %v", q, ok, want)
	for name, text := range map[string]string{
		"101 percent of the link":  "3d" + good[2:],
		"101 percent of a group":   good[:25] + " 001f" + good[30:],
		"an octet short":           good[:len(good)-2],
		"the layout of CEE":        "01234567 00 00 00 00 00 00 00 00 08",
		"nothing":                  "",
		"a group of none that has": "00 00 00 00 00 00 00 64  0064 1000 1000 1000 1000 1000 1000 1000" + "00",
	} {
		q, ok := parseGroupsCIN(unhex(t, text))
		assert.True(t, !ok, "%s: got %v", name, q)
	}
}

// A TLV of any other length is malformed.
func TestLengths(t *testing.T) {
	feature := func(k Kind, v Version) func(string) bool {
		return func(s string) bool { _, ok := parseFeature(k, v, []byte(s)); return ok }
	}
	for name, tt := range map[string]struct {
		takes  func(s string) bool
		length func(n int) bool
	}{
		"ETS": {func(s string) bool { _, ok := parseETS(s); return ok }, func(n int) bool { return n == 1+4+8+8 }},
		"PFC": {func(s string) bool { _, ok := parsePFC(s); return ok }, func(n int) bool { return n == 2 }},
		"applications": {func(s string) bool { _, ok := parseApps(s); return ok },
			func(n int) bool { return n >= 1 && (n-1)%3 == 0 }},
		"control": {func(s string) bool { _, ok := parseControl([]byte(s)); return ok },
			func(n int) bool { return n == 2+4+4 }},

		"groups of CEE": {feature(KindGroups, VersionCEE), func(n int) bool { return n == 4+4+8+1 }},
		"groups of CIN": {feature(KindGroups, VersionCIN), func(n int) bool { return n == 4+8+16 }},
		"PFC of CEE":    {feature(KindPFC, VersionCEE), func(n int) bool { return n == 4+2 }},
		"PFC of CIN":    {feature(KindPFC, VersionCIN), func(n int) bool { return n == 4+1 }},
		"applications of CEE": {feature(KindApplication, VersionCEE),
			func(n int) bool { return n >= 4 && (n-4)%6 == 0 }},
	} {
		for n := range 512 {
			assert.Equal(t, tt.takes(string(make([]byte, n))), tt.length(n), "%s of %d octets: taken", name, n)
		}
	}
}
