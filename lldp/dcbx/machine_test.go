package dcbx

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

// neighbour returns a neighbour that announces list.
func neighbour(list ...lldp.Organization) *lldp.Neighbour {
	return &lldp.Neighbour{PDU: lldp.PDU{TTL: 120, Organization: list}, Source: [6]byte{2, 0, 0, 0, 0, 9}}
}

func ceePeer(seq, ack uint32, pfc *Feature) lldp.Organization {
	x := Legacy{Version: VersionCEE, Control: &Control{Seq: seq, Ack: ack}}
	x.Features[KindPFC] = pfc
	return x.organization()
}

// TestFeatureStates goes through the rules of the PFC feature of CEE, in their order.
func TestFeatureStates(t *testing.T) {
	feature := func(change func(f *Feature)) *Feature {
		f := &Feature{Enable: true, Data: "\x08\x08"}
		change(f)
		return f
	}
	same := feature(func(*Feature) {})
	tests := []struct {
		name  string
		cfg   Config
		peer  lldp.Organization
		state featureState
		err   bool
		v     pfcDecision
	}{
		{"not announced", end(1, 8), ceePeer(1, 1, nil), featureNoTLV, true, pfcDecision{8, ReasonNoTLV, false}},
		{"not acknowledged", end(1, 8), ceePeer(1, 0, same), featureWait, false, pfcDecision{8, ReasonWaiting, false}},
		{"something else acknowledged", end(1, 8), ceePeer(1, 7, same), featureWait, false,
			pfcDecision{8, ReasonWaiting, false}},
		{"another version", end(1, 8), ceePeer(1, 1, feature(func(f *Feature) { f.Oper = 1 })), featureWait, false,
			pfcDecision{8, ReasonWaiting, false}},
		{"disabled by the peer", end(1, 8), ceePeer(1, 1, feature(func(f *Feature) { f.Enable = false })), featureOff,
			false, pfcDecision{0, ReasonDisabled, true}},
		{"disabled by both", end(1, 0, noPFC), ceePeer(1, 1, feature(func(f *Feature) { f.Enable = false })),
			featureOff, false, pfcDecision{0, ReasonDisabled, false}},
		{"own end follows", end(1, 0x10, willing), ceePeer(1, 1, same), featurePeer, false,
			pfcDecision{8, ReasonPeer, false}},
		{"own end follows a peer that sees an error", end(1, 0x18, willing),
			ceePeer(1, 1, feature(func(f *Feature) { f.Error = true })), featurePeer, false,
			pfcDecision{8, ReasonPeerError, true}},
		{"the peer follows", end(1, 8),
			ceePeer(1, 1, feature(func(f *Feature) { f.Willing, f.Data = true, "\x10\x08" })), featureOwn, false,
			pfcDecision{8, ReasonOwn, false}},
		{"alike", end(1, 8), ceePeer(1, 1, same), featureSame, false, pfcDecision{8, ReasonOwn, false}},
		{"alike, and the peer sees an error", end(1, 8), ceePeer(1, 1, feature(func(f *Feature) { f.Error = true })),
			featureSame, false, pfcDecision{8, ReasonPeerError, true}},
		{"different", end(1, 0x18), ceePeer(1, 1, same), featureDiffers, true, pfcDecision{8, ReasonMismatch, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := NewMachine(tt.cfg)
			m.Update(neighbour(tt.peer), false, 0) // the version is detected here
			f := &m.feature[KindPFC]
			o := m.Outcome()
			got := pfcDecision{o.PFC, o.Reason, o.Mismatch}
			assert.True(t, f.state == tt.state && f.own.Error == tt.err && got == tt.v,
				"got state %d, error %t, %+v; want %d, %t, %+v", f.state, f.own.Error, got, tt.state, tt.err, tt.v)
		})
	}
}

