package headroom

import (
	"errors"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// A checked is a port under a check in virtual time, with its peer. The peer streams a frame each 12 µs, stops some
// time after the hold begins, and goes on some time after the hold ends.
type checked struct {
	now      int64
	look     CheckInput
	held     bool
	heldAt   int64
	freedAt  int64
	late     func(xoff int) int64 // ns from XOFF to the last frame
	answers  func(ask int) (time.Duration, bool)
	asks     int
	until    int64 // end of the stream
	xoffLate int64 // ns until XOFF leaves
	mute     bool  // the stream is of another priority

	standStill    func(look int) bool                    // the peer
	standsFor     func(held bool, sinceHeld int64) int64 // the checking end, ns
	stopped, idle int                                    // holds, and those while nothing came
}

const checkedFrame = int64(1500)

func newChecked() *checked {
	return &checked{now: 1e9, look: CheckInput{Up: true, Exclusive: true}, late: func(int) int64 { return 100_000 },
		answers: func(int) (time.Duration, bool) { return MaxStream, true }}
}

// run drives a check with that many XOFFs until it is done, one step each half millisecond.
func (w *checked) run(t *testing.T, xoffs int) (CheckResult, error) {
	t.Helper()
	c := NewCheck(CheckSettings{Xoffs: xoffs, Fill: 3 * time.Millisecond, Quiet: 4 * time.Millisecond,
		RoundTrip: 40 * time.Microsecond})
	for n := range 1_000_000 {
		before := w.look.Streamed
		if w.standStill != nil && w.standStill(n) {
			w.now += 500_000
		} else if w.standsFor != nil {
			w.arrive(max(500_000, w.standsFor(w.look.XoffSent, w.now-w.heldAt)))
		} else {
			w.arrive(500_000)
		}
		w.look.Now = w.now
		o := c.Step(w.look)
		if o.Ask {
			w.asks++
			w.look.Granted, w.look.Answered = w.answers(w.asks)
			if w.look.Answered {
				w.until = w.now + int64(w.look.Granted)
			}
		}
		if o.Hold != w.held {
			w.held = o.Hold
			if w.held {
				w.stopped++
				if w.look.Streamed == before {
					w.idle++
				}
				w.heldAt = w.now + w.xoffLate
			} else {
				w.freedAt, w.look.XoffSent = w.now, false
			}
		}
		if o.Done {
			assert.True(t, !w.held, "the peer is held at the end")
			return c.Result()
		}
	}
	t.Fatal("the check does not end")
	return CheckResult{}, nil
}

// arrive advances the time and lets frames arrive.
func (w *checked) arrive(d int64) {
	for end := w.now + d; w.now < end; w.now += 12_000 {
		if w.held && !w.look.XoffSent && w.now >= w.heldAt {
			w.look.XoffSent, w.look.AfterXoff = true, 0
			w.look.XoffCount++
		}
		if w.mute || w.now >= w.until || w.look.XoffSent && w.now > w.heldAt+w.late(int(w.look.XoffCount)) ||
			!w.held && w.now < w.freedAt+50_000 {
			continue
		}
		w.look.Streamed++
		w.look.Octets += uint64(checkedFrame)
		if w.look.XoffSent {
			w.look.AfterXoff += checkedFrame
		}
	}
}

// All octets after each XOFF are counted, and nothing else.
func TestCheckCounts(t *testing.T) {
	w := newChecked()
	w.late = func(xoff int) int64 { return int64(xoff) * 30_000 }
	r, err := w.run(t, 50)
	assert.MustBeTrue(t, err == nil && len(r.AfterXoff) == 50 && r.Unstopped == 0,
		"%d XOFFs, %d unstopped, %v", len(r.AfterXoff), r.Unstopped, err)
	for i, got := range r.AfterXoff {
		if want := int64(i+1) * 30_000 / 12_000 * checkedFrame; got < want || got > want+2*checkedFrame {
			t.Errorf("XOFF %d: %d octets, want %d or a little more", i+1, got, want)
		}
	}
	rate := float64(r.Octets) * 8 / r.Filled.Seconds()
	assert.True(t, rate >= 0.95e9 && rate <= 1.05e9, "the link had %.0f bit/s, want one Gbit/s", rate)
	assert.True(t, r.Filled >= 50*3*time.Millisecond, "the link was full for %v before 50 XOFFs", r.Filled)
}

// A stream that is granted for a second is requested again before it ends.
func TestCheckRenewsTheStream(t *testing.T) {
	w := newChecked()
	r, err := w.run(t, 1000)
	assert.MustBeTrue(t, err == nil && len(r.AfterXoff) == 1000, "%d XOFFs, %v", len(r.AfterXoff), err)
	took := time.Duration(w.now - 1e9)
	assert.True(t, took >= 2*MaxStream && w.asks >= int(took/MaxStream), "asked %d times in %v", w.asks, took)
}

// A request whose answer is lost is repeated, five times in all.
func TestCheckAsksAgain(t *testing.T) {
	for _, tt := range []struct {
		lost int
		ok   bool
	}{{4, true}, {5, false}} {
		w := newChecked()
		w.answers = func(ask int) (time.Duration, bool) { return MaxStream, ask > tt.lost }
		r, err := w.run(t, 3)
		assert.True(t, (err == nil) == tt.ok && (len(r.AfterXoff) == 3) == tt.ok && w.asks <= 5,
			"%d answers lost: %d XOFFs, asked %d times, %v", tt.lost, len(r.AfterXoff), w.asks, err)
	}
}

func TestCheckFails(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(w *checked)
		want  string
	}{
		{"the peer does not allow it",
			func(w *checked) { w.answers = func(int) (time.Duration, bool) { return 0, true } }, "send_request: on"},
		{"the peer says nothing", func(w *checked) { w.answers = func(int) (time.Duration, bool) { return 0, false } },
			"has not answered 5 requests"},
		{"the stream comes with another priority", func(w *checked) { w.mute = true }, "the same priority"},
		{"the link is down", func(w *checked) { w.look.Up = false }, "went down"},
		{"others hold the peer", func(w *checked) { w.look.Exclusive = false }, "for other reasons"},
		{"XOFF does not leave", func(w *checked) { w.xoffLate = 1e12 }, "does not leave"},
		{"the peer's time is used up", func(w *checked) {
			w.answers = func(ask int) (time.Duration, bool) {
				return map[bool]time.Duration{true: MaxStream}[ask < 3], true
			}
		}, "no longer"},
	} {
		w := newChecked()
		tt.spoil(w)
		_, err := w.run(t, 1000)
		assert.Fails(t, err, tt.want, "%s", tt.name)
	}
}

