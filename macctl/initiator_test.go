package macctl

import (
	"math"
	"reflect"
	"testing"

	"pfcswitch/dataplane/assert"
)

const pfcHeader = group + own + "8808 0101"

// A sender drives an Initiator as a port does: ask, append, send, tell.
type sender struct {
	*Initiator
	t *testing.T
}

// sends expects exactly this frame, "" for none, and lets the kernel take it.
func (s sender) sends(now int64, want string) {
	s.t.Helper()
	s.offers(now, want)
	s.Sent(now)
}

// offers expects exactly this frame, which the kernel does not take.
func (s sender) offers(now int64, want string) {
	s.t.Helper()
	if got := s.Pending(now); got != (want != "") {
		s.t.Errorf("at %d: pending %v, want %v", now, got, !got)
	}
	got, ok := s.AppendFrame(nil, now)
	assert.True(s.t, ok == (want != ""), "at %d: something to send %v, want %v", now, ok, !ok)
	assert.Same(s.t, got, assert.Hex(s.t, want), "at %d: frame", now)
}

func (s sender) state(wanted, told uint8, refresh int64) {
	s.t.Helper()
	assert.Equal(s.t, s.XoffWanted(), wanted, "wanted")
	assert.Equal(s.t, s.XoffSent(), told, "told")
	assert.Equal(s.t, s.NextRefresh(), refresh, "next refresh at")
}

func newSender(t *testing.T, change func(*InitiatorConfig)) sender {
	c := InitiatorConfig{Mode: ModePFC, Enabled: 0x18, Speed: 10 * giga, Source: port, WakeDelay: 100_000}
	if change != nil {
		change(&c)
	}
	return sender{NewInitiator(c), t}
}

// For 0xFFFF quanta at 10G.
const (
	fullPause = 3_355_392
	halfPause = fullPause / 2
)

const never = math.MaxInt64

var (
	hold3  = pfcHeader + "0018 0000 0000 0000 ffff 0000" + padding(6+26)
	hold4  = pfcHeader + "0018 0000 0000 0000 0000 ffff" + padding(6+26)
	hold34 = pfcHeader + "0018 0000 0000 0000 ffff ffff" + padding(6+26)
	free34 = pfcHeader + "0018" + padding(16+26)
)

func TestInitiatorXoffRefreshXon(t *testing.T) {
	s := newSender(t, nil)
	s.state(0, 0, never)
	s.sends(1000, "")

	s.Hold(3, CauseBuffer)
	s.state(0x08, 0, never)
	s.sends(1000, hold3)
	s.state(0x08, 0x08, 1000+halfPause)
	s.sends(1000, "")
	s.sends(1000+halfPause-1, "")

	s.sends(1000+halfPause, hold3)
	s.state(0x08, 0x08, 1000+2*halfPause)

	s.Release(3, CauseBuffer)
	s.state(0, 0x08, 1000+2*halfPause)
	s.sends(2_000_000, free34)
	s.state(0, 0, never)
	s.sends(9_000_000, "")
}

// One frame states all changes, and counts as a refresh.
func TestInitiatorOneFrameForAll(t *testing.T) {
	s := newSender(t, nil)
	s.Hold(3, CauseBuffer)
	s.sends(0, hold3)
	s.Hold(4, CauseBuffer)
	s.sends(1000, hold34)
	s.state(0x18, 0x18, 1000+halfPause)
	s.Release(3, CauseBuffer)
	s.sends(2000, hold4)
	s.Hold(3, CauseBuffer)
	s.Release(4, CauseBuffer)
	s.sends(3000, hold3)
	s.sends(3000, "")
}

// A hold that begins and ends before a frame is sent causes no frame.
func TestInitiatorHasNoEdges(t *testing.T) {
	s := newSender(t, nil)
	s.Hold(3, CauseBuffer)
	s.Release(3, CauseBuffer)
	s.sends(0, "")
	s.Hold(3, CauseBuffer)
	s.sends(0, hold3)
	s.Release(3, CauseBuffer)
	s.Hold(3, CauseBuffer)
	s.sends(10, "")
}

func TestInitiatorCauses(t *testing.T) {
	s := newSender(t, nil)
	causes := []Cause{CauseBuffer, CauseRing, CauseTrunk, CauseHeadroomProbe}
	for _, c := range causes {
		s.Hold(3, c)
		s.Hold(3, c) // a bit, not a count
	}
	s.sends(0, hold3)
	for _, c := range causes[1:] {
		s.Release(3, c)
		s.sends(10, "")
	}
	s.Release(4, CauseBuffer) // not held
	s.sends(10, "")
	s.Release(3, CauseBuffer)
	s.sends(10, free34)
}