// An announcement has a number, and no other announcement has the same number.
func TestControl(t *testing.T) {
	m := NewMachine(end(1, 0x18, mode(ModeCEE)))
	announced := func() *Legacy { return ParseLegacy(m.Organization(), VersionCEE) }
	assert.Equal(t, *announced().Control, Control{Seq: 1}, "first")
	differs := &Feature{Enable: true, Data: "\x08\x08"}
	receive := func(seq, ack uint32) { m.Update(neighbour(ceePeer(seq, ack, differs)), false, 0) }
	receive(5, 0)
	x := announced()
	assert.True(t, *x.Control == (Control{Seq: 1, Ack: 5}) && !x.Features[KindPFC].Error, "not acknowledged: %+v", x)
	receive(5, 1)
	x = announced()
	assert.True(t, *x.Control == (Control{Seq: 2, Ack: 5}) && x.Features[KindPFC].Error, "the error is news: %+v", x)
	differs.Data = "\x18\x08"
	receive(6, 1)
	if x := announced(); *x.Control != (Control{Seq: 2, Ack: 6}) || !x.Features[KindPFC].Error {
		t.Errorf("no news before it is acknowledged: %+v", x)
	}
	receive(6, 2)
	x = announced()
	assert.True(t, *x.Control == (Control{Seq: 3, Ack: 6}) && !x.Features[KindPFC].Error, "the error is over: %+v", x)
	for range 3 {
		receive(6, 3)
	}
	assert.Equal(t, *announced().Control, Control{Seq: 3, Ack: 6}, "the same again is no news")
	m.Update(nil, false, 1)
	assert.Equal(t, *announced().Control, Control{Seq: 1}, "peer gone")
	bad := neighbour(ceePeer(9, 1, differs))
	bad.Organization[0].Info = bad.Organization[0].Info[:2] + "\x01" + bad.Organization[0].Info[3:]
	m.Update(bad, false, 2)
	x = announced()
	assert.True(t, x.Control.Ack == 0, "a control TLV of version 1 is taken: %+v", x.Control)
}

// Old acknowledgements do not count for the announcement after an apply. Until the peer acknowledges that, the outcome
// stays.
func TestConfigureIsAnnouncedUnderANewNumber(t *testing.T) {
	c := end(1, 0x18, mode(ModeCEE), willing)
	m := NewMachine(c)
	announced := func() Control { return *ParseLegacy(m.Organization(), VersionCEE).Control }
	receive := func(ack uint32) Outcome {
		m.Update(neighbour(ceePeer(5, ack, &Feature{Enable: true, Data: "\x08\x08"})), false, 0)
		return m.Outcome()
	}
	o := receive(1)
	assert.MustBeTrue(t, o.PFC == 8 && o.Reason == ReasonPeer, "at first: %+v", o)
	c.Apps = append(c.Apps, App{4, SelectUDP, 99})
	m.Configure(c)
	if o := receive(1); o.PFC != 8 || o.Reason != ReasonPeer || announced() != (Control{Seq: 2, Ack: 5}) {
		t.Errorf("one more application: %+v, announced %+v", o, announced())
	}
	receive(2) // that the peer has no applications is an error, and the next news
	receive(3)
	c.PFC = 0x30
	m.Configure(c)
	if o := receive(3); o.PFC != 8 || o.Reason != ReasonPeer || announced() != (Control{Seq: 4, Ack: 5}) ||
		m.feature[KindPFC].synced {
		t.Errorf("other priorities: %+v, announced %+v, acknowledged %v", o, announced(), m.feature[KindPFC].synced)
	}
	receive(4)
	assert.True(t, m.feature[KindPFC].synced, "not acknowledged")
	before := announced()
	m.Configure(c)
	if receive(4); announced() != before || !m.feature[KindPFC].synced {
		t.Errorf("the same again is news: announced %+v, before %+v", announced(), before)
	}
	c.Willing = false
	m.Configure(c)
	o = receive(4)
	assert.True(t, o.PFC == 0x30 && o.Reason == ReasonWaiting, "an end that follows nobody any more: %+v", o)
}

