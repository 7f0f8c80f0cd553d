package daemon

import (
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A queue that is full turns ON where the file says. Where only xon is written, xon_offset does not apply. Where both
// are, the higher level counts. What a port's priority writes stands before what buffer writes.
func TestResumeLevelOfTheFile(t *testing.T) {
	const dt, static = "lossless: {size: 256KiB, alpha: 1}", "policy: static, xoff: 40KiB"
	for _, tt := range []struct {
		name, buffer, own string
		want              int64 // the resume level, where it is none that T gives
		offset            int64 // else how far below T
	}{
		{"default", dt, "", 0, 4 << 10},
		{"xon", dt + ", xon: 8KiB", "", 8 << 10, 0},
		{"own xon", dt, "xon: 8KiB", 8 << 10, 0},
		{"own xon, offset of the buffer", dt + ", xon_offset: 2KiB", "xon: 8KiB", 8 << 10, 0},
		{"both", dt + ", xon: 8KiB, xon_offset: 6KiB", "", 0, 6 << 10},
		{"own both", dt, "xon: 8KiB, xon_offset: 6KiB", 0, 6 << 10},
		{"own offset, xon of the buffer", dt + ", xon: 8KiB", "xon_offset: 6KiB", 0, 6 << 10},
		{"offset", dt + ", xon_offset: 6KiB", "", 0, 6 << 10},
		{"static", static, "", 36 << 10, 0},
		{"static, xon", static + ", xon: 8KiB", "", 8 << 10, 0},
		{"static, own xon", static, "xon: 8KiB", 8 << 10, 0},
		{"static, both", static + ", xon: 8KiB, xon_offset: 6KiB", "", 34 << 10, 0},
		{"static, both, xon is higher", static + ", xon: 35KiB, xon_offset: 30KiB", "", 35 << 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, after := drainToXon(t, "preset: roce\nbuffer: {headroom: 64KiB, private: 0B, "+tt.buffer+"}\n"+
				"ecn: {3: off}\nports:\n  p0: {speed: 1G, loop: off, priorities: {3: {"+tt.own+"}}}\n"+
				"  p1: {speed: 1G, loop: off}\n"+
				"fdb: [{mac: \"02:00:00:00:00:01\", vlan: 1, port: p1}]\n")
			level := func(q *buffer.QueueSnapshot) int64 {
				if tt.want != 0 {
					return tt.want
				}
				return q.Threshold - tt.offset
			}
			assert.True(t, before.Used.Shared.Now > level(&before) && after.Used.Shared.Now <= level(&after),
				"XON came with the departure from %d to %d bytes, want it at %d", before.Used.Shared.Now,
				after.Used.Shared.Now, level(&after))
		})
	}
}

// drainToXon fills the lossless queue of p0 until its peer is held, and lets frame after frame leave until XON. It
// returns the queue before and after that last frame left.
func drainToXon(t *testing.T, yaml string) (before, after buffer.QueueSnapshot) {
	t.Helper()
	s := newWatchedSwitch(t, yaml)
	var view dataplane.Snapshot
	look := func() buffer.QueueSnapshot {
		s.sw.Snapshot(&view, 1)
		return view.Buffer.Ports[0].Ingress[3]
	}
	now := int64(1)
	pauseAll(s.sw, 1, now)
	for after = look(); after.Used.Headroom.Now == 0; after = look() {
		a := []dataplane.Arrival{{Data: taggedFrame(3, 1, 250), At: now}}
		cfg := s.ports[0]
		a[0].Prepare(&cfg.Classify, cfg.MaxFrame)
		s.sw.Begin(0)
		s.sw.Ingress(0, a, 0, now, 0)
		s.sw.Store(s.sw.Settle(a, nil))
	}
	s.sw.Control(1, macctl.AppendPFC(nil, [6]byte{2}, 0xff, [8]uint16{}), now, now)
	batch := port.NewBatch()
	for after.Off && after.Used.Shared.Now+after.Used.Headroom.Now > 0 {
		now += 10_000
		batch.Reset()
		s.sw.Begin(0)
		s.sw.Dequeue(1, now, nil)
		s.sw.Fill(1, batch, nil)
		before = after
		s.sw.Sent(1, min(1, batch.Len()), now)
		after = look()
	}
	return before, after
}