func TestInitiatorFailedSend(t *testing.T) {
	s := newSender(t, nil)
	s.Hold(3, CauseBuffer)
	s.offers(0, hold3)
	s.state(0x08, 0, never)
	s.offers(100, hold3) // again
	s.Hold(4, CauseBuffer)
	s.sends(200, hold34) // not what could not be sent
	s.Release(3, CauseBuffer)
	s.Release(4, CauseBuffer)
	s.offers(300, free34)
	s.Hold(3, CauseBuffer)
	s.Hold(4, CauseBuffer)
	s.sends(400, "") // the peer still holds both
	s.Sent(500)      // nothing was offered
	s.state(0x18, 0x18, 200+halfPause)
	assert.Equal(t, s.Counters().PFCFrames, [8]uint64{3: 1, 4: 1}, "PFC frames")
}

// The next frame states changes between AppendFrame and Sent.
func TestInitiatorChangeWhileSending(t *testing.T) {
	s := newSender(t, nil)
	s.Hold(3, CauseBuffer)
	s.offers(0, hold3)
	s.Release(3, CauseBuffer)
	s.Hold(4, CauseRing)
	s.Sent(0)
	s.state(0x10, 0x08, halfPause)
	s.sends(10, hold4)
	s.state(0x10, 0x10, 10+fullPause/8)
}

// A ring that fills up says that the switch may stand still again, so the peer's pause is kept long.
func TestInitiatorRefreshesOftenForTheRing(t *testing.T) {
	s := newSender(t, nil)
	s.Hold(3, CauseBuffer)
	s.sends(0, hold3)
	s.state(0x08, 0x08, halfPause)
	s.Hold(3, CauseRing)
	s.state(0x08, 0x08, fullPause/8)
	s.sends(fullPause/8, hold3)
	s.state(0x08, 0x08, fullPause/8*2)
	s.Release(3, CauseRing)
	s.sends(fullPause/8*2, hold3)
	s.state(0x08, 0x08, fullPause/8*2+halfPause)
	s.Hold(4, CauseRing) // another priority: the frame that tells it moves the refresh
	s.state(0x18, 0x08, fullPause/8*2+halfPause)
}

func TestInitiatorRefreshTime(t *testing.T) {
	tests := []struct {
		name   string
		change func(*InitiatorConfig)
		want   int64 // ns after the frame
	}{
		{"half", nil, halfPause},
		{"before the end by four wake-up delays", func(c *InitiatorConfig) { c.WakeDelay = 500_000 },
			fullPause - 2_000_000},
		{"at 1G", func(c *InitiatorConfig) { c.Speed = giga }, 16_776_960},
		{"nominal speed", func(c *InitiatorConfig) { c.Speed = 0 }, halfPause},
		{"least", func(c *InitiatorConfig) { c.Speed = 400 * giga }, MinRefresh},
		{"in time", func(c *InitiatorConfig) { c.Speed, c.WakeDelay, c.InTime = 400*giga, 0, true }, 41_942},
		{"least for a short pause", func(c *InitiatorConfig) { c.Quanta = 1 }, MinRefresh},
		{"least for a long wake-up delay", func(c *InitiatorConfig) { c.WakeDelay = giga }, MinRefresh},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSender(t, tt.change)
			s.Hold(3, CauseBuffer)
			_, ok := s.AppendFrame(nil, 1000)
			assert.MustBeTrue(t, ok, "nothing to send")
			s.Sent(1000)
			s.state(0x08, 0x08, 1000+tt.want)
			assert.True(t, !s.Pending(1000+tt.want-1), "pending too early")
			assert.True(t, s.Pending(1000+tt.want), "not pending when due")
		})
	}
}

func TestInitiatorPause(t *testing.T) {
	var (
		xoff = group + own + "8808 0001 00ff" + padding(42)
		xon  = group + own + "8808 0001 0000" + padding(42)
	)
	s := newSender(t, func(c *InitiatorConfig) { c.Mode, c.Enabled, c.Quanta = ModePause, 0, 0xFF })
	s.Hold(3, CauseBuffer)
	s.sends(0, xoff)
	s.state(0xFF, 0xFF, MinRefresh)
	s.Hold(4, CauseRing)
	s.Release(6, CauseBuffer) // priorities are one
	s.sends(100, "")
	s.sends(MinRefresh, xoff)
	s.Release(0, CauseRing)
	s.sends(MinRefresh+1000, xon)
	s.state(0, 0, never)
	want := InitiatorCounters{PauseFrames: 3, PauseXoffSent: 1, PauseXonSent: 1}
	assert.Equal(t, s.Counters(), want, "counters")
	// 255 quanta are 13,056 ns: the first pause ran out, the second was ended.
	assert.Equal(t, s.HeldTime(WholePort, giga), 13_056+1000, "ns held")
	assert.Equal(t, s.HeldTime(0, giga), 0, "ns for which PFC held")
}

