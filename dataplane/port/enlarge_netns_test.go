package port_test

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// bySizeAndPCP steers frames of priority 3 to the lossless rings, and small ones of both classes to those for small
// frames. It returns its result in the accumulator, as the switch's program does.
func bySizeAndPCP(t *testing.T) []bpf.RawInstruction {
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
// in its turn within its class, MAC Control frames come too, and in the end the worker looks at the larger rings alone,
// and at ring 0.
func TestLargerRingsWhileFramesCome(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout, c.LosslessSlots, c.OtherSlots = smallLimit, bySizeAndPCP(t), 160, 160
	w.reopen(c)
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
		assert.Must(t, larger.Join())
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
		for deadline := time.Now().Add(20 * time.Second); !larger.Leave(); readSome() {
			assert.MustBeTrue(t, time.Now().Before(deadline), "the rings of before hold frames for 20 s")
		}
		readFor(1000)
		got := w.port.Slots(port.Lossless)
		assert.True(t, got.Full >= slots && got.Small >= slots, "%+v slots after a change to %d", got, slots)
	}
	assert.Equal(t, len(w.port.Descriptors(nil, port.WorkLossless)), 3, "lossless rings to look at")
	assert.Equal(t, len(w.port.Descriptors(nil, port.WorkOther)), 4, "other rings to look at")
	assert.Equal(t, [2]uint64{w.port.Losses(port.Other), w.port.Losses(port.Lossless)}, [2]uint64{}, "losses")
	another := w.socket("host") // the sender has the first one
	assert.Must(t, another.Send(frame.VnetHeader{}, craft(nil, frame.TypeMACControl, 1, 60)))
	eventually(t, "a MAC Control frame", func() bool {
		b, _ := w.port.Control()
		return b != nil
	})
}

// Where a program cannot finish, a frame comes to ring 0 of the first rings, which is read after they have left.
func TestLargerRingsOfAProgramThatFails(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.OtherSlots *= 2
	larger := assert.Got(w.port.Larger(c)).Must(t)
	assert.Must(t, larger.Join())
	assert.Must(t, larger.Steer())
	assert.True(t, larger.Leave(), "the empty rings of before have left")
	beyond := assert.Got(bpf.Assemble([]bpf.Instruction{bpf.LoadAbsolute{Off: 9999, Size: 1},
		bpf.RetConstant{Val: uint32(port.Lossless)}})).Must(t)
	assert.Must(t, w.port.Steer(beyond))
	w.send(frame.VnetHeader{}, craft(nil, experimental, 1, 300))
	w.awaitBacklog(port.Other, 1)
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
