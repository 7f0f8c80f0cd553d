package dataplane

import (
	"math"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// exchange carries what port i of one switch sends now to port j of the other: MAC Control frames, then data.
func exchange(from *rig, i int, to *rig, j int) {
	for b := from.tell(i); b != nil; b = from.tell(i) {
		to.sw.Control(j, b, to.now, to.now)
	}
	to.offer(j, from.send(i, port.BatchFrames)...)
	to.sw.Tick(to.now)
}

// Two switches joined by a link, in virtual time: when the station behind the second one stops it, the second stops
// the first, and that one its station. No frame is lost or overtaken.
func TestTwoCoresInALoop(t *testing.T) {
	first, second := plainRig(t, 2), plainRig(t, 2)
	const frames, step = 2000, 10_000
	sender := macctl.NewReceiver(macctl.ModePFC, 1<<lossless, gigabit, [6]byte{})
	stopped, sent, got := false, 0, []int(nil)
	for now := int64(step); len(got) < frames && now < gigabit; now += step {
		first.now, second.now = now, now
		if now%(800*step) == 0 { // the station behind the second switch stops it for 4 ms, and frees it for 4 ms
			second.hear(1, lossless, math.MaxUint16)
		} else if now%(400*step) == 0 {
			second.hear(1, lossless, 0)
		}
		if paused := sender.Paused(now) != 0; paused {
			stopped = true
		} else if sent < frames {
			first.offer(0, data(0, 1, lossless, sent, 1000))
			sent++
		}
		exchange(first, 1, second, 0)
		exchange(second, 0, first, 1)
		for b := first.tell(0); b != nil; b = first.tell(0) {
			sender.Receive(b, now, now)
		}
		for _, b := range second.send(1, port.BatchFrames) {
			got = append(got, sequence(b))
		}
	}
	assert.True(t, len(got) == frames && slices.IsSorted(got) && stopped,
		"%d of %d frames came, in order: %v; their sender was stopped: %v", len(got), frames, slices.IsSorted(got),
		stopped)
	first.empty()
	second.empty()
	for _, s := range []*Snapshot{first.snapshot(), second.snapshot()} {
		lost, discarded := s.Losses()
		assert.True(t, lost+discarded == 0, "%d lossless frames were lost, and %d discarded", lost, discarded)
	}
}