func TestInitiatorRemaining(t *testing.T) {
	s := newSender(t, func(c *InitiatorConfig) { c.Remaining, c.Quanta = true, 0x1111 })
	s.SetRemaining(3, 0x8000*512+511)
	s.SetRemaining(4, math.MaxInt64)
	s.Hold(3, CauseBuffer)
	s.Hold(4, CauseBuffer)
	s.sends(0, pfcHeader+"0018 0000 0000 0000 8000 ffff"+padding(6+26))
	refresh := QuantaDuration(0x8000, 10*giga) / 2 // of the shorter one
	s.state(0x18, 0x18, refresh)
	s.SetRemaining(3, 0x7000*512)
	s.sends(100, "")
	s.sends(refresh, pfcHeader+"0018 0000 0000 0000 7000 ffff"+padding(6+26))

	// 600 µs, which is MinRefresh + 4 · 100 µs, are 11,719 quanta: no queue is so full that its peer could run free.
	s.SetRemaining(3, 0)
	s.SetRemaining(4, -1)
	s.sends(giga, pfcHeader+"0018 0000 0000 0000 2dc7 2dc7"+padding(6+26))
	s.state(0x18, 0x18, giga+200_013)
}

func TestInitiatorHeldTime(t *testing.T) {
	s := newSender(t, nil)
	total := func(now, want int64) {
		t.Helper()
		assert.Equal(t, s.HeldTime(3, now), want, "at %d: ns held", now)
	}
	s.Hold(3, CauseBuffer)
	total(1000, 0) // not told yet
	s.sends(1000, hold3)
	total(1500, 500)
	s.sends(1000+halfPause, hold3)
	total(1000+fullPause, fullPause) // refresh
	s.Release(3, CauseBuffer)
	total(2000+fullPause, 1000+fullPause) // not told yet
	s.sends(3000+fullPause, free34)
	total(giga, 2000+fullPause)

	s.Hold(3, CauseBuffer)
	s.sends(giga, hold3)
	total(2*giga, 2000+2*fullPause) // ran out
	s.sends(2*giga, hold3)
	total(2*giga+7, 2007+2*fullPause)
	s.Reset(2*giga + 10)
	total(3*giga, 2010+2*fullPause)
	assert.Equal(t, s.HeldTime(4, 3*giga), 0, "ns for which priority 4 was held")
	want := InitiatorCounters{PFCFrames: [8]uint64{3: 5, 4: 5}, XoffSent: [8]uint64{3: 2}, XonSent: [8]uint64{3: 1}}
	assert.Equal(t, s.Counters(), want, "counters")
}

// At link down the peer forgets its pause, and the holds stay.
func TestInitiatorReset(t *testing.T) {
	s := newSender(t, nil)
	s.Hold(3, CauseBuffer)
	s.sends(0, hold3)
	s.Hold(4, CauseBuffer)
	s.offers(10, hold34)
	s.Reset(20)
	s.Sent(30) // too late: that frame went down with the link
	s.state(0x18, 0, never)
	s.sends(1000, hold34)
}

// A trunk's hold asks for the longest time, whatever the port's other holds ask for.
func TestInitiatorTrunkHoldsForLongest(t *testing.T) {
	for name, change := range map[string]func(*InitiatorConfig){
		"a fixed time":       func(c *InitiatorConfig) { c.Quanta = 20_000 },
		"the remaining time": func(c *InitiatorConfig) { c.Quanta, c.Remaining = 20_000, true },
	} {
		s := newSender(t, change)
		s.SetRemaining(3, 20_000*QuantumBits)
		s.SetRemaining(4, 20_000*QuantumBits)
		times := func() [8]uint16 {
			b, ok := s.AppendFrame(nil, 0)
			f, reason := Parse(b, [6]byte{})
			assert.MustBeTrue(t, ok && reason == ReasonNone, "%s: %v, %v", name, ok, reason)
			return f.Time
		}
		s.Hold(3, CauseTrunk)
		s.Hold(4, CauseBuffer)
		assert.Equal(t, times(), [8]uint16{3: 0xFFFF, 4: 20_000}, "%s: times", name)
		s.Hold(3, CauseBuffer)
		s.Release(3, CauseTrunk)
		assert.Equal(t, times(), [8]uint16{3: 20_000, 4: 20_000}, "%s: without the trunk's hold times", name)
	}
}

func TestInitiatorReportsPauses(t *testing.T) {
	var got []int64
	i := NewInitiator(InitiatorConfig{Mode: ModePFC, Enabled: 1 << 3, Speed: 1e9, Quanta: 100})
	i.OnPauseEnd(func(ns int64) { got = append(got, ns) })
	tell := func(now int64) {
		if _, ok := i.AppendFrame(nil, now); ok {
			i.Sent(now)
		}
	}
	i.Hold(3, CauseBuffer)
	tell(1_000)
	i.Release(3, CauseBuffer)
	tell(9_000) // XON
	i.Hold(3, CauseRing)
	tell(20_000)
	tell(900_000) // the refresh came too late: the pause had run out
	i.Reset(900_100)
	want := []int64{8_000, 100 * nsQuantum, 100}
	assert.True(t, reflect.DeepEqual(got, want), "told %v, want %v", got, want)
}
