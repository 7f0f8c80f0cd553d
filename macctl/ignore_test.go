package macctl

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// xoff makes a receiver receive a PFC frame for one priority.
func xoff(r *Receiver, prio uint8, quanta uint16, now int64) Reason {
	return r.Receive(pfc(map[int]uint16{int(prio): quanta}), now, now)
}

// An ignored XOFF is counted and not obeyed, and a running pause ends. Other priorities are obeyed.
func TestIgnore(t *testing.T) {
	r := NewReceiver(ModePFC, 1<<3|1<<4, 1_000_000_000, [6]byte{1})
	pause := QuantaDuration(1000, 1_000_000_000)
	xoff(r, 3, 1000, 100)
	r.Ignore(3, true, 200)
	assert.MustBeTrue(t, r.Paused(200) == 0 && r.Requested(3, 200) && r.FreeSince(3) == 200,
		"paused %b, asked %v, free since %d", r.Paused(200), r.Requested(3, 200), r.FreeSince(3))
	if reason := xoff(r, 3, 1000, 300); reason != ReasonWatchdog || r.Paused(300) != 0 {
		t.Errorf("%v, paused %b: XOFF was obeyed", reason, r.Paused(300))
	}
	if reason := xoff(r, 4, 1000, 300); reason != ReasonNone || r.Paused(300) != 1<<4 {
		t.Errorf("%v, paused %b: the priority beside it has to be", reason, r.Paused(300))
	}
	if c := r.Counters(); c.PFCFrames[3] != 2 || c.Ignored[ReasonWatchdog] != 1 || r.Xoffs(3) != 2 {
		t.Errorf("%+v, %d XOFFs", c, r.Xoffs(3))
	}
	paused, now := r.PausedTime(3, 400), r.PausedUnit(3, 400)
	assert.True(t, paused == 100 && !now, "paused for %d ns, and now %v, want 100 and not", paused, now)
	assert.True(t, r.Requested(3, 300+pause-1) && !r.Requested(3, 300+pause),
		"the ignored pause does not end when it would have")
	if reason := xoff(r, 3, 0, 500); reason != ReasonNone || r.Requested(3, 500) || r.Xoffs(3) != 2 {
		t.Errorf("XON: %v, asked %v, %d XOFFs", reason, r.Requested(3, 500), r.Xoffs(3))
	}
}

// When XOFF is obeyed again, the rest of an ignored pause comes first.
func TestObeyAgain(t *testing.T) {
	for _, unit := range []uint8{3, WholePort} {
		mode := ModePFC
		if unit == WholePort {
			mode = ModePause
		}
		r := NewReceiver(mode, 0xff, 1_000_000_000, [6]byte{1})
		say := func(quanta uint16, now int64) {
			if unit == WholePort {
				r.Receive(AppendPause(nil, [6]byte{2}, quanta), now, now)
			} else {
				xoff(r, 3, quanta, now)
			}
		}
		pause := QuantaDuration(1000, 1_000_000_000)
		r.Ignore(unit, true, 100)
		say(1000, 200)
		assert.MustEqual(t, r.Paused(200), 0, "unit %d: obeyed", unit)
		r.Ignore(unit, false, 300)
		assert.True(t, r.Paused(300)&(1<<3) != 0 && r.NextExpiry() == 200+pause,
			"unit %d: paused %b until %d, want until %d", unit, r.Paused(300), r.NextExpiry(), 200+pause)
		r.Ignore(unit, true, 400)
		r.Ignore(unit, false, 200+pause)
		assert.Equal(t, r.Paused(200+pause), 0, "unit %d: paused by a pause that is over", unit)
		r.Ignore(unit, true, 0)
		r.Reset(500_000_000)
		say(1000, 500_000_000)
		assert.True(t, r.Paused(500_000_000)&(1<<3) != 0, "unit %d: a link that was down does not obey again", unit)
	}
}

// A unit without flow control cannot be ignored. It is obeyed once it has flow control.
func TestIgnoreWithoutFlowControl(t *testing.T) {
	r := NewReceiver(ModePFC, 1<<3, 1_000_000_000, [6]byte{1})
	r.Ignore(4, true, 1)
	r.Ignore(WholePort, true, 1)
	r.Ignore(200, true, 1)
	r.Configure(ModePFC, 1<<3|1<<4, 1_000_000_000, [6]byte{1}, 2)
	xoff(r, 4, 1, 3)
	assert.True(t, r.Paused(3) == 1<<4, "paused %b", r.Paused(3))
	r.Ignore(4, true, 4)
	r.Configure(ModePFC, 1<<3, 1_000_000_000, [6]byte{1}, 5)
	r.Configure(ModePFC, 1<<3|1<<4, 1_000_000_000, [6]byte{1}, 6)
	xoff(r, 4, 1, 7)
	assert.True(t, r.Paused(7) == 1<<4, "an order outlasts flow control: paused %b", r.Paused(7))
}
