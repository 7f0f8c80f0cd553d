package macctl

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// Results go here, so that no call is optimised away.
var (
	sinkFrame  Frame
	sinkReason Reason
	sinkVector uint8
)

func BenchmarkParse(b *testing.B) {
	for name, frame := range map[string][]byte{"pause": pause(9), "pfc": pfc(map[int]uint16{3: 9})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkFrame, sinkReason = Parse(frame, port)
			}
		})
	}
}

func BenchmarkReceive(b *testing.B) {
	r := NewReceiver(ModePFC, 0x08, 10*giga, port)
	frame := pfc(map[int]uint16{3: 9})
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		sinkReason = r.Receive(frame, now, now)
	}
}

func BenchmarkPaused(b *testing.B) {
	r := NewReceiver(ModePFC, 0x08, 10*giga, port)
	r.Receive(pfc(map[int]uint16{3: 0xFFFF}), 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		sinkVector = r.Paused(1000)
	}
}

func BenchmarkAppendFrame(b *testing.B) {
	for name, mode := range map[string]Mode{"pause": ModePause, "pfc": ModePFC} {
		b.Run(name, func(b *testing.B) {
			i := NewInitiator(InitiatorConfig{Mode: mode, Enabled: 0x08, Speed: 10 * giga, Source: port})
			i.Hold(3, CauseBuffer)
			frame, _ := i.AppendFrame(nil, 0)
			i.Sent(0)
			b.ReportAllocs()
			for b.Loop() {
				now := i.NextRefresh()
				frame, _ = i.AppendFrame(frame[:0], now)
				i.Sent(now)
			}
		})
	}
}

func TestNothingAllocates(t *testing.T) {
	r := NewReceiver(ModePFC, 0x08, oneNS, port)
	i := NewInitiator(InitiatorConfig{Mode: ModePFC, Enabled: 0x08, Speed: oneNS, Source: port})
	out := make([]byte, 0, FrameSize)
	now := int64(0)
	got := testing.AllocsPerRun(100, func() {
		now += MinRefresh
		i.Hold(3, CauseBuffer)
		i.SetRemaining(3, now)
		out, _ = i.AppendFrame(out[:0], now)
		i.Sent(now)
		sinkReason = r.Receive(out, now, now)
		sinkVector = r.Paused(now + 1)
		i.Release(3, CauseBuffer)
		out, _ = i.AppendFrame(out[:0], now+2)
		i.Sent(now + 2)
		sinkReason = r.Receive(out, now+2, now+3)
		now += r.PausedTime(3, now) + i.HeldTime(3, now)
	})
	assert.Equal(t, got, 0, "allocations")
	c := r.Counters()
	assert.True(t, c.PFCFrames[3] >= 200 && c.Ignored == [NumReasons]uint64{}, "the frames were not obeyed: %+v", c)
}
