package port_test

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// smallLimit is the longest frame, without an outer tag, that bySize counts as small.
const smallLimit = 144

// bySize steers small frames to the small ring of Other, all others to Other.
func bySize(t *testing.T) []bpf.RawInstruction {
	t.Helper()
	program := assert.Got(bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: smallLimit - frame.HeaderOctets, SkipTrue: 1},
		bpf.RetConstant{Val: smallRing},
		bpf.RetConstant{Val: uint32(port.Other)},
	})).Must(t)
	return program
}

// sized reopens the wire's port with rings for small frames.
func sized(t *testing.T) *wire {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout = smallLimit, bySize(t)
	return w.reopen(c)
}

// reopen replaces the port by one with another configuration.
func (w *wire) reopen(c port.Config) *wire {
	assert.Must(w.t, w.port.Close())
	w.port = openPort(w.t, c)
	return w
}

// Frames of all lengths, from two rings, are handed over once, whole and in the order in which they were sent, however
// often they are released and received again.
func TestClassRingsKeepsTheOrder(t *testing.T) {
	w := sized(t)
	var want [][]byte
	lengths := []int{60, 61, smallLimit - 1, smallLimit, smallLimit + 1, smallLimit + 4, 253, 1000, 1514}
	for range 100 {
		n := lengths[rand.IntN(len(lengths))]
		b := craft(nil, experimental, len(want), n)
		if rand.IntN(2) == 0 && n < 1514 {
			b = craft(tci(2, 7), experimental, len(want), n+frame.TagOctets)
		}
		w.send(frame.VnetHeader{}, b)
		want = append(want, b)
	}
	w.awaitBacklog(port.Other, len(want))
	var frames [64]port.Frame
	for taken := 0; taken < len(want); {
		n := w.port.Receive(port.Other, frames[:1+rand.IntN(len(frames))], 1<<20)
		assert.MustBeTrue(t, n != 0, "nothing after %d of %d frames", taken, len(want))
		wantData(t, frames[:n], want[taken:taken+n])
		done := rand.IntN(n + 1)
		w.port.Release(port.Other, done)
		w.port.Rewind(port.Other)
		taken += done
	}
	waiting, lost := w.port.Backlog(port.Other).Frames, w.port.Losses(port.Other)
	assert.True(t, waiting == 0 && lost == 0, "%d frames wait and %d are lost at the end", waiting, lost)
}

// The same holds while frames arrive: a frame of one ring is not handed over before an earlier frame of the other ring,
// even if the earlier frame became visible after the first look at its ring.
func TestClassRingsKeepsTheOrderOfArrival(t *testing.T) {
	w := sized(t)
	const sent = 20_000
	var last atomic.Int64
	last.Store(-1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := range sent {
			if err := w.host.Send(frame.VnetHeader{}, craft(nil, experimental, seq, 60+200*(seq%2))); err != nil {
				t.Error(err)
				return
			}
			for int64(seq)-last.Load() > 16 {
				runtime.Gosched()
			}
		}
	}()
	var frames [4]port.Frame
	for deadline := time.Now().Add(20 * time.Second); last.Load() < sent-1; {
		n := w.port.Receive(port.Other, frames[:], 1<<20)
		for _, f := range frames[:n] {
			if !ours(f.Data) {
				continue
			}
			if seq := int64(binary.BigEndian.Uint32(f.Data[frame.HeaderOctets:])); seq != last.Load()+1 {
				last.Store(sent) // the sender ends
				t.Fatalf("frame %d does not come in its turn", seq)
			}
			last.Add(1)
		}
		w.port.Release(port.Other, n)
		if n == 0 && time.Now().After(deadline) {
			last.Store(sent)
			t.Fatal("frames fail to come")
		}
	}
	<-done
}

// The rings for small frames have slots for longer frames than bySize steers to them. Backlog counts their slot size.
func TestSmallRing(t *testing.T) {
	w := sized(t)
	c := w.config()
	small := port.SmallSlots(c.OtherSlots, c.FrameSize, smallLimit)
	const blocks = 256 << 10 // octets, a whole number of blocks in which the kernel has slots
	want := port.Slots{Full: blocks / port.SlotOctets(c.FrameSize), Small: blocks / port.SlotOctets(smallLimit)}
	assert.Equal(t, w.port.Slots(port.Other), want, "slots, want as much memory of full ones as of small ones")
	assert.MustBeTrue(t, small > c.OtherSlots, "%d slots for small frames beside %d", small, c.OtherSlots)
	w.plain(5, 60)
	w.plain(3, 1000)
	w.awaitBacklog(port.Other, 8)
	got := w.port.Backlog(port.Other)
	if want := 5*smallLimit + 3*c.FrameSize; got.Octets != want || got.Fill <= 0 || got.Fill >= 0.5 {
		t.Errorf("%d octets wait at most, the fullest ring is full to %v; want %d and some", got.Octets, got.Fill, want)
	}
	assert.True(t, w.port.BacklogExceeds(port.Other, 4) && !w.port.BacklogExceeds(port.Other, 5),
		"more than 5 frames wait in one ring, or not more than 4")
}

// A ring for small frames takes as much memory as the ring beside it, up to the limit, and never has fewer slots.
func TestSmallSlots(t *testing.T) {
	for _, row := range []struct{ slots, frame, want int }{{1, 60, 1}, {100, 1514, 637}, {4876, 1514, 16_384},
		{4096, 9014, 16_384}, {20_560, 1514, 20_560}, {85_227, 64, 85_227}} {
		assert.Equal(t, port.SmallSlots(row.slots, row.frame, smallLimit), row.want,
			"%d slots of %d octets: small ones", row.slots, row.frame)
	}
}

// A given number of slots for small frames holds for both rings.
func TestSmallSlotsGiven(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.SmallFrame, c.Fanout, c.SmallSlots = smallLimit, bySize(t), 30_000
	w.reopen(c)
	for _, class := range []port.Class{port.Other, port.Lossless} {
		if got := w.port.Slots(class).Small; got < c.SmallSlots || got > c.SmallSlots+c.SmallSlots/10 {
			t.Errorf("ring %v: %d slots for small frames, want %d", class, got, c.SmallSlots)
		}
	}
}

// A class hands over a limited number of frames until some are released.
func TestClassRingsIsBounded(t *testing.T) {
	w := newWire(t)
	c := w.config()
	c.OtherSlots = 600
	w.port = openPort(t, c)
	want := w.plain(500, 60)
	w.awaitBacklog(port.Other, len(want))
	frames := make([]port.Frame, 500)
	const most = 256
	assert.MustEqual(t, w.port.Receive(port.Other, frames, 1<<20), most, "frames received")
	wantData(t, frames[:most], want[:most]) // none of them has changed while the others came
	assert.MustEqual(t, w.port.Receive(port.Other, frames, 1<<20), 0, "frames received more")
	w.port.Release(port.Other, 100)
	assert.MustEqual(t, w.port.Receive(port.Other, frames, 1<<20), 100, "frames received after 100 were given back")
	wantData(t, frames[:100], want[most:most+100])
}
