package dcbx

import (
	"testing"

	"pfcswitch/lldp"
)

// A peer that has acknowledged what was told in one mode has not acknowledged what is told in another one, though it is
// the first thing told there: until it has, it follows nothing.
func TestModesGoOnNumbering(t *testing.T) {
	for _, tt := range []struct {
		name  string
		modes []Mode // one after the other
		seq   uint32 // of what is told in the last one
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
			hear := func(ack uint32) { // of a peer that follows in everything, so that nothing but c is news
				x := Legacy{Version: VersionCEE, Control: &Control{Seq: 5, Ack: ack}}
				x.Features[KindPFC] = &Feature{Enable: true, Willing: true, Data: "\x08\x08"}
				x.Features[KindGroups] = &Feature{Enable: true, Willing: true, Data: weights.groupData()}
				m.Update([]*lldp.Neighbour{neighbour(x.organization())}, false, 0)
			}
			hear(0)
			hear(1) // what was told is acknowledged
			if !m.feature[KindPFC].synced || m.control.seq != 1 {
				t.Fatalf("not acknowledged: %+v", m.control)
			}
			if next := tt.modes[1]; next == ModeAuto || next == ModeCEE {
				c.Mode = next
				m.Configure(c)
				hear(1)
				if !m.feature[KindPFC].synced || m.control.seq != 1 {
					t.Errorf("that mode %v leaves the version is news: %+v", next, m.control)
				}
			}
			c.PFC = 0x30
			for _, next := range tt.modes[1:] {
				c.Mode = next
				m.Configure(c)
				hear(1) // the same frame as before
			}
			x := ParseLegacy(m.Organization(), VersionCEE)
			if x == nil || *x.Control != (Control{Seq: tt.seq, Ack: 5}) || x.Features[KindPFC].Data[0] != 0x30 {
				t.Fatalf("told %+v", x)
			}
			if m.feature[KindPFC].synced || m.Outcome().Reason != ReasonWaiting {
				t.Errorf("acknowledged by an old frame: %+v", m.Outcome())
			}
			if hear(tt.seq); !m.feature[KindPFC].synced || m.Outcome().Reason != ReasonOwn {
				t.Errorf("not acknowledged by a new one: %+v", m.Outcome())
			}
			m.Update(nil, false, 1)
			if c.Mode == ModeCEE && *ParseLegacy(m.Organization(), VersionCEE).Control != (Control{Seq: 1}) {
				t.Errorf("to a new peer: %+v", *ParseLegacy(m.Organization(), VersionCEE).Control)
			}
		})
	}
}
