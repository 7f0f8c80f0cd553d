package headroom

import (
	"strings"
	"testing"
	"time"
)

// A peer that agrees late has ignored what it was asked before. The first answer may be to an ordinary frame: that is
// no proof against a link that passes MAC Control frames.
func TestLateAgreementProvesNothing(t *testing.T) {
	for late := 300 * time.Millisecond; late < 1200*time.Millisecond; late += 7 * time.Millisecond {
		w := newWire(settings(7), settings(8))
		w.ends[0].SetAgreed(true, true, "b", w.now)
		w.run(late)
		w.ends[1].SetAgreed(true, true, "a", w.now)
		for range 200 {
			w.run(5 * time.Millisecond)
			if w.ends[0].ControlDiscarded() {
				t.Fatalf("swallowed, with a peer that agreed %v late", late)
			}
		}
		if !w.ends[0].ControlPasses() {
			t.Errorf("MAC Control frames do not pass, with a peer that agreed %v late", late)
		}
	}
}

// After a flap to a host that is silent a person is told again.
func TestFlapIsToldAgain(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(time.Second)
	p := w.ends[0]
	p.SetUp(false, w.now)
	p.SetAgreed(true, false, "", w.now)
	p.Notes()
	p.SetUp(true, w.now)
	w.run(time.Minute)
	if notes := p.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "by hand") {
		t.Errorf("told %q, want one sentence about the headroom that is to be set by hand", notes)
	}
}

// What was found at one speed says nothing at another.
func TestFoundForAnotherLink(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(time.Second)
	p := w.ends[0]
	if p.Target() == 0 {
		t.Fatal("nothing was found")
	}
	s := settings(7)
	s.Inputs.Speed *= 10
	p.Configure(s, w.now)
	if got := p.Target(); got != 0 {
		t.Errorf("at ten times the speed the headroom is still %d", got)
	}
	w.run(time.Second)
	if p.Target() == 0 {
		t.Error("nothing is found any more")
	}
	p.SetAgreed(true, false, "b", w.now)
	s.Min = 8 * (p.Target() + 1000)
	p.Configure(s, w.now)
	if got := p.Target(); got != Octets(s.Min) {
		t.Errorf("the headroom is %d, want the new least one, %d", got, Octets(s.Min))
	}
}
