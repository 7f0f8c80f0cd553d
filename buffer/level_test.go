package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// One queue goes up and down between clears and rotations; each kind of watermark follows its own events only.
func TestWatermarks(t *testing.T) {
	m, _ := newTable(t, 10000, Config{Lossy: PoolConfig{Size: 20000}}, QueueConfig{})
	to := func(n int) func() { // moves lossless queue and lossy queue 0 to n bytes
		return func() {
			if now := int(m.lossy.used.now); n > now {
				mustAdmit(t, m, 0, pgA, n-now, Accept)
				m.AdmitLossy(0, 0, n-now)
			} else {
				m.Release(0, pgA, now-n)
				m.ReleaseLossy(0, 0, now-n)
			}
		}
	}
	steps := []struct {
		name string
		do   func()
		want Level
	}{
		{"up", to(500), Level{Now: 500, Persistent: 500, User: 500}},
		{"down", to(200), Level{Now: 200, Persistent: 500, User: 500}},
		{"rotate: the peak is that of the window", m.RotateWindow,
			Level{Now: 200, Persistent: 500, User: 500, Window: 500}},
		{"lower peak in the next window", to(300), Level{Now: 300, Persistent: 500, User: 500, Window: 500}},
		{"clear: user begins at what is held", m.ClearUser, Level{Now: 300, Persistent: 500, User: 300, Window: 500}},
		{"down again", to(100), Level{Now: 100, Persistent: 500, User: 300, Window: 500}},
		{"rotate: the clear did not cost the window its peak", m.RotateWindow,
			Level{Now: 100, Persistent: 500, User: 300, Window: 300}},
		{"rotate: an idle window shows what is held", m.RotateWindow,
			Level{Now: 100, Persistent: 500, User: 300, Window: 100}},
		{"highest of all", to(800), Level{Now: 800, Persistent: 800, User: 800, Window: 100}},
		{"clear at the top", m.ClearUser, Level{Now: 800, Persistent: 800, User: 800, Window: 100}},
		{"empty", to(0), Level{Persistent: 800, User: 800, Window: 100}},
		{"clear when empty", m.ClearUser, Level{Persistent: 800, Window: 100}},
		{"rotate when empty", m.RotateWindow, Level{Persistent: 800, Window: 800}},
		{"rotate again", m.RotateWindow, Level{Persistent: 800}},
	}
	for _, s := range steps {
		s.do()
		now := state(m)
		for name, got := range map[string]Level{
			"queue": now.Ports[0].Ingress[pgA].Used.Shared, "pool": now.Lossless.Used.Shared,
			"lossy queue": now.Ports[0].Egress[0].Used, "lossy pool": now.Lossy.Used.Shared,
		} {
			assert.MustEqual(t, got, s.want, "%s: %s", s.name, name)
		}
	}
}

// Segments have watermarks of their own, and a pool's is the peak of the sum, not the sum of the peaks.
func TestWatermarksBySegment(t *testing.T) {
	m, _ := newTable(t, 1000, Config{}, QueueConfig{Private: 100, Headroom: 300},
		QueueConfig{Private: 100, Headroom: 300})
	for port := range 2 {
		mustAdmit(t, m, port, pgA, 600, Accept)
		mustAdmit(t, m, port, pgA, 200, AcceptHeadroom)
		m.Release(port, pgA, 800)
	}
	s := state(m)
	peaks := func(o Occupancy) segmentBytes {
		return segmentBytes{o.Private.Persistent, o.Shared.Persistent, o.Headroom.Persistent}
	}
	want := segmentBytes{private: 100, shared: 500, headroom: 200}
	for port := range 2 {
		assert.Equal(t, peaks(s.Ports[port].Ingress[pgA].Used), want, "port %d peaks at", port)
	}
	assert.Equal(t, peaks(s.Lossless.Used), want, "pool peaks at")
}