// A peer may announce its features one after the other: each of them operates as soon as both ends announce it, and the
// error of its absence goes.
func TestFeaturesThatComeLate(t *testing.T) {
	m := NewMachine(end(1, 8, mode(ModeCEE), func(c *Config) { c.Hold = 0 }))
	x := Legacy{Version: VersionCEE, Control: &Control{Seq: 1}}
	receive := func() { // and acknowledge
		x.Control.Ack = m.control.seq
		m.Update(neighbour(x.organization()), false, 0)
	}
	for _, step := range []struct {
		comes Kind
		data  string
		wrong [NumKinds]bool // after it
	}{
		{KindGroups, weights.groupData(), [NumKinds]bool{KindPFC: true, KindApplication: true}},
		{KindApplication, m.feature[KindApplication].own.Data, [NumKinds]bool{KindPFC: true}},
		{KindPFC, "\x08\x08", [NumKinds]bool{}},
	} {
		x.Control.Seq++
		x.Features[step.comes] = &Feature{Enable: true, Data: step.data}
		for range 3 {
			receive()
		}
		for k, want := range step.wrong {
			assert.Equal(t, m.announced[k].Error, want, "after feature %d: feature %d announced with error", step.comes,
				k)
		}
	}
	o := m.Outcome()
	assert.True(t, o.PFC == 8 && o.Reason == ReasonOwn && !o.Mismatch, "in the end: %+v", o)
}

// Only a duplicate PFC TLV has the reason duplicate.
func TestTwoOfAnotherTLV(t *testing.T) {
	m := NewMachine(end(1, 8))
	ets := weights.ets(false)
	m.Update(neighbour(ets.organization(subtypeETS), ets.organization(subtypeETS)), false, 0)
	assert.Equal(t, m.Outcome().Reason, ReasonNoTLV, "reason")
}

func TestVersionDetection(t *testing.T) {
	pfc, cee := PFC{Cap: 8, Enable: 8}.organization(), ceePeer(1, 0, nil)
	cin := (&Legacy{Version: VersionCIN, Control: &Control{Seq: 1}}).organization()
	m := NewMachine(end(1, 8))
	for i, step := range []struct {
		list []lldp.Organization
		want Version
	}{
		{nil, VersionIEEE}, {[]lldp.Organization{cin}, VersionCIN}, {[]lldp.Organization{cin, cee}, VersionCEE},
		{nil, VersionCEE}, // it says nothing of DCBX in this frame
		{[]lldp.Organization{cin, cee, pfc}, VersionIEEE}, {[]lldp.Organization{cin}, VersionCIN},
	} {
		m.Update(neighbour(step.list...), false, int64(i)*second)
		got := Versions(m.Organization())
		assert.True(t, len(got) == 1 && got[0] == step.want, "step %d: speaks %v, want %v alone", i, got, step.want)
	}
	m.Update(nil, false, 10*second)
	assert.Equal(t, m.Outcome().Version, VersionIEEE, "alone")
}

// Where there are several neighbours and none of them counts, the configuration holds.
func TestSeveralPeers(t *testing.T) {
	one := neighbour(PFC{Cap: 8, Enable: 0x10, Reserved: 0x20}.organization())
	m := NewMachine(end(1, 0x08, willing))
	for i, step := range []struct {
		n       *lldp.Neighbour
		several bool
		want    Reason
	}{{one, false, ReasonPeer}, {nil, true, ReasonSeveral}, {one, true, ReasonPeer}, {nil, false, ReasonNoPeer}} {
		m.Update(step.n, step.several, int64(i)*second)
		o := m.Outcome()
		assert.True(t, o.Reason == step.want && o.Measures == (step.want == ReasonPeer) &&
			(o.PFC == 0x10) == (step.want == ReasonPeer), "step %d: %+v, want %v", i, o, step.want)
	}
}

