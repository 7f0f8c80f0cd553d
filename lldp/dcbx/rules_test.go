package dcbx

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

// A peer is another end, of any make, with a fixed announcement.
type peer struct {
	// it follows; its port is without PFC; it says that the ends do not fit together (CEE, CIN)
	willing, noPFC, sees bool
	mask                 uint8
	silent, twice        bool // it announces no PFC; it announces PFC twice
	queues               *Queues
	configured           *Queues // its own queues, in the IEEE version
}

// tlvs returns its announcement in a version, to an end that has made one announcement so far.
func (p peer) tlvs(v Version) (list []lldp.Organization) {
	times := 1
	if p.silent {
		times = 0
	} else if p.twice {
		times = 2
	}
	if p.noPFC {
		p.mask = 0
	}
	if v == VersionIEEE {
		pfc := PFC{Willing: p.willing, Cap: 8, Enable: p.mask}
		for range times {
			list = append(list, pfc.organization())
		}
		for subtype, q := range map[uint8]*Queues{subtypeRecommendation: p.queues, subtypeETS: p.configured} {
			if q != nil {
				e := q.ets(p.willing)
				list = append(list, e.organization(subtype))
			}
		}
		if times == 0 {
			list = append(list, organizationApps(nil)) // it speaks DCBX all the same
		}
		return list
	}
	x := Legacy{Version: v, Control: &Control{Seq: 1, Ack: 1}}
	if p.queues != nil {
		x.Features[KindGroups] = &Feature{Enable: true, Willing: p.willing, Error: p.sees, Data: p.queues.groupsOf(v)}
	}
	o := x.organization()
	pfc := Feature{Enable: !p.noPFC, Willing: p.willing, Error: p.sees, Data: pfcData(v, p.mask)}
	for range times {
		o.Info += string(lldp.AppendTLV(nil, pfc.tlv(v.types()[KindPFC])))
	}
	return []lldp.Organization{o}
}

func withPeer(c Config, v Version, p peer) *Machine {
	c.Mode = Mode(v)
	m := NewMachine(c)
	m.Update(neighbour(p.tlvs(v)...), false, 0)
	return m
}

