package dataplane

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// Policy abm knows the time of whatever is called first. A queue that drains at a part of its port's speed gets that
// part of its threshold, and all of it when nothing has left for an interval.
func TestActiveThresholdsKnowTheTime(t *testing.T) {
	const ms = 1_000_000
	cfg := testConfig(2)
	cfg.Buffer.Active = true
	cfg.Buffer.Lossless.Size += 1 << 20
	for name, call := range map[string]func(r *rig){
		"Ingress":  func(r *rig) { r.arrive(0, several(0, 1, lossless, 1, small)...) },
		"Dequeue":  func(r *rig) { r.sw.Dequeue(1, r.now, nil) },
		"Snapshot": func(r *rig) { r.snapshot() },
	} {
		r := newRig(t, cfg, testPorts(2)...)
		r.offer(0, several(0, 1, lossless, 150, small)...)
		whole := r.sw.buffer.Queue(0, lossless).Threshold
		r.now += ms - 1 // the interval began with the configuration, at 1
		r.send(1, 64)
		r.now++
		call(r)
		got := r.sw.buffer.Trace(0, lossless, small).Queue.Threshold
		t.Logf("%s: %d, before %d", name, got, whole)
		assert.True(t, got <= whole/2, "%s: T is %d after an interval of 4 frames, %d before it", name, got, whole)
	}
}