// A willing end adopts a valid recommendation, and announces it.
func TestRecommendation(t *testing.T) {
	other := Queues{{Weight: 1}, {Weight: 1}, {Weight: 1}, {Weight: 1}, {Strict: true}, {Strict: true}, {Strict: true},
		{Strict: true}}
	recommended := other.ets(false)
	m := NewMachine(end(1, 8, willing))
	tlv := recommended.organization(subtypeRecommendation)
	tlv.Info = "\x47" + tlv.Info[1:] // reserved bits, which mean something in a configuration
	m.Update(neighbour(tlv), false, 0)
	o := m.Outcome()
	want, _ := recommended.Queues()
	assert.True(t, o.ETSAdopted && o.Queues == want && o.Reason == ReasonNoTLV, "got %+v", o)
	if x := ParseIEEE(m.Organization()); x.ETS.Bandwidth != recommended.Bandwidth || !x.ETS.Willing ||
		x.Recommendation.Bandwidth == recommended.Bandwidth {
		t.Errorf("announces %+v and recommends %+v", x.ETS, x.Recommendation)
	}
	if got := m.Organization()[0]; got.Subtype != subtypeETS || got.Info[0] != flagWilling {
		t.Errorf("announces %x, want no bit but willing from a recommendation", got.Info)
	}
	recommended.Bandwidth[0]++
	m.Update(neighbour(recommended.organization(subtypeRecommendation)), false, second)
	if o := m.Outcome(); o.ETSAdopted || o.Queues != weights {
		t.Errorf("101 percent: %+v", o)
	}
}

// However often a peer changes its mind, the outcome changes at most once in the hold-down time, and the last change
// counts in the end.
func TestHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMachine(end(1, 8, willing))
		now, last, changed := int64(0), m.Outcome(), int64(-1)
		look := func() {
			o := m.Outcome()
			if o == last {
				return
			}
			assert.MustBeTrue(t, changed < 0 || now-changed >= second,
				"at %d: changed again after %d", now, now-changed)
			last, changed = o, now
		}
		var mask uint8
		for range rapid.IntRange(1, 50).Draw(t, "frames") {
			now += rapid.Int64Range(0, second).Draw(t, "gap")
			mask = rapid.Byte().Draw(t, "priorities")
			m.Update(neighbour(PFC{Cap: 8, Enable: mask}.organization()), false, now)
			look()
		}
		if next := m.Next(); next != math.MaxInt64 {
			assert.MustBeTrue(t, next > now-second && next <= now+second, "at %d: next %d", now, next)
			now = max(now, next)
			m.Update(neighbour(PFC{Cap: 8, Enable: mask}.organization()), false, now)
			look()
		}
		if o := m.Outcome(); o.PFC != mask || m.Next() != math.MaxInt64 {
			t.Fatalf("in the end %+v, next %d, want %#x", o, m.Next(), mask)
		}
	})
}

// The hold-down time can be set, also while a peer is there, in every version. With zero every change counts at once.
func TestHoldIsSettable(t *testing.T) {
	for _, v := range []Version{VersionIEEE, VersionCEE, VersionCIN} {
		c := end(1, 8, willing, mode(Mode(v)))
		m, now := NewMachine(c), int64(0)
		changes := func(seconds int64) (n int) { // of a peer that says something else every second
			for was := m.Outcome().PFC; seconds > 0; seconds-- {
				now += second
				m.Update(neighbour(peer{mask: 1 << (now / second % 8)}.tlvs(v)...), false, now)
				if got := m.Outcome().PFC; got != was {
					was = got
					n++
				}
			}
			return n
		}
		for _, hold := range []int64{0, 5 * second, 30 * second, 0} {
			c.Hold = hold
			m.Configure(c)
			want := 120
			if hold > 0 {
				want = int(120 * second / hold)
			}
			assert.Equal(t, changes(120), want, "%v: changes in 120 s with a hold of %d s", v, hold/second)
		}
	}
}

