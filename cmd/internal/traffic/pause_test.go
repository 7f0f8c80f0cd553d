package traffic

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/dataplane/runner"
	"pfcswitch/macctl"
)

func TestBlocked(t *testing.T) {
	const ms = time.Millisecond
	at := time.Unix(1000, 0)
	once := Blocking{At: at, For: 10 * ms}
	again := Blocking{At: at, For: 10 * ms, Every: 25 * ms, Times: 3}
	for _, tt := range []struct {
		after       time.Duration
		once, again bool
	}{
		{-time.Hour, false, false}, {-1, false, false}, {0, true, true}, {10*ms - 1, true, true},
		{10 * ms, false, false},
		{25*ms - 1, false, false}, {25 * ms, false, true}, {35*ms - 1, false, true}, {35 * ms, false, false},
		{50 * ms, false, true}, {60 * ms, false, false},
		{75 * ms, false, false}, {time.Hour, false, false}, // three times, and no more
	} {
		assert.Equal(t, once.active(at.Add(tt.after)), tt.once, "once, after %v", tt.after)
		assert.Equal(t, again.active(at.Add(tt.after)), tt.again, "again, after %v", tt.after)
	}
	never := (Blocking{})
	assert.True(t, !never.active(at) && !never.active(time.Time{}), "a sink that is not to block does")
}

// The peer of a sink that gets no CPU stays held: XOFF is sent again without the sink, and counted.
func TestPauserIsRefreshed(t *testing.T) {
	near, far, err := porttest.Pair(porttest.Options{Now: runner.Now, Slots: 16})
	assert.Must(t, err)
	defer func() { _, _ = near.Close(), far.Close() }()
	p := assert.Got(newPauser(near, macctl.ModePFC, 1<<3, 0, [6]byte{})).Must(t)
	p.block(true)
	p.update(runner.Now())
	const least = 4
	for n, deadline := uint64(0), time.Now().Add(30*time.Second); n < least; time.Sleep(time.Millisecond) {
		for b, _ := far.Control(); b != nil; b, _ = far.Control() {
			f, _ := macctl.Parse(b, macctl.GroupAddress)
			assert.MustBeTrue(t, f.Time[3] == 0xffff, "%+v, want XOFF", f)
			far.ControlDone()
			n++
		}
		assert.MustBeTrue(t, !time.Now().After(deadline), "XOFF came %d times, want %d", n, least)
	}
	assert.Must(t, p.close())
	if got := p.sender.Counters(); got.PFCFrames[3] < least || got.XoffSent[3] != 1 {
		t.Errorf("%+v, want one XOFF and %d frames or more", got, least)
	}
	freed := false // by the last frame
	for b, _ := far.Control(); b != nil; b, _ = far.Control() {
		f, _ := macctl.Parse(b, macctl.GroupAddress)
		freed = f.Vector == 1<<3 && f.Time[3] == 0
		far.ControlDone()
	}
	assert.True(t, freed, "the peer stays held when the sink has ended")
}

// A sink that gets no CPU while frames wait holds its peer, however few they are. Its next look ends that.
func TestSinkThatDoesNotLookHolds(t *testing.T) {
	near, far, err := porttest.Pair(porttest.Options{Now: runner.Now, Slots: 1024,
		Classify: func([]byte) port.Class { return port.Lossless }})
	assert.Must(t, err)
	defer func() { _, _ = near.Close(), far.Close() }()
	p := assert.Got(newPauser(near, macctl.ModePFC, 1<<3, 0, [6]byte{})).Must(t)
	p.update(runner.Now())
	batch := port.NewBatch()
	batch.Reset()
	batch.Begin(&frame.VnetHeader{})
	batch.Part(make([]byte, 60))
	batch.End()
	assert.Got(far.Send(batch)).Must(t)
	await := func(time uint16) {
		t.Helper()
		for deadline := runner.Now() + 30e9; ; {
			b, _ := far.Control()
			assert.MustBeTrue(t, b != nil || runner.Now() <= deadline, "no frame with time %d", time)
			if b == nil {
				continue
			}
			f, _ := macctl.Parse(b, macctl.GroupAddress)
			far.ControlDone()
			if f.Time[3] == time {
				return
			}
		}
	}
	await(0xffff)
	var frames [1]port.Frame
	near.Release(port.Lossless, near.Receive(port.Lossless, frames[:], 100))
	p.update(runner.Now())
	await(0)
	assert.Must(t, p.close())
}

// A sink that takes frames at a rate while it blocks holds its peer while 128 KiB wait, and not before or after.
func TestSinkBlocksAtARate(t *testing.T) {
	s, _ := testSink(t, SinkConfig{FlowControl: "pfc", Lossless: 1 << 3, Block: Blocking{Rate: 8_000_000}})
	s.backlog.Add(1<<20, 0)
	assert.True(t, !s.blocks(false, 0) && !s.blocks(true, 0), "what came before counts")
	s.backlog.Add(128<<10, 0)
	assert.True(t, s.blocks(true, 0), "the peer is not held")
	assert.True(t, !s.blocks(true, 66_000_000), "the peer stays held when less than 64 KiB wait")
	s.backlog.Add(128<<10, 66_000_000)
	assert.True(t, s.blocks(true, 66_000_000) && !s.blocks(false, 66_000_000), "the peer stays held at the end")
	s.c.Block.Rate = 0
	assert.True(t, s.blocks(true, 0), "without a rate the peer is not held")
}
