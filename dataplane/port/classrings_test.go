package port

import (
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// ringsInMemory makes classRings of two rings of n slots without sockets.
func ringsInMemory(n int) *classRings {
	l := new(classRings)
	for range 2 {
		r := &ring{frameSize: 100, slotSize: SlotOctets(100), perBlock: n, slots: n}
		r.blockLen = n * r.slotSize
		r.mem, r.small = make([]byte, r.blockLen), make([]byte, maxPending*smallSlot)
		l.rings = append(l.rings, r)
	}
	return l
}

// publish appends a frame with a stamp (ns) to a ring, as the kernel does.
func (l *classRings) publish(i int, stamp uint32) {
	r := l.rings[i]
	s := r.slot((r.head + r.backlog()) % r.slots)
	*header(s) = unix.Tpacket2Hdr{Status: unix.TP_STATUS_USER, Len: 60, Snaplen: 60, Mac: 80, Nsec: stamp}
}

func (l *classRings) receiveStamps(n int) (stamps []int64) {
	frames := make([]Frame, n)
	for _, f := range frames[:l.receive(frames, 1<<20)] {
		stamps = append(stamps, f.Stamp)
	}
	return stamps
}

func wantStamps(t *testing.T, got []int64, want ...int64) {
	t.Helper()
	assert.MustBeSame(t, got, want, "frames")
}

// Frames that are received and not released come again in the same order, even if an earlier stamp has appeared since:
// a caller that has handled a part of the oldest frame must get that frame again.
func TestRewindKeepsTheOldest(t *testing.T) {
	l := ringsInMemory(8)
	l.publish(1, 20)
	l.publish(1, 30)
	l.publish(0, 40)
	wantStamps(t, l.receiveStamps(2), 20, 30)
	l.rewind()
	l.publish(0, 10) // behind 40 in its ring
	wantStamps(t, l.receiveStamps(1), 20)
	l.release(1)
	l.rewind()
	l.publish(1, 5)
	wantStamps(t, l.receiveStamps(5), 30, 5, 40, 10)
	l.release(4)
	assert.True(t, l.settled == 0 && l.pending == 0 && l.backlog().Frames == 0, "known %d, pending %d, %+v at the end",
		l.settled, l.pending, l.backlog())
}

// An earlier stamp that appears in an empty ring after a rewind does not overtake.
func TestRewindAndALateFrame(t *testing.T) {
	l := ringsInMemory(8)
	l.publish(1, 20)
	wantStamps(t, l.receiveStamps(3), 20)
	l.rewind()
	l.publish(0, 10)
	wantStamps(t, l.receiveStamps(3), 20, 10)
}

// After the clock was set back, a waiting frame is skipped for at most as many frames as the other ring has slots, and
// then comes before the rest.
func TestClockSetBack(t *testing.T) {
	const slots = 8
	l := ringsInMemory(slots)
	for i := range uint32(3) {
		l.publish(1, 1_000_000+i)
	}
	passed, now := 0, uint32(0)
	for {
		now++
		l.publish(0, now)
		got := l.receiveStamps(1)
		l.release(1)
		if got[0] >= 1_000_000 {
			break
		}
		passed++
		assert.MustBeTrue(t, passed <= slots, "passed over %d times", passed)
	}
	wantStamps(t, l.receiveStamps(3), 1_000_001, 1_000_002, int64(now))
}
