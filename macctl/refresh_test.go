package macctl

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// Refreshed counts frames, and lets pause and next refresh begin anew. What arrives after XON changes counters only.
func TestRefreshed(t *testing.T) {
	i := NewInitiator(InitiatorConfig{Mode: ModePFC, Enabled: 1 << 3, Speed: 10 * giga})
	i.Hold(3, CauseBuffer)
	pause := QuantaDuration(0xFFFF, 10*giga)
	if _, ok := i.AppendFrame(nil, 0); !ok || i.RefreshEvery() != pause/2 {
		t.Fatalf("a frame: %v, to be sent again every %d ns, want %d", ok, i.RefreshEvery(), pause/2)
	}
	i.Sent(0)
	assert.Equal(t, i.RefreshEvery(), 0, "a frame that has left is to be sent again")
	i.Refreshed(2, pause, false)
	assert.Equal(t, i.Counters().PFCFrames[3], 3, "frames")
	assert.Equal(t, i.HeldTime(3, 2*pause-1), 2*pause-1, "ns held")
	assert.True(t, !i.Pending(pause+pause/2-1) && i.Pending(pause+pause/2), "the next refresh is at %d, want %d",
		i.NextRefresh(), pause+pause/2)
	i.Release(3, CauseBuffer)
	_, ok := i.AppendFrame(nil, 2*pause)
	assert.True(t, ok && i.RefreshEvery() == 0, "XON: %v, to be sent again every %d ns, want 0", ok, i.RefreshEvery())
	i.Sent(2 * pause)
	i.Refreshed(1, 2*pause-1, false)
	if got := i.Counters(); got.PFCFrames[3] != 5 || got.XoffSent[3] != 1 || i.HeldTime(3, 3*pause) != 2*pause {
		t.Errorf("%+v, held for %d ns, want 5 frames, one XOFF, %d ns", got, i.HeldTime(3, 3*pause), 2*pause)
	}
}

// XOFF of the configuration of before, which who sends it again may take for one of all that is lossless now, does not
// hide that XON has to leave where nothing is lossless any more.
func TestRefreshedWhereNothingIsHeld(t *testing.T) {
	i := NewInitiator(InitiatorConfig{Mode: ModePFC, Enabled: 1 << 3, Speed: giga})
	i.Hold(3, CauseBuffer)
	i.AppendFrame(nil, 0)
	i.Sent(0)
	i.Configure(InitiatorConfig{Mode: ModeOff, Speed: giga}, 10)
	i.Refreshed(1, 20, true)
	b, ok := i.AppendFrame(nil, 30)
	assert.True(t, ok && i.RefreshEvery() == 0, "no XON: % x", b)
	i.Sent(30)
	assert.True(t, !i.Pending(1<<40), "more is to be sent after XON")
}

// A hold of which nothing is known, such as that of a killed switch, asks for no frame where there is no flow control,
// neither at first nor after it was switched off.
func TestRefreshedWithoutFlowControl(t *testing.T) {
	i := NewInitiator(InitiatorConfig{Mode: ModePFC, Speed: giga})
	for _, enabled := range []uint8{0, 1 << 3, 0} {
		i.Configure(InitiatorConfig{Mode: ModePFC, Enabled: enabled, Speed: giga}, 0)
		i.Refreshed(1, 10, true)
		_, first := i.AppendFrame(nil, 10)
		i.Sent(10)
		assert.True(t, first == (enabled != 0) && !i.Pending(10),
			"priorities %#b: a frame is to be sent: %v, and after it: %v", enabled, first, i.Pending(10))
	}
}
