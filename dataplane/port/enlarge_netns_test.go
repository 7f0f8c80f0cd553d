package port_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// bySizeAndPCP steers frames of priority 3 to the lossless rings, and small ones of both classes to those for small
// frames. It returns its result in the accumulator, as the switch's program does.
func bySizeAndPCP(t testing.TB) []bpf.RawInstruction {
	t.Helper()
	return assert.Got(bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 1},
		bpf.RetConstant{Val: controlRing},
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: smallLimit - frame.HeaderOctets, SkipTrue: 5},
		bpf.LoadExtension{Num: bpf.ExtVLANTag},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 13},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1}, // priority 3 is odd, and 2 is not
		bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: smallRing},
		bpf.RetA{},
		bpf.LoadExtension{Num: bpf.ExtVLANTag},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 13},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1},
		bpf.RetA{},
	})).Must(t)
}

// A port gets larger rings while frames of all kinds come as fast as they are read, twice. Every frame comes once and
// in its turn within its class, and MAC Control frames come too.
func TestLargerRingsWhileFramesCome(t *testing.T) {
	t.Run("small rings", func(t *testing.T) { largerWhileFramesCome(t, false) })
	t.Run("a queue", func(t *testing.T) { largerWhileFramesCome(t, true) })
}

func largerWhileFramesCome(t *testing.T, queued bool) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout, c.LosslessSlots, c.OtherSlots = smallLimit, bySizeAndPCP(t), 160, 160
	c.Queued = queued
	w.reopen(c)
	c.Queued = false
	var read [port.NumClasses]atomic.Int64
	var quit atomic.Bool
	sent := make(chan error, 1)
	go func() { // at most 32 frames of a class wait, however late the reader is
		for seq := 0; !quit.Load(); seq++ {
			class := seq % 2
			for int64(seq/2)-read[class].Load() > 32 && !quit.Load() {
				runtime.Gosched()
			}
			b := craft(tci(uint8(2+class), 7), experimental, seq/2, []int{64, 300, 1514, 9000}[seq/2%4])
			if err := w.host.Send(frame.VnetHeader{}, b); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	defer func() {
		quit.Store(true)
		assert.NoError(t, <-sent, "the sender")
	}()
	frames := make([]port.Frame, 16)
	readSome := func() {
		for class := range port.NumClasses {
			n := w.port.Receive(class, frames, 1<<20)
			for _, f := range frames[:n] {
				assert.MustBeTrue(t, !f.Truncated, "a frame of class %v fits no ring", class)
				if !ours(f.Data) {
					continue
				}
				seq := int64(binary.BigEndian.Uint32(f.Data[frame.HeaderOctets+frame.TagOctets:]))
				assert.MustEqual(t, seq, read[class].Load(), "next frame of class %v", class)
				read[class].Add(1)
			}
			w.port.Release(class, n)
		}
	}
	readFor := func(n int64) {
		for from := read[0].Load(); read[0].Load() < from+n; {
			readSome()
		}
	}
	readFor(1000)
	for _, slots := range []int{500, 1000} {
		c.LosslessSlots, c.OtherSlots = slots, slots
		larger := assert.Got(w.port.Larger(c)).Must(t)
		readFor(1000)
		larger.Join()
		readFor(1000)
		steered := make(chan error, 1)
		go func() { steered <- larger.Steer() }()
		for done := false; !done; readSome() {
			select {
			case err := <-steered:
				assert.Must(t, err)
				done = true
			default:
			}
		}
		readFor(1000)
		got := w.port.Slots(port.Lossless)
		assert.True(t, got.Full >= slots && got.Small >= slots, "%+v slots after a change to %d", got, slots)
	}
	_, err := w.port.Larger(c)
	assert.Fails(t, err, "enlarged too often", "larger rings for the third time")
	assert.Equal(t, [2]uint64{w.port.Losses(port.Other), w.port.Losses(port.Lossless)}, [2]uint64{}, "losses")
	another := w.socket("host") // the sender has the first one
	assert.Must(t, another.Send(frame.VnetHeader{}, craft(nil, frame.TypeMACControl, 1, 60)))
	eventually(t, "a MAC Control frame", func() bool {
		b, _ := w.port.Control()
		return b != nil
	})
}

// A queue in place of the lossless rings holds as many frames as they do, long and short ones, and says how full it is.
// The frames are, between each two powers of two of memory, the shortest and the longest for which QueueSuffices, and
// all together take more memory than the least queue has.
func TestQueueHoldsAsMuch(t *testing.T) {
	for _, row := range []struct{ frameSize, slots, octets, frames int }{
		{1514, 4000, 64, 8000}, {1514, 4000, 300, 8000}, {1514, 4000, 1514, 4000},
		{513, 10_000, 513, 10_000}, {624, 10_000, 624, 10_000}, {1025, 5000, 1025, 5000}, {1648, 4000, 1648, 4000},
		{2049, 2500, 2049, 2500}, {3696, 2000, 3696, 2000}, {4097, 1500, 4097, 1500}, {7792, 1000, 7792, 1000},
		{8193, 1000, 8193, 1000}, {9014, 1000, 9014, 1000},
	} {
		assert.MustBeTrue(t, port.QueueSuffices(row.frameSize), "frames of %d octets have rings at once", row.frameSize)
		w := newWire(t)
		w.queueHolds(row.frameSize, row.slots, row.octets, row.frames)
		assert.Must(t, w.port.Close())
	}
}

// queueHolds sends the port, with a queue for some slots, frames of some octets, which the queue has to hold.
func (w *wire) queueHolds(frameSize, slots, octets, n int) {
	t := w.t
	t.Helper()
	what := fmt.Sprintf("%d octets, slots for %d", octets, frameSize)
	c := w.config()
	c.SmallFrame, c.Fanout, c.FrameSize, c.LosslessSlots, c.Queued = smallLimit, bySizeAndPCP(t), frameSize, slots, true
	w.reopen(c)
	assert.Equal(t, w.port.Slots(port.Lossless), port.Slots{Full: slots, Small: slots, Queued: true}, "%s: slots", what)
	half := false
	for seq := range n {
		w.send(frame.VnetHeader{}, craft(tci(3, 7), experimental, seq, octets))
		if seq == n/2+n/16 {
			half = w.port.BacklogExceeds(port.Lossless, 1<<30)
		}
	}
	w.awaitBacklog(port.Lossless, n)
	assert.True(t, half, "%s: the port is not seen to fill up", what)
	fill := w.port.Backlog(port.Lossless).Fill
	assert.True(t, fill > 0.25 && fill <= 1, "%s: full to %v", what, fill)
	w.wantNumbered(n, octets)
	assert.Equal(t, w.port.Losses(port.Lossless), 0, "%s: losses", what)
}

// wantNumbered receives n lossless frames of some octets, in order.
func (w *wire) wantNumbered(n, octets int) {
	w.t.Helper()
	frames := make([]port.Frame, 16)
	for seq := 0; seq < n; {
		got := w.port.Receive(port.Lossless, frames, 1<<20)
		assert.MustBeTrue(w.t, got > 0, "%d octets: %d of %d frames came", octets, seq, n)
		for _, f := range frames[:got] {
			assert.MustBeTrue(w.t, !f.Truncated && len(f.Data) == octets, "%d octets: frame %d is cut", octets, seq)
			number := int(binary.BigEndian.Uint32(f.Data[frame.HeaderOctets+frame.TagOctets:]))
			assert.MustEqual(w.t, number, seq, "number of a frame")
			seq++
		}
		w.port.Release(port.Lossless, got)
	}
}

// A look at a queue counts what waits there before the first frame was read, too.
func TestQueueIsSeenBeforeItIsRead(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout, c.LosslessSlots, c.Queued = smallLimit, bySizeAndPCP(t), 4000, true
	w.reopen(c)
	assert.Equal(t, w.port.Backlog(port.Lossless), port.Backlog{}, "backlog of an empty port")
	const waiting = 1000
	w.lossless(waiting, 1514)
	w.awaitBacklog(port.Lossless, waiting)
	got := w.port.Backlog(port.Lossless)
	share := float64(waiting) / float64(2*c.LosslessSlots) // of the slots; a frame takes a larger one of the queue
	assert.True(t, got.Octets >= waiting*1514 && got.Fill > 1.2*share && got.Fill <= 2*share, "backlog %+v", got)
	w.collect(port.Lossless, waiting)
	assert.Equal(t, w.port.Backlog(port.Lossless), port.Backlog{}, "backlog of a port that was read")
}

// The rings of a port take as much memory as its configuration says.
func TestRingOctets(t *testing.T) {
	w := newWire(t)
	for _, queued := range []bool{false, true} {
		c := w.config()
		c.SmallFrame, c.Fanout, c.LosslessSlots, c.Queued = smallLimit, bySizeAndPCP(t), 4000, queued
		w.reopen(c)
		assert.Equal(t, w.port.RingMemory(), c.RingOctets(), "octets, queued %v", queued)
	}
}

// A frame that found no room in a queue by which all come is told from a long one, also once larger rings have joined.
func TestQueueOverflows(t *testing.T) {
	for _, queued := range []bool{true, false} {
		w := newWire(t)
		c := w.config()
		c.SmallFrame, c.Fanout, c.LosslessSlots, c.Queued = smallLimit, bySizeAndPCP(t), 4000, queued
		octets, sent := 1514, 7000
		if !queued {
			c.Fanout, octets, sent = assert.Got(bpf.Assemble([]bpf.Instruction{
				bpf.RetConstant{Val: longRing + uint32(port.Lossless)}})).Must(t), 9000, 3000
		}
		w.reopen(c)
		w.lossless(sent, octets)
		w.awaitBacklog(port.Lossless, sent)
		most, takes := c.QueueOctets()-8<<20, w.port.Backlog(port.Lossless).Octets // 8 MiB are the other class's
		assert.True(t, takes >= most && takes < most+2*(octets+1024), "the queue takes %d octets, want %d", takes, most)
		c.Queued = false
		larger := assert.Got(w.port.Larger(c)).Must(t)
		larger.Join()
		lost := 0
		for _, f := range w.collect(port.Lossless, sent) {
			assert.MustEqual(t, f.Overflow, f.Truncated && queued, "overflow of a queue for all frames")
			if f.Truncated {
				lost++
			}
		}
		assert.True(t, lost > 0, "no frame is lost: nothing is shown")
		assert.Must(t, larger.Steer())
	}
}

// A port that is not in use may get a larger queue in place of its queue, which then holds what it says.
func TestLargerQueue(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout, c.Queued = smallLimit, bySizeAndPCP(t), true
	w.reopen(c)
	c.LosslessSlots = 4000
	larger := assert.Got(w.port.Larger(c)).Must(t)
	larger.Join()
	assert.Must(t, larger.Steer())
	for seq := range 4000 {
		w.send(frame.VnetHeader{}, craft(tci(3, 7), experimental, seq, 1514))
	}
	w.awaitBacklog(port.Lossless, 4000)
	w.wantNumbered(4000, 1514)
	assert.Equal(t, w.port.Losses(port.Lossless), 0, "losses")
}

// Rings of before keep no memory for frames, though frames come to them until the port is steered to the larger ones. A
// frame that was received before stays as it is until it is released.
func TestRingsOfBeforeKeepNoFrames(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout, c.Queued = smallLimit, bySizeAndPCP(t), true
	w.reopen(c)
	w.lossless(8, 300)
	w.collect(port.Lossless, 8)
	want := w.lossless(1, 1000)
	w.awaitBacklog(port.Lossless, 1)
	var frames [1]port.Frame
	assert.MustEqual(t, w.port.Receive(port.Lossless, frames[:], 1<<20), 1, "frames")
	assert.True(t, w.port.FrameMemory(port.Lossless) >= 64<<10, "no memory for frames: nothing is shown")
	c.Queued = false
	larger := assert.Got(w.port.Larger(c)).Must(t)
	larger.Join()
	wantData(t, frames[:], want)
	w.port.Release(port.Lossless, 1)
	assert.Equal(t, w.port.FrameMemory(port.Lossless), 0, "octets for frames once the last was released")
	late := w.lossless(1, 1000)
	wantData(t, w.collect(port.Lossless, 1), late)
	assert.Equal(t, w.port.FrameMemory(port.Lossless), 0, "octets for frames once a late one was released")
	assert.Must(t, larger.Steer())
}

// The rings of an empty port keep no memory for frames when larger ones join.
func TestLargerRingsOfAnEmptyPort(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout = smallLimit, bySizeAndPCP(t)
	w.reopen(c)
	w.lossless(8, 60)
	w.lossless(8, 9000)
	w.collect(port.Lossless, 16)
	assert.True(t, w.port.FrameMemory(port.Lossless) > 64<<10, "no memory for frames: nothing is shown")
	larger := assert.Got(w.port.Larger(c)).Must(t)
	larger.Join()
	assert.Equal(t, w.port.FrameMemory(port.Lossless), 0, "octets for frames")
	assert.Must(t, larger.Steer())
}

// lossless lets the host send n numbered frames of the given length with priority 3.
func (w *wire) lossless(n, octets int) (sent [][]byte) {
	w.t.Helper()
	for range n {
		b := craft(tci(3, 7), experimental, w.seq, octets)
		w.seq++
		w.send(frame.VnetHeader{}, b)
		sent = append(sent, b)
	}
	return sent
}

// Larger rings whose steering fails leave, and the port is as it was.
func TestLargerRingsThatLeave(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.Queued = true
	w.reopen(c)
	c.Queued, c.LosslessSlots, c.OtherSlots = false, 2*c.LosslessSlots, 2*c.OtherSlots
	before, sockets := w.port.Slots(port.Lossless), len(w.port.Descriptors(nil, port.WorkLossless))
	larger := assert.Got(w.port.Larger(c)).Must(t)
	larger.Join()
	larger.Leave()
	assert.Must(t, larger.Close())
	assert.Equal(t, w.port.Slots(port.Lossless), before, "slots")
	assert.Equal(t, len(w.port.Descriptors(nil, port.WorkLossless)), sockets, "sockets")
	want := w.plain(5, 300)
	w.awaitBacklog(port.Other, len(want))
}

// A link that goes down and comes up again and again, while frames come, leaves none in a ring that nobody reads: the
// kernel takes the members of the group back one by one.
func TestLargerRingsOfALinkThatFlaps(t *testing.T) {
	t.Run("small rings", func(t *testing.T) { largerOfALinkThatFlaps(t, false) })
	t.Run("a queue", func(t *testing.T) { largerOfALinkThatFlaps(t, true) })
}

func largerOfALinkThatFlaps(t *testing.T, queued bool) {
	w := newWire(t)
	c := w.config()
	c.Queued = queued
	w.reopen(c)
	c.Queued, c.LosslessSlots, c.OtherSlots = false, 2*c.LosslessSlots, 2*c.OtherSlots
	larger := assert.Got(w.port.Larger(c)).Must(t)
	larger.Join()
	assert.Must(t, larger.Steer())
	var quit atomic.Bool
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for seq := 0; !quit.Load(); seq++ {
			_ = w.host.Send(frame.VnetHeader{}, craft(tci(3, 7), experimental, seq, 300)) // the link may be down
		}
	}()
	frames := make([]port.Frame, 64)
	readAll := func() {
		for class := range port.NumClasses {
			for n := 1; n > 0; {
				n = w.port.Receive(class, frames, 1<<20)
				w.port.Release(class, n)
			}
		}
	}
	for range 100 {
		setUp(t, w.handle, "sw", false)
		setUp(t, w.handle, "sw", true)
		readAll()
	}
	quit.Store(true)
	<-sent
	eventually(t, "the port is empty", func() bool {
		readAll()
		w.port.ClearError()
		return w.port.Empty()
	})
	w.clear()
	b := craft(nil, frame.TypeMACControl, 1, 60)
	eventually(t, "MAC Control frames come by their ring", func() bool {
		assert.Must(t, w.host.Send(frame.VnetHeader{}, b))
		got, _ := w.port.Control()
		return got != nil
	})
	senders := map[port.Class]func(n, octets int) [][]byte{port.Lossless: w.lossless, port.Other: w.plain}
	for class, send := range senders {
		send(1, 300)
		eventually(t, "a frame comes by a new ring of its class", func() bool { return port.InNewest(w.port, class) })
		w.collect(class, 1)
	}
}

// Larger rings in another namespace are no rings of this port.
func TestLargerRingsElsewhere(t *testing.T) {
	w, other := newWire(t), newWire(t)
	c := w.config()
	c.Netns = other.ns
	_, err := w.port.Larger(c)
	assert.True(t, errors.Is(err, port.ErrNoInterface), "error %v, want %v", err, port.ErrNoInterface)
}

// Larger rings that cannot be opened leave the port as it was.
func TestLargerRingsThatCannotBe(t *testing.T) {
	w := newWire(t)
	before := w.port.Slots(port.Lossless)
	c := w.config()
	c.LosslessSlots = 1 << 30
	_, err := w.port.Larger(c)
	assert.Fails(t, err, "not enough memory for the receive rings", "larger rings")
	assert.Equal(t, w.port.Slots(port.Lossless), before, "slots")
	want := w.plain(5, 300)
	w.awaitBacklog(port.Other, len(want))
}
