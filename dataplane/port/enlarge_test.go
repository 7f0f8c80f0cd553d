package port

import (
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// lastRing is the number of the ring of small lossless frames.
const lastRing = longRings + int(NumClasses) + int(Lossless)

// byValueOrAccumulator are programs that return the first octet of a frame, up to lastRing.
var byValueOrAccumulator = map[string][]bpf.Instruction{
	"by value": append(valuesBelow(lastRing), bpf.RetConstant{Val: uint32(lastRing)}),
	"by the accumulator": {bpf.LoadAbsolute{Off: 0, Size: 1}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 1, SkipFalse: 1},
		bpf.RetA{}, bpf.RetA{}},
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
		for _, first := range []int{3, 7, 13} {
			instructions, ok := bpf.Disassemble(numbered(raw, first))
			assert.MustBeTrue(t, ok, "%s from %d: not all is understood", name, first)
			vm := assert.Got(bpf.NewVM(instructions)).Must(t)
			for ring := range lastRing + 1 {
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

// A program for queues chooses the one ring of a class for all of its frames.
func TestQueued(t *testing.T) {
	for name, program := range byValueOrAccumulator {
		raw := assert.Got(bpf.Assemble(program)).Must(t)
		instructions, ok := bpf.Disassemble(queued(raw))
		assert.MustBeTrue(t, ok, "%s: not all is understood", name)
		vm := assert.Got(bpf.NewVM(instructions)).Must(t)
		for ring, want := range []int{0, 1, controlRing, 0, 1, 0, 1} {
			got := assert.Got(vm.Run([]byte{byte(ring)})).Must(t)
			assert.Equal(t, got, want, "%s, ring %d", name, ring)
		}
	}
}

// Frames come in the order of their stamps, each once, where rings of before hold frames while others come to newer
// ones, also where a burst was taken back, and where the clock was set back in between.
func TestRingsOfBeforeComeFirst(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := ringsInMemory(16)
		stamp := rapid.IntRange(100, 1000).Draw(r, "stamp")
		var published, taken []int64
		publish := func(from, to int) {
			if l.backlog().Frames < 8 {
				stamp++
				published = append(published, int64(stamp))
				l.publish(rapid.IntRange(from, to).Draw(r, "ring"), uint32(stamp))
			}
		}
		receive := func() {
			got := l.receiveStamps(rapid.IntRange(1, 9).Draw(r, "most"))
			done := rapid.IntRange(0, len(got)).Draw(r, "done")
			if want := published[len(taken):]; len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
				r.Fatalf("a burst of %v, want the next of %v", got, want)
			}
			l.release(done)
			l.rewind()
			taken = append(taken, got[:done]...)
		}
		for range rapid.IntRange(0, 20).Draw(r, "before") {
			publish(0, 1)
			receive()
		}
		l.rings, l.newest = append(l.rings, ringsInMemory(16).rings...), 2
		stamp -= rapid.IntRange(0, 90).Draw(r, "set back")
		for range rapid.IntRange(0, 20).Draw(r, "after") {
			publish(2, 3) // the program steers to the new rings alone
			receive()
		}
		for len(taken) < len(published) {
			receive()
		}
	})
}

// Frames whose memory is more than twice a slot do not fit a queue with twice the memory of slots.
func TestQueueSuffices(t *testing.T) {
	for frameSize, want := range map[int]bool{60: false, 512: false, 513: true, 624: true, 625: false, 1024: false,
		1025: true, 1514: true, 1648: true, 1649: false, 2048: false, 2049: true, 3696: true, 3697: false, 4096: false,
		4097: true, 7792: true, 7793: false, 8192: false, 8193: true, 9014: true, 15984: true, 15985: false} {
		assert.Equal(t, QueueSuffices(frameSize), want, "frames of %d octets", frameSize)
	}
}

// A ring is not full of frames that came by its queue and have left, though nobody has asked the queue.
func TestQueueThatHasRunEmpty(t *testing.T) {
	l := ringsInMemory(8)
	l.rings[0].oversize.seen = true
	assert.True(t, !l.behind(0), "an empty ring has a frame")
	l.publish(0, 10)
	assert.True(t, l.behind(0) && l.behind(4), "a ring with a frame whose queue may be full does not fill up")
}
