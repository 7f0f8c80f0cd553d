package port_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

func gsoFrame(tag *frame.TCI, seq, n int) ([]byte, frame.VnetHeader) {
	return unfinished(tag, seq, n, 1448)
}

// gsoFrames lets the host send n GSO frames of the given length.
func (w *wire) gsoFrames(tag *frame.TCI, n, octets int) (sent [][]byte) {
	w.t.Helper()
	for seq := range n {
		b, v := gsoFrame(tag, seq, octets)
		w.send(v, b)
		sent = append(sent, b)
	}
	return sent
}

// A sent frame with its header.
type sent struct {
	b []byte
	v frame.VnetHeader
}

// mixed returns small frames, jumbo frames and GSO frames, tagged and untagged, for one ring.
func mixed(n int) (all []sent) {
	for seq := range n {
		var tag *frame.TCI
		if rand.IntN(2) == 0 {
			tag = tci(2, 10)
		}
		switch rand.IntN(3) {
		case 0:
			all = append(all, sent{b: craft(tag, experimental, seq, 60+rand.IntN(1400))})
		case 1:
			all = append(all, sent{b: craft(tag, experimental, seq, 2000+rand.IntN(7000))})
		case 2:
			b, v := gsoFrame(tag, seq, 20_000+rand.IntN(45_000))
			all = append(all, sent{b, v})
		}
	}
	return all
}

// Frames that fit no slot arrive whole and in order, also when they are received again after Rewind.
func TestOversizeFrames(t *testing.T) {
	w := newWire(t)
	frames := make([]port.Frame, 64)
	for range 10 {
		all := mixed(12)
		for _, s := range all {
			w.send(s.v, s.b)
		}
		w.awaitBacklog(port.Other, len(all))
		for done := 0; done < len(all); {
			n := 0
			for range 3 {
				n = w.port.Receive(port.Other, frames, 1<<20)
				assert.MustBeTrue(t, n != 0, "nothing is handed over, %d of %d frames wait", len(all)-done, len(all))
				for i, f := range frames[:n] {
					want := all[done+i]
					assert.MustBeTrue(t, !f.Truncated && bytes.Equal(f.Data, want.b) &&
						f.Vnet.GSOSize == want.v.GSOSize && f.Vnet.CsumStart == want.v.CsumStart,
						"frame %d: %d octets (cut %v) with %+v, want %d with %+v", done+i, len(f.Data), f.Truncated,
						f.Vnet, len(want.b), want.v)
				}
				w.port.Rewind(port.Other)
			}
			n = w.port.Receive(port.Other, frames[:1+rand.IntN(n)], 1<<20)
			w.port.Release(port.Other, n)
			done += n
		}
	}
}

// More oversize frames in a row than there are buffers are handed over as earlier ones are released.
func TestManyOversizeFrames(t *testing.T) {
	w := newWire(t)
	want := w.gsoFrames(tci(3, 0), 20, 65_000)
	w.awaitBacklog(port.Lossless, len(want))
	frames := make([]port.Frame, 64)
	for len(want) > 0 {
		n := w.port.Receive(port.Lossless, frames, 16<<20)
		assert.MustBeTrue(t, n != 0 && (n <= 4 || n >= len(want)),
			"%d of %d frames are handed over, want as many as there are buffers", n, len(want))
		wantData(t, frames[:n], want[:n])
		w.port.Release(port.Lossless, 1)
		w.port.Rewind(port.Lossless)
		want = want[1:]
	}
}

// Finish holds for an oversize frame as well.
func TestFinishOversize(t *testing.T) {
	w := newWire(t)
	b, v := gsoFrame(tci(2, 1), 1, 9000)
	w.send(v, b)
	w.awaitBacklog(port.Other, 1)
	var f [1]port.Frame
	w.port.Receive(port.Other, f[:], 1<<20)
	assert.MustBeTrue(t, f[0].Vnet != (frame.VnetHeader{}), "the frame has no header: the test proves nothing")
	f[0].Finish()
	w.port.Rewind(port.Other)
	if w.port.Receive(port.Other, f[:], 1<<20); f[0].Vnet != (frame.VnetHeader{}) || !bytes.Equal(f[0].Data, b) {
		t.Errorf("header %+v after Finish, %d octets", f[0].Vnet, len(f[0].Data))
	}
}

// Backlog includes the oversize queue, from the first such frame until the queue is empty.
func TestOversizeBacklog(t *testing.T) {
	w := newWire(t)
	w.gsoFrames(nil, 1, 65_000)
	w.awaitBacklog(port.Other, 1)
	assert.True(t, !w.port.BacklogExceeds(port.Other, 1), "one frame is more than one")
	w.collect(port.Other, 1)
	const waiting = 10
	w.gsoFrames(nil, waiting, 65_000)
	assert.True(t, w.port.BacklogExceeds(port.Other, waiting),
		"a large frame was seen, and BacklogExceeds does not say so")
	got := w.port.Backlog(port.Other)
	assert.True(t, got.Frames == waiting && got.Octets >= waiting*65_000 && got.Fill >= 0.05 && got.Fill <= 1,
		"backlog %+v of %d GSO frames", got, waiting)
	w.collect(port.Other, waiting)
	if got := w.port.Backlog(port.Other); got != (port.Backlog{}) || w.port.BacklogExceeds(port.Other, 0) {
		t.Errorf("backlog %+v of an empty queue", got)
	}
}

// If the oversize queue is full, frames are marked as truncated. The others keep their place and their octets.
func TestOversizeQueueFull(t *testing.T) {
	w := newWire(t)
	slots := w.port.Slots(port.Other).Full
	want := w.gsoFrames(nil, slots, 65_000)
	w.awaitBacklog(port.Other, slots)
	got := w.collect(port.Other, slots)
	whole, cut := 0, 0
	for i, f := range got {
		switch {
		case f.Truncated:
			cut++
		case bytes.Equal(f.Data, want[i]):
			whole++
		default:
			t.Fatalf("frame %d has %d octets that are not its own", i, len(f.Data))
		}
	}
	assert.True(t, whole >= 4 && cut != 0, "%d frames whole and %d cut of %d: want some of each", whole, cut, slots)
	want = w.gsoFrames(nil, 1, 30_000)
	wantData(t, w.collect(port.Other, 1), want)
}

// The pending socket error of a link that went down does not cost a frame its octets, and does not mix frames up.
func TestOversizeFramesAfterAFlap(t *testing.T) {
	w := newWire(t)
	var want [][]byte
	for seq := range 3 {
		b, v := gsoFrame(tci(uint8(seq), 1), seq, 20_000+1000*seq)
		w.send(v, b)
		want = append(want, b)
	}
	w.awaitBacklog(port.Other, 3)
	setUp(t, w.handle, "sw", false)
	setUp(t, w.handle, "sw", true)
	awaitUp(t, w.handle, "sw", true)
	awaitUp(t, w.handle, "host", true)
	b, v := gsoFrame(nil, 3, 40_000)
	w.send(v, b)
	wantData(t, w.collect(port.Other, 4), append(want, b))
}
