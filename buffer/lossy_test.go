package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

func newLossy(t *testing.T, size int64, alphas ...float64) (*Manager, *wire) {
	t.Helper()
	w := newWire(t)
	m, err := New(Config{Cell: cell, Lossless: PoolConfig{Alpha: 1}, Lossy: PoolConfig{Size: size, Alpha: 1}}, w)
	assert.Must(t, err)
	var pc PortConfig
	copy(pc.LossyAlpha[:], alphas)
	assert.Must(t, m.SetPort(0, pc))
	return m, w
}

func TestLossy(t *testing.T) {
	type frame struct {
		queue   uint8
		n       int
		departs bool
		want    bool
	}
	tests := []struct {
		name   string
		size   int64
		alphas []float64
		frames []frame
	}{
		{"up to T exactly, then drop", 1000, nil, []frame{
			{n: 400, want: true}, {n: 200, want: true}, {n: 100}, {queue: 1, n: 400, want: true}}},
		{"T falls as others fill", 1000, nil, []frame{
			{queue: 1, n: 500, want: true}, {n: 500, want: true}, {queue: 2, n: 1}}},
		{"and rises as they drain", 1000, nil, []frame{
			{queue: 1, n: 500, want: true}, {n: 500, want: true}, {n: 100}, {queue: 1, n: 500, departs: true}, {n: 1},
			{n: 500, departs: true}, {n: 1, want: true}}},
		{"alpha per queue", 1000, []float64{MaxAlpha, 1.0 / 4}, []frame{
			{queue: 1, n: 300}, {queue: 1, n: 200, want: true}, {n: 800, want: true}, {n: 1}}},
		{"cells", 1000, []float64{MaxAlpha}, []frame{{n: 801, want: true}, {n: 101}, {n: 1, want: true}, {n: 1}}},
		{"size rounded down to cells", 199, []float64{MaxAlpha}, []frame{{n: 100, want: true}, {n: 1}}},
		{"no pool", 0, nil, []frame{{n: 1}}},
		{"oversize", 1000, []float64{MaxAlpha}, []frame{{n: 1001}, {n: 1000, want: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, w := newLossy(t, tt.size, tt.alphas...)
			var count [Priorities]LossyCounters
			for i, f := range tt.frames {
				if f.departs {
					m.ReleaseLossy(0, f.queue, f.n)
					continue
				}
				assert.MustEqual(t, m.AdmitLossy(0, f.queue, f.n), f.want, "frame %d (queue %d, %d octets)", i, f.queue,
					f.n)
				if f.want {
					count[f.queue].Admitted++
				} else {
					count[f.queue].Dropped++
				}
			}
			for k, want := range count {
				assert.Equal(t, m.ports[0].egress[k].count, want, "queue %d counted", k)
			}
			wantSound(t, m, w)
		})
	}
}

func TestLossyWithoutPort(t *testing.T) {
	m, w := newLossy(t, 1000)
	assert.True(t, !m.AdmitLossy(1, 0, 1) && !m.AdmitLossy(-1, 0, 1) && !m.AdmitLossy(0, 8, 1),
		"admitted to a queue that does not exist")
	assert.MustBeTrue(t, m.AdmitLossy(0, 0, 1), "refused")
	m.RemovePort(0)
	assert.True(t, !m.AdmitLossy(0, 0, 1), "admitted to a port that was removed")
	s := state(m)
	assert.True(t, len(s.Ports) == 1 && s.Ports[0].Egress[0].Used.Now == cell && s.Lossy.Used.Shared.Now == cell,
		"the removed port's frame is gone from the accounts: %+v", s)
	assert.Equal(t, m.ports[0].egress[0].count, LossyCounters{}, "a port that is no more counts")
	m.ReleaseLossy(0, 0, 1)
	wantEmpty(t, m, w)
	s = state(m)
	assert.True(t, len(s.Ports) == 0, "the removed port is in sight without a frame: %+v", s.Ports)
}
