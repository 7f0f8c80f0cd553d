package dcbx

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

// Two ends come to the same outcome within the fast start.
func TestTwoEnds(t *testing.T) {
	const ieee, cee, cin = VersionIEEE, VersionCEE, VersionCIN
	old := func(m Mode, c Config) Config { c.Mode = m; return c }
	tests := []struct {
		name             string
		one, two         Config
		wantOne, wantTwo result
	}{
		{"the same", end(1, 0x08), end(2, 0x08),
			result{ieee, 0x08, ReasonOwn, false, true}, result{ieee, 0x08, ReasonOwn, false, true}},
		{"one follows", end(1, 0x08), end(2, 0x10, willing),
			result{ieee, 0x08, ReasonOwn, false, true}, result{ieee, 0x08, ReasonPeer, false, true}},
		{"both follow: the higher address decides", end(1, 0x08, willing), end(2, 0x10, willing),
			result{ieee, 0x10, ReasonTiePeer, false, true}, result{ieee, 0x10, ReasonTieOwn, false, true}},
		{"both follow: the lower address decides", end(1, 0x08, willing, lowerWins), end(2, 0x10, willing, lowerWins),
			result{ieee, 0x08, ReasonTieOwn, false, true}, result{ieee, 0x08, ReasonTiePeer, false, true}},
		{"neither follows", end(1, 0x18), end(2, 0x30),
			result{ieee, 0x10, ReasonMismatch, true, true}, result{ieee, 0x10, ReasonMismatch, true, true}},
		{"one cannot measure", end(1, 0x08), end(2, 0x08, noBits),
			result{ieee, 0x08, ReasonOwn, false, false}, result{ieee, 0x08, ReasonOwn, false, false}},
		{"one has PAUSE", end(1, 0x08), end(2, 0, noPFC, willing),
			result{ieee, 0x00, ReasonMismatch, true, true}, result{ieee, 0x00, ReasonMismatch, true, true}},
		{"one is off", end(1, 0x08), end(2, 0x10, mode(ModeOff)),
			result{ieee, 0x08, ReasonNoPeer, false, false}, result{VersionNone, 0x10, ReasonOff, false, false}},

		{"CEE is detected", end(1, 0x08), old(ModeCEE, end(2, 0x08)),
			result{cee, 0x08, ReasonOwn, false, true}, result{cee, 0x08, ReasonOwn, false, true}},
		{"CEE: one follows", old(ModeCEE, end(1, 0x08)), end(2, 0x10, willing),
			result{cee, 0x08, ReasonOwn, false, true}, result{cee, 0x08, ReasonPeer, false, true}},
		{"CEE: both follow, and differ", old(ModeCEE, end(1, 0x18, willing)), end(2, 0x10, willing),
			result{cee, 0x10, ReasonMismatch, true, true}, result{cee, 0x10, ReasonMismatch, true, true}},
		{"CEE: neither follows, and they differ", old(ModeCEE, end(1, 0x18)), end(2, 0x30),
			result{cee, 0x10, ReasonMismatch, true, true}, result{cee, 0x10, ReasonMismatch, true, true}},
		{"CEE: one has no PFC", old(ModeCEE, end(1, 0x18)), end(2, 0, noPFC),
			result{cee, 0, ReasonDisabled, true, true}, result{cee, 0, ReasonDisabled, true, true}},
		{"CEE: one cannot measure", old(ModeCEE, end(1, 0x08, noBits)), end(2, 0x08),
			result{cee, 0x08, ReasonOwn, false, false}, result{cee, 0x08, ReasonOwn, false, false}},
		{"CIN is detected", end(1, 0x08), old(ModeCIN, end(2, 0x08)),
			result{cin, 0x08, ReasonOwn, false, true}, result{cin, 0x08, ReasonOwn, false, true}},
		{"CIN: one follows", old(ModeCIN, end(1, 0x10, willing)), end(2, 0x08),
			result{cin, 0x08, ReasonPeer, false, true}, result{cin, 0x08, ReasonOwn, false, true}},
		{"CIN: neither follows", old(ModeCIN, end(1, 0x18)), end(2, 0x30),
			result{cin, 0x10, ReasonMismatch, true, true}, result{cin, 0x10, ReasonMismatch, true, true}},
		{"both insist on another version", end(1, 0x08, mode(ModeIEEE)), end(2, 0x10, mode(ModeCEE)),
			result{ieee, 0x08, ReasonNoPeer, false, false}, result{cee, 0x10, ReasonNoPeer, false, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := connect(t, tt.one, tt.two)
			l.run(10)
			l.want(tt.wantOne, tt.wantTwo)
			frames := l.frames
			l.run(300)
			l.want(tt.wantOne, tt.wantTwo)
			n := l.frames - frames
			assert.True(t, n <= 22, "%d frames in five minutes of silence", n)
		})
	}
}

