package runner

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// A GSO frame of which segments were taken goes on with the segment that waits, whichever that is.
func TestGSOFrameGoesOn(t *testing.T) {
	const segments = 8
	m := newWorkerRig(t, port.Other, nil, nil)
	task := m.w.r.tasks[0]
	super := gsoFrame(segments)
	var whole [][]byte
	for taken := range segments + 1 {
		m.w.frames[0], task.segmentsTaken[port.Other] = super, taken
		arrivals, next := m.w.expand(task, port.Other, 1)
		if taken == 0 {
			for i := range arrivals {
				whole = append(whole, bytes.Clone(arrivals[i].Data))
			}
		}
		if len(whole) != segments || len(arrivals) != segments-taken || next != (frameSegment{frame: 1}) {
			t.Fatalf("%d taken: %d segments more of %d, then %+v", taken, len(arrivals), len(whole), next)
		}
		for i := range arrivals {
			want := taken + i
			assert.True(t, m.w.origin[i] == (frameSegment{segment: want}) && bytes.Equal(arrivals[i].Data, whole[want]),
				"%d taken: arrival %d is from %+v, want segment %d", taken, i, m.w.origin[i], want)
		}
	}
}