// TestWhichPrioritiesAreLossless tries all combinations of willing and enabled ends, in every version. The address of
// the peer ends in 9.
func TestWhichPrioritiesAreLossless(t *testing.T) {
	ieee, old, all := []Version{VersionIEEE}, []Version{VersionCEE, VersionCIN},
		[]Version{VersionIEEE, VersionCEE, VersionCIN}
	for _, tt := range []struct {
		name     string
		versions []Version
		own      Config
		peer     peer
		want     pfcDecision
	}{
		{"own rules", all, end(1, 0x18), peer{willing: true, mask: 0x30}, pfcDecision{0x18, ReasonOwn, false}},
		{"the peer's rules", all, end(1, 0x18, willing), peer{mask: 0x30}, pfcDecision{0x30, ReasonPeer, false}},
		{"both follow, the peer's address is higher", ieee, end(1, 0x18, willing), peer{willing: true, mask: 0x30},
			pfcDecision{0x30, ReasonTiePeer, false}},
		{"both follow, the own address is higher", ieee, end(10, 0x18, willing), peer{willing: true, mask: 0x30},
			pfcDecision{0x18, ReasonTieOwn, false}},
		{"both follow, the lower address decides", ieee, end(1, 0x18, willing, lowerWins),
			peer{willing: true, mask: 0x30}, pfcDecision{0x18, ReasonTieOwn, false}},
		{"both follow, and have the same", old, end(1, 0x18, willing), peer{willing: true, mask: 0x18},
			pfcDecision{0x18, ReasonOwn, false}},
		{"both follow, and differ", old, end(1, 0x18, willing), peer{willing: true, mask: 0x30},
			pfcDecision{0x10, ReasonMismatch, true}},
		{"neither follows, and they have the same", all, end(1, 0x18), peer{mask: 0x18},
			pfcDecision{0x18, ReasonOwn, false}},
		{"neither follows, and they differ", all, end(1, 0x18), peer{mask: 0x30},
			pfcDecision{0x10, ReasonMismatch, true}},
		{"the peer sees an error", old, end(1, 0x18), peer{mask: 0x18, sees: true},
			pfcDecision{0x18, ReasonPeerError, true}},
		{"the peer sees an error, and has others", old, end(1, 0x18, willing), peer{mask: 0x30, sees: true},
			pfcDecision{0x10, ReasonPeerError, true}},

		{"own port without PFC", ieee, end(1, 0, noPFC), peer{mask: 0x18}, pfcDecision{0, ReasonMismatch, true}},
		{"own port without PFC", old, end(1, 0, noPFC), peer{mask: 0x18}, pfcDecision{0, ReasonDisabled, true}},
		{"own port without PFC, willing", ieee, end(1, 0, noPFC, willing), peer{mask: 0x18},
			pfcDecision{0, ReasonMismatch, true}},
		{"own port without PFC, willing", old, end(1, 0, noPFC, willing), peer{mask: 0x18},
			pfcDecision{0, ReasonDisabled, true}},
		{"the peer's port without PFC", ieee, end(1, 0x18), peer{noPFC: true}, pfcDecision{0, ReasonMismatch, true}},
		{"the peer's port without PFC", old, end(1, 0x18), peer{noPFC: true, willing: true},
			pfcDecision{0, ReasonDisabled, true}},
		{"the peer's port without PFC, own end follows", ieee, end(1, 0x18, willing), peer{noPFC: true},
			pfcDecision{0, ReasonPeer, false}},
		{"the peer's port without PFC, own end follows", old, end(1, 0x18, willing), peer{noPFC: true},
			pfcDecision{0, ReasonDisabled, true}},
		{"both without PFC", ieee, end(1, 0, noPFC), peer{noPFC: true}, pfcDecision{0, ReasonOwn, false}},
		{"both without PFC", old, end(1, 0, noPFC), peer{noPFC: true}, pfcDecision{0, ReasonDisabled, false}},
		{"own port without PFC, the peer's with and no priority", old, end(1, 0, noPFC), peer{},
			pfcDecision{0, ReasonDisabled, false}},

		{"no PFC announced", all, end(1, 0x18, willing), peer{silent: true}, pfcDecision{0x18, ReasonNoTLV, false}},
		{"PFC announced twice", all, end(1, 0x18, willing), peer{twice: true, mask: 0x30},
			pfcDecision{0x18, ReasonDuplicate, false}},
	} {
		for _, v := range tt.versions {
			t.Run(fmt.Sprintf("%v: %s", v, tt.name), func(t *testing.T) {
				o := withPeer(tt.own, v, tt.peer).Outcome()
				if got := (pfcDecision{o.PFC, o.Reason, o.Mismatch}); got != tt.want || !o.Peer || o.Version != v {
					t.Errorf("got %+v, %v, peer %t\nwant %+v", got, o.Version, o.Peer, tt.want)
				}
			})
		}
	}
}