// An adopted configuration ends with the neighbour: by a shutdown frame, by its time to live, or with the link.
func TestPeerGoes(t *testing.T) {
	for name, tt := range map[string]struct {
		leave   func(l *link)
		seconds int64
	}{
		"goodbye": {func(l *link) { l.ends[0].Stop(l.now); l.run(1) }, 2},
		"silence": {func(l *link) { l.ends[0].SetLink(false, l.now) }, 123},
		"link":    {func(l *link) { l.ends[1].SetLink(false, l.now) }, 2},
	} {
		for _, m := range []Mode{ModeIEEE, ModeCEE, ModeCIN} {
			t.Run(name+" "+Version(m).String(), func(t *testing.T) {
				l := connect(t, end(1, 0x08, mode(m)), end(2, 0x10, willing))
				l.run(10)
				o := l.ends[1].Outcome()
				assert.MustBeTrue(t, o.PFC == 0x08 && o.Reason == ReasonPeer, "before: %+v", o)
				tt.leave(l)
				l.run(tt.seconds)
				want := Outcome{Version: VersionIEEE, PFC: 0x10, Reason: ReasonNoPeer, Queues: weights}
				assert.Equal(t, l.ends[1].Outcome(), want, "after")
				a := l.ends[1].Agreement("p1")
				assert.True(t, !a.Agreed() && a.Own && a.Neighbour == "", "agreement %+v", a)
			})
		}
	}
}

// A peer with a new configuration under the same name is followed, in every version.
func TestConfigure(t *testing.T) {
	for _, m := range []Mode{ModeIEEE, ModeCEE, ModeCIN} {
		l := connect(t, end(1, 0x08, mode(m)), end(2, 0x10, willing))
		l.run(10)
		c := end(1, 0x20, mode(m))
		l.ends[0].Configure(agent(c), c, l.now)
		l.run(40)
		l.want(result{Version(m), 0x20, ReasonOwn, false, true}, result{Version(m), 0x20, ReasonPeer, false, true})
		c = end(1, 0x20)
		l.ends[0].Configure(agent(c), c, l.now)
		l.run(40)
		o := l.ends[1].Outcome()
		assert.True(t, o.PFC == 0x20 && o.Reason == ReasonPeer, "%v to auto: %+v", Version(m), o)
	}
}

func TestAgreement(t *testing.T) {
	l := connect(t, end(1, 0x08), end(2, 0x08))
	l.run(5)
	a := l.ends[0].Agreement("p7")
	assert.True(t, a.Agreed() && a.Port == "p7" && a.Neighbour == "02:00:00:00:00:02", "both: %+v", a)
	c := end(1, 0x08, noBits)
	l.ends[0].Configure(agent(c), c, l.now)
	l.run(5)
	for i, x := range l.ends {
		if a := x.Agreement("p7"); a.Agreed() || a.Own != (i == 1) || a.Neighbour == "" {
			t.Errorf("end %d without the bit at end 0: %+v", i, a)
		}
	}
}

// A peer that is gone measures no more, however long its priorities stay in force.
func TestAgreementEndsWithThePeer(t *testing.T) {
	l := connect(t, end(1, 0x08), end(2, 0x10, willing, func(c *Config) { c.Hold = 1000 * second }))
	l.run(5)
	l.ends[0].Stop(l.now)
	l.run(1)
	a, o := l.ends[1].Agreement("p1"), l.ends[1].Outcome()
	assert.True(t, !a.Peer && a.Neighbour == "" && o.PFC == 0x08, "%+v, %+v", a, o)
}