// Whatever a neighbour announces, an end that is not willing keeps to its own priorities.
func FuzzUpdate(f *testing.F) {
	f.Add([]byte(PFC{Cap: 8, Enable: 8}.organization().Info), uint8(11),
		[]byte(ceePeer(1, 1, &Feature{Enable: true, Data: "\x08\x08"}).Info), uint8(2))
	f.Add([]byte(weights.groupData()), uint8(9), []byte("\x02\x0a"), uint8(1))
	f.Fuzz(func(t *testing.T, ieee []byte, subtype uint8, legacy []byte, old uint8) {
		if len(ieee) > lldp.MaxInfo || len(legacy) > lldp.MaxInfo {
			return
		}
		n := neighbour(lldp.Organization{OUI: ouiIEEE, Subtype: subtype, Info: string(ieee)},
			lldp.Organization{OUI: ouiIntel, Subtype: old, Info: string(legacy)})
		for _, c := range []Config{end(1, 0x18), end(1, 0x18, willing), end(1, 0x18, mode(ModeCEE)),
			end(1, 0x18, mode(ModeCIN), willing)} {
			m := NewMachine(c)
			for now := range int64(4) {
				m.Update(n, false, now*second)
				for _, o := range m.Organization() {
					assert.True(t, len(o.Info) <= lldp.MaxInfo, "a TLV of %d octets", len(o.Info))
				}
			}
			o := m.Outcome()
			assert.True(t, c.Willing || o.PFC&^c.PFC == 0, "%+v", o)
		}
	})
}

// An acknowledgement in one mode does not count in another one, though it is for the first announcement there.
func TestModesGoOnNumbering(t *testing.T) {
	for _, tt := range []struct {
		name  string
		modes []Mode // one after the other
		seq   uint32 // of what is announced in the last one
	}{
		{"the version stays", []Mode{ModeAuto, ModeCEE}, 2},
		{"and may be another one", []Mode{ModeCEE, ModeAuto}, 2},
		{"it was off", []Mode{ModeCEE, ModeOff, ModeCEE}, 2},
		{"another version was forced", []Mode{ModeAuto, ModeIEEE, ModeAuto}, 2},
		{"and another one of the old ones", []Mode{ModeCEE, ModeCIN, ModeCEE}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := end(1, 0x18, mode(tt.modes[0]))
			c.Apps, c.Hold = nil, 0
			m := NewMachine(c)
			receive := func(ack uint32) { // of a peer that follows in everything, so that nothing but c is news
				x := Legacy{Version: VersionCEE, Control: &Control{Seq: 5, Ack: ack}}
				x.Features[KindPFC] = &Feature{Enable: true, Willing: true, Data: "\x08\x08"}
				x.Features[KindGroups] = &Feature{Enable: true, Willing: true, Data: weights.groupData()}
				m.Update(neighbour(x.organization()), false, 0)
			}
			receive(0)
			receive(1) // what was announced is acknowledged
			assert.MustBeTrue(t, m.feature[KindPFC].synced && m.control.seq == 1, "not acknowledged: %+v", m.control)
			if next := tt.modes[1]; next == ModeAuto || next == ModeCEE {
				c.Mode = next
				m.Configure(c)
				receive(1)
				assert.True(t, m.feature[KindPFC].synced && m.control.seq == 1,
					"that mode %v leaves the version is news: %+v", next, m.control)
			}
			c.PFC = 0x30
			for _, next := range tt.modes[1:] {
				c.Mode = next
				m.Configure(c)
				receive(1) // the same frame as before
			}
			x := ParseLegacy(m.Organization(), VersionCEE)
			assert.MustBeTrue(t, x != nil && *x.Control == (Control{Seq: tt.seq, Ack: 5}) &&
				x.Features[KindPFC].Data[0] == 0x30, "announced %+v", x)
			assert.True(t, !m.feature[KindPFC].synced && m.Outcome().Reason == ReasonWaiting,
				"acknowledged by an old frame: %+v", m.Outcome())
			if receive(tt.seq); !m.feature[KindPFC].synced || m.Outcome().Reason != ReasonOwn {
				t.Errorf("not acknowledged by a new one: %+v", m.Outcome())
			}
			m.Update(nil, false, 1)
			if c.Mode == ModeCEE && *ParseLegacy(m.Organization(), VersionCEE).Control != (Control{Seq: 1}) {
				t.Errorf("to a new peer: %+v", *ParseLegacy(m.Organization(), VersionCEE).Control)
			}
		})
	}
}
