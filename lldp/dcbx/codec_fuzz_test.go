package dcbx

import (
	"reflect"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

// TLVs of the IEEE version are the same after they were written and read again, or they are malformed. A duplicate
// counts as missing.
func FuzzParseIEEE(f *testing.F) {
	ets := weights.ets(true)
	for _, o := range []lldp.Organization{ets.organization(subtypeETS), ets.organization(subtypeRecommendation),
		PFC{Willing: true, Reserved: 0x20, Cap: 8, Enable: 8}.organization(),
		organizationApps([]App{{3, SelectUDP, RoCEv2Port}, {3, SelectEtherType, 0x8906}})} {
		f.Add(o.Subtype, []byte(o.Info))
		f.Add(o.Subtype, []byte(o.Info)[:len(o.Info)-1])
	}
	f.Add(uint8(subtypeApplication), []byte{0})
	f.Fuzz(func(t *testing.T, subtype uint8, info []byte) {
		o := lldp.Organization{OUI: ouiIEEE, Subtype: subtype, Info: string(info[:min(len(info), lldp.MaxInfo)])}
		x := ParseIEEE([]lldp.Organization{o})
		assert.MustEqual(t, subtype >= subtypeETS && subtype <= subtypeApplication, x != nil, "subtype %d: %+v",
			subtype, x)
		if x == nil {
			return
		}
		n, list := len(o.Info), x.tlvs()
		sound := n == etsLength && subtype <= subtypeRecommendation || n == pfcLength && subtype == subtypePFC ||
			n > 1 && n%appLength == 1 && subtype == subtypeApplication // n is 1 without an application
		assert.MustBeTrue(t, (len(list) == 1) == sound && len(list) <= 1, "%x says %+v", o.Info, x)
		if r := x.Recommendation; r != nil {
			r.Willing = false // reserved there, never written
		}
		assert.True(t, len(list) == 0 || reflect.DeepEqual(ParseIEEE(list), x), "read again: got %+v\nwant %+v",
			ParseIEEE(list), x)
		both := ParseIEEE([]lldp.Organization{o, o})
		assert.True(t, len(both.tlvs()) == 0 && both.DuplicatePFC == (subtype == subtypePFC),
			"announced twice: %+v", both)
	})
}

// The TLV of an older version is the same after it was written and read again. A second one makes it void.
func FuzzParseLegacy(f *testing.F) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		x := Legacy{Version: v, Control: &Control{Seq: 1, Ack: 2}}
		x.Features[KindPFC] = &Feature{Enable: true, Reserved: 0x10, Data: pfcData(v, 8)}
		x.Features[KindGroups] = &Feature{Enable: true, Willing: true, Data: weights.groupsOf(v)}
		if v == VersionCEE {
			x.Features[KindApplication] = &Feature{Enable: true, Error: true,
				Data: appData([]App{{3, SelectUDP, RoCEv2Port}})}
		}
		info := []byte(x.organization().Info)
		f.Add(v == VersionCIN, info)
		f.Add(v == VersionCIN, append(info, info[:12]...))
		f.Add(v == VersionCIN, info[:len(info)-1])
	}
	f.Fuzz(func(t *testing.T, cin bool, info []byte) {
		v := VersionCEE
		if cin {
			v = VersionCIN
		}
		o := lldp.Organization{OUI: ouiIntel, Subtype: v.subtype(), Info: string(info[:min(len(info), lldp.MaxInfo)])}
		x := ParseLegacy([]lldp.Organization{o}, v)
		again := ParseLegacy([]lldp.Organization{x.organization()}, v)
		want := &Legacy{Version: v, Control: x.Control, Features: x.Features} // what was wrong is not written
		assert.True(t, reflect.DeepEqual(again, want), "read again: got %+v\nwant %+v", again, want)
		both := ParseLegacy([]lldp.Organization{o, o}, v)
		assert.True(t, reflect.DeepEqual(both, &Legacy{Version: v}), "announced twice: %+v", both)
	})
}

// Shares of a peer make queues that are strict or have a weight, whose announced shares add up to 100; or they are
// refused.
func FuzzGroups(f *testing.F) {
	ets := weights.ets(false)
	f.Add([]byte(weights.groupsOf(VersionCEE)))
	f.Add([]byte(weights.groupsOf(VersionCIN)))
	f.Add([]byte(ets.organization(subtypeETS).Info))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range []Version{VersionIEEE, VersionCEE, VersionCIN} {
			q, ok := Queues{}, false
			if v != VersionIEEE {
				q, ok = parseGroupsOf(v, string(b))
			} else if e, whole := parseETS(string(b)); whole {
				q, ok = e.Queues()
			}
			if !ok {
				continue
			}
			sum, weighted := 0, false
			for p, share := range q.percents() {
				assert.MustBeTrue(t, q[p].Strict != (q[p].Weight > 0), "%v: %x asks for %+v", v, b, q)
				sum, weighted = sum+int(share), weighted || !q[p].Strict
			}
			assert.True(t, !weighted || sum == 100, "%v: %x: the shares of %+v are %d in all", v, b, q, sum)
		}
	})
}