func TestCheckOfAPeerThatRefuses(t *testing.T) {
	w := newChecked()
	w.answers = func(int) (time.Duration, bool) { return 0, true }
	_, err := w.run(t, 3)
	assert.True(t, errors.Is(err, ErrNoStream), "got %v", err)
}

// A peer that does not stop counts as unstopped, and the check ends.
func TestCheckOfAPeerThatGoesOn(t *testing.T) {
	w := newChecked()
	w.late = func(int) int64 { return 1e15 }
	r, err := w.run(t, 3)
	assert.True(t, err == nil && r.Unstopped == 3 && r.AfterXoff[0] >= 4_000_000, "%+v, %v", r, err)
}

// A machine that stands still while the last frames come does not count its peer as unstopped.
func TestCheckOfAMachineThatStandsStill(t *testing.T) {
	w := newChecked()
	w.late = func(int) int64 { return 3_000_000 }
	w.standsFor = func(held bool, sinceHeld int64) int64 { // once in each hold, as soon as XOFF has left
		if held && sinceHeld >= 500_000 && sinceHeld < 1_000_000 {
			return 200_000_000
		}
		return 0
	}
	if r, err := w.run(t, 3); err != nil || r.Unstopped != 0 || len(r.AfterXoff) != 3 {
		t.Errorf("%d XOFFs, %d unstopped, %v, want 3, and no peer that goes on", len(r.AfterXoff), r.Unstopped, err)
	}
}

// A check has a largest number of XOFFs.
func TestCheckIsBounded(t *testing.T) {
	for given, want := range map[int]int{-1: 1, 0: 1, MaxXoffs: MaxXoffs, 1 << 40: MaxXoffs} {
		assert.Equal(t, NewCheck(CheckSettings{Xoffs: given}).set.Xoffs, want, "%d XOFFs wanted", given)
	}
}

// XOFF needs a full link: while the peer stands still, the check waits.
func TestCheckWaitsForAFullLink(t *testing.T) {
	w := newChecked()
	w.standStill = func(look int) bool { return look%40 > 10 } // for 15 ms each time
	if r, err := w.run(t, 20); err != nil || len(r.AfterXoff) != 20 || w.stopped != 20 {
		t.Fatalf("%d XOFFs, %d holds, %v", len(r.AfterXoff), w.stopped, err)
	}
	assert.True(t, w.idle <= 0, "%d XOFFs while the peer stood still", w.idle)
}