// In the IEEE version a willing end adopts the recommended shares. In the older versions it adopts the groups of a peer
// that is not willing.
func TestWhoseSharesAreServed(t *testing.T) {
	ieee, old, all := []Version{VersionIEEE}, []Version{VersionCEE, VersionCIN},
		[]Version{VersionIEEE, VersionCEE, VersionCIN}
	theirs := Queues{{Weight: 10}, {Weight: 10}, {Weight: 10}, {Weight: 70}, {Strict: true}, {Strict: true},
		{Strict: true}, {Strict: true}}
	for _, tt := range []struct {
		name     string
		versions []Version
		own      Config
		peer     peer
		adopted  bool
	}{
		{"neither follows", all, end(1, 8), peer{mask: 8, queues: &theirs}, false},
		{"the peer follows", all, end(1, 8), peer{willing: true, mask: 8, queues: &theirs}, false},
		{"own end follows", all, end(1, 8, willing), peer{mask: 8, queues: &theirs}, true},
		{"own end follows without PFC", all, end(1, 0, willing, noPFC), peer{noPFC: true, queues: &theirs}, true},
		{"both follow", ieee, end(1, 8, willing), peer{willing: true, mask: 8, queues: &theirs}, true},
		{"both follow, and the own address is higher", ieee, end(10, 8, willing),
			peer{willing: true, mask: 8, queues: &theirs}, true},
		{"both follow", old, end(1, 8, willing), peer{willing: true, mask: 8, queues: &theirs}, false},
		{"the peer has queues and recommends none", ieee, end(1, 8, willing), peer{mask: 8, configured: &theirs},
			false},
		{"the peer announces none", all, end(1, 8, willing), peer{mask: 8}, false},
		{"the peer sees an error", old, end(1, 8, willing), peer{mask: 8, sees: true, queues: &theirs}, false},
	} {
		for _, v := range tt.versions {
			t.Run(fmt.Sprintf("%v: %s", v, tt.name), func(t *testing.T) {
				o, want := withPeer(tt.own, v, tt.peer).Outcome(), weights
				if tt.adopted {
					want = scaled(t, v, theirs)
				}
				assert.True(t, o.ETSAdopted == tt.adopted && o.Queues == want,
					"adopted %t, %+v\nwant %t, %+v", o.ETSAdopted, o.Queues, tt.adopted, want)
			})
		}
	}
}

// scaled returns queues as they are after an announcement in a version.
func scaled(t *testing.T, v Version, q Queues) Queues {
	t.Helper()
	if v == VersionIEEE {
		e := q.ets(false)
		q, _ = e.Queues()
		return q
	}
	announced, ok := parseGroupsOf(v, q.groupsOf(v))
	assert.MustBeTrue(t, ok, "%v contradict themselves", q)
	return announced
}

// Contradictory groups are not adopted. Different groups are an error of CIN, never of CEE, whose ends schedule what
// each sends. A missing feature is an error of CEE only.
func TestErrorsOfGroups(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		x := ParseLegacy(peer{mask: 8, queues: &weights}.tlvs(v), v)
		data := []byte(x.Features[KindGroups].Data)
		data[map[Version]int{VersionCEE: 4, VersionCIN: 0}[v]]++ // a hundred and one percent
		x.Features[KindGroups].Data = string(data)
		c := end(1, 8, willing, mode(Mode(v)))
		m := NewMachine(c)
		m.Update(neighbour(x.organization()), false, 0)
		o := m.Outcome()
		assert.True(t, !o.ETSAdopted && o.Queues == weights, "%v: 101 percent: %+v", v, o)
		other := Queues{{Weight: 1}, {Weight: 1}, {Strict: true}, {Weight: 1}, {Weight: 1}, {Weight: 1}, {Weight: 1},
			{Weight: 1}}
		got := withPeer(end(1, 8), v, peer{mask: 8, queues: &other}).feature[KindGroups].own.Error
		assert.True(t, got == (v == VersionCIN), "%v: groups that differ: error %t", v, got)
		assert.Equal(t, withPeer(end(1, 8), v, peer{mask: 8}).feature[KindGroups].own.Error, v == VersionCEE,
			"%v: groups that are not announced: error", v)
	}
}

// Adopted shares stay until the peer has acknowledged a new announcement.
func TestSharesStayWhileThePeerThinks(t *testing.T) {
	for _, v := range []Version{VersionCEE, VersionCIN} {
		theirs := Queues{{Weight: 10}, {Weight: 10}, {Weight: 10}, {Weight: 70}, {Strict: true}, {Strict: true},
			{Strict: true}, {Strict: true}}
		p := peer{mask: 8, queues: &theirs}
		c := end(1, 8, willing, mode(Mode(v)))
		m := withPeer(c, v, p)
		c.Queues[0].Weight = 99
		m.Configure(c)
		m.Update(neighbour(p.tlvs(v)...), false, 1)
		o := m.Outcome()
		assert.True(t, m.feature[KindGroups].state == featureWait && o.ETSAdopted && o.Queues == scaled(t, v, theirs),
			"%v: state %d, %+v", v, m.feature[KindGroups].state, o)
	}
}
