package port

import (
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// byValueOrAccumulator are programs that return the first octet of a frame, up to losslessSmall.
var byValueOrAccumulator = map[string][]bpf.Instruction{
	"by value": append(valuesBelow(losslessSmall), bpf.RetConstant{Val: uint32(losslessSmall)}),
	"by the accumulator": {bpf.LoadAbsolute{Off: 0, Size: 1}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 2, SkipFalse: 1},
		bpf.RetConstant{Val: 2}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 1, SkipFalse: 1}, bpf.RetA{}, bpf.RetA{}},
}

func valuesBelow(n int) []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 1}}
	for ring := range uint32(n) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: ring, SkipFalse: 1}, bpf.RetConstant{Val: ring})
	}
	return program
}

// Whatever a program returns for a frame, by value or by the accumulator, the renumbered one returns the ring of the
// same kind among the larger ones, and the control ring stays.
func TestNumbered(t *testing.T) {
	for name, program := range byValueOrAccumulator {
		raw := assert.Got(bpf.Assemble(program)).Must(t)
		for _, first := range []int{7, 13} {
			instructions, ok := bpf.Disassemble(numbered(raw, first))
			assert.MustBeTrue(t, ok, "%s from %d: not all is understood", name, first)
			vm := assert.Got(bpf.NewVM(instructions)).Must(t)
			for ring := range losslessSmall + 1 {
				want := ring + first
				switch {
				case ring == controlRing:
					want = controlRing
				case ring > controlRing:
					want--
				}
				got := assert.Got(vm.Run([]byte{byte(ring)})).Must(t)
				assert.Equal(t, got, want, "%s, ring %d, from %d", name, ring, first)
			}
		}
	}
}

// A program whose lossless frames go to one queue leaves all others where they were.
func TestQueued(t *testing.T) {
	for name, program := range byValueOrAccumulator {
		raw := assert.Got(bpf.Assemble(program)).Must(t)
		instructions, ok := bpf.Disassemble(queued(raw))
		assert.MustBeTrue(t, ok, "%s: not all is understood", name)
		vm := assert.Got(bpf.NewVM(instructions)).Must(t)
		for ring, want := range []int{0, losslessLong, controlRing, 3, losslessLong, 5, losslessLong} {
			got := assert.Got(vm.Run([]byte{byte(ring)})).Must(t)
			assert.Equal(t, got, want, "%s, ring %d", name, ring)
		}
	}
}

// Frames come in the order of their stamps, each once, from old and new rings, before, while and after the old rings
// leave, also where a burst was taken back.
func TestRingsLeave(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := ringsInMemory(16)
		keep := rapid.IntRange(0, 1).Draw(r, "keep")
		published, taken, old := 0, int64(1), 2
		publish := func(from, to int) {
			if l.backlog().Frames < 8 {
				published++
				l.publish(rapid.IntRange(from, to).Draw(r, "ring"), uint32(published))
			}
		}
		receive := func() {
			got := l.receiveStamps(rapid.IntRange(1, 9).Draw(r, "most"))
			done := rapid.IntRange(0, len(got)).Draw(r, "done")
			for i, stamp := range got {
				if stamp != taken+int64(i) {
					r.Fatalf("frame %d of a burst has stamp %d, want %d", i, stamp, taken+int64(i))
				}
			}
			l.release(done)
			l.rewind()
			taken += int64(done)
		}
		for range rapid.IntRange(0, 20).Draw(r, "before") {
			publish(0, old-1)
			receive()
		}
		l.rings, l.newest = append(l.rings, ringsInMemory(16).rings...), old
		for left := false; !left; {
			for range rapid.IntRange(1, 3).Draw(r, "frames") {
				publish(old, old+1) // the program steers to the new rings alone
				receive()
			}
			waiting := false
			for _, o := range l.rings[keep:old] {
				waiting = waiting || o.filled(o.head)
			}
			gone, ok := l.retire(keep)
			if ok == waiting || ok && len(gone) != old-keep {
				r.Fatalf("left: %v, with %d rings, while frames wait there: %v", ok, len(gone), waiting)
			}
			left = ok
		}
		for range rapid.IntRange(0, 20).Draw(r, "after") {
			publish(keep, keep+1)
			receive()
		}
		for taken <= int64(published) {
			receive()
		}
	})
}

// A port whose rings of before cannot leave has as many rings as it can have, and says why it gets no more.
func TestTooManyRings(t *testing.T) {
	p := &AFPacket{}
	for range p.classes {
		p.rings = append(p.rings, ringsInMemory(2).rings...)
	}
	p.share(p.rings)
	for range 3 {
		l := &Larger{of: p, rings: append(ringsInMemory(2).rings, ringsInMemory(2).rings...)}
		assert.Must(t, l.Join())
		p.classes[Lossless].rings[0].slot(0)[0] = unix.TP_STATUS_USER
		_, ok := p.classes[Lossless].retire(0)
		assert.True(t, !ok, "rings with a frame leave")
	}
	l := &Larger{of: p, rings: append(ringsInMemory(2).rings, ringsInMemory(2).rings...)}
	assert.Fails(t, l.Join(), "still hold frames", "more rings")
}