// Made-up neighbours do not come between two ends, whether they speak before or after; an end that speaks no DCBX does
// not count either.
func TestMadeUpNeighbours(t *testing.T) {
	for _, tlvs := range [][]lldp.Organization{nil, {PFC{Cap: 8, Enable: 0x40}.organization()}} {
		l := connect(t, end(1, 0x08), end(2, 0x10, willing))
		madeUp := func() {
			for i := range byte(lldp.MaxNeighbours + 1) {
				p := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: "x"},
					Port: lldp.ID{Subtype: lldp.PortLocal, Value: string(i)}, TTL: 0xFFFF, Organization: tlvs}
				l.ends[1].Receive(lldp.AppendFrame(nil, [6]byte{2, 0, 0, 0, 1, i}, &p), l.now)
			}
		}
		madeUp()
		for range 3 {
			l.run(2)
			l.want(result{VersionIEEE, 0x08, ReasonOwn, false, true},
				result{VersionIEEE, 0x08, ReasonPeer, false, true})
			a := l.ends[1].Agreement("p1")
			assert.True(t, a.Agreed() && a.Neighbour == "02:00:00:00:00:01" && a.Address == [6]byte{2, 0, 0, 0, 0, 1},
				"agreement %+v", a)
			madeUp()
		}
	}
}

func TestPeerPFC(t *testing.T) {
	ieee := PFC{Willing: true, Reserved: 0x20, Cap: 8, Enable: 0x18}.organization()
	cee := ceePeer(1, 1, &Feature{Enable: true, Willing: true, Reserved: 0x10, Data: "\x28\x08"})
	off := ceePeer(1, 1, &Feature{Data: "\x28\x08"})
	for _, tt := range []struct {
		v    Version
		list []lldp.Organization
		want PeerConfig
		ok   bool
	}{
		{VersionIEEE, []lldp.Organization{ieee, cee}, PeerConfig{true, true, 0x18, 0x20}, true},
		{VersionCEE, []lldp.Organization{ieee, cee}, PeerConfig{false, true, 0x28, 0x10}, true},
		{VersionCEE, []lldp.Organization{off}, PeerConfig{}, true},
		{VersionCIN, []lldp.Organization{ieee, cee}, PeerConfig{}, false},
		{VersionIEEE, []lldp.Organization{cee}, PeerConfig{}, false},
	} {
		got, ok := PeerPFC(tt.v, tt.list)
		assert.True(t, got == tt.want && ok == tt.ok, "%v: got %+v, %t, want %+v, %t", tt.v, got, ok, tt.want, tt.ok)
	}
}

// However two ends are configured, both do the same unless they report a mismatch.
func TestEndsAgree(t *testing.T) {
	draw := func(t *rapid.T, n byte) Config {
		c := end(n, rapid.Byte().Draw(t, "priorities"))
		c.Mode = Mode(rapid.IntRange(int(ModeIEEE), int(ModeAuto)).Draw(t, "mode"))
		c.Willing = rapid.Bool().Draw(t, "willing")
		if rapid.IntRange(0, 4).Draw(t, "flow control") == 0 {
			noPFC(&c)
		}
		for q := range c.Queues {
			c.Queues[q] = Queue{Strict: rapid.Bool().Draw(t, "strict"),
				Weight: rapid.IntRange(1, 100).Draw(t, "weight")}
		}
		return c
	}
	rapid.Check(t, func(rt *rapid.T) {
		one, two := draw(rt, 1), draw(rt, 2)
		l := connect(t, one, two)
		l.run(90)
		a, b := l.ends[0].Outcome(), l.ends[1].Outcome()
		switch {
		case a.Peer != b.Peer, a.Peer && a.Version != b.Version:
			rt.Fatalf("only one hears the other: %+v %+v", a, b)
		case !a.Peer:
			assert.MustBeTrue(rt, a.PFC == one.PFC && b.PFC == two.PFC, "alone: %+v %+v", a, b)
		case a.PFC != b.PFC || a.Mismatch != b.Mismatch:
			rt.Fatalf("they differ: %+v %+v\n%+v\n%+v", a, b, one, two)
		}
	})
}
