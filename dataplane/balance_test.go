package dataplane

import "pfcswitch/dataplane/assert"

// balanced reports where frames came or went unseen.
func (r *rig) balanced() {
	r.tb.Helper()
	v := r.look()
	l := v.Balance()
	assert.True(r.tb, l.Received+l.Copies == l.Sent+l.Dropped+l.Held,
		"received + copies = %d, sent + dropped + held = %d: %+v", l.Received+l.Copies, l.Sent+l.Dropped+l.Held, l)
	assert.Equal(r.tb, v.Buffer.Unbalanced, 0, "releases of bytes that were not charged")
}

// empty reports what is left in a switch that should hold nothing.
func (r *rig) empty() {
	r.tb.Helper()
	r.balanced()
	v := r.look()
	assert.Equal(r.tb, v.Balance().Held, 0, "frames are held")
	used := v.Buffer.Lossless.Used
	assert.True(r.tb, used.Private.Now+used.Shared.Now+used.Headroom.Now == 0 && v.Buffer.Lossy.Used.Shared.Now == 0,
		"octets in use: lossless %+v, lossy %+v", used, v.Buffer.Lossy.Used)
	m := r.sw.memory
	assert.True(r.tb, m.freeCells.left == len(m.next) && m.freeDescs.left == len(m.descs),
		"free: %d of %d cells, %d of %d descriptors", m.freeCells.left, len(m.next), m.freeDescs.left, len(m.descs))
	for _, p := range v.Ports {
		assert.Equal(r.tb, p.Counters.QueueBytes, [NumPriorities]int64{}, "%s: octets in the queues", p.Config.Name)
	}
}

// faults returns what must never happen to a lossless frame, summed over all ports.
func faults(v *Snapshot) uint64 {
	lost, _ := v.Losses()
	return lost
}
