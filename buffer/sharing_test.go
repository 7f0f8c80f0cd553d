package buffer

import (
	"errors"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestHeadroomSegment(t *testing.T) {
	need := HeadroomNeed{}
	need.Add([Priorities]int64{3: 4096, 4: 1024})
	need.Add([Priorities]int64{3: 1024})
	want := (HeadroomNeed{Sum: 6144, Largest: 4096, Ports: 5120})
	assert.MustBeTrue(t, need == want, "got %+v, want %+v", need, want)
	for _, row := range []struct {
		name string
		h    HeadroomSharing
		want int64
	}{
		{"each its own", HeadroomSharing{}, 6144},
		{"an insurance for each port", HeadroomSharing{Dynamic: true}, 5120},
		{"ratio 1", HeadroomSharing{Ratio: 1}, 6144},
		{"ratio, up to whole cells", HeadroomSharing{Ratio: 1.4}, 4608},
		{"ratio below the largest headroom", HeadroomSharing{Ratio: 2}, 4096},
		{"size", HeadroomSharing{Size: 5000}, 5120},
		{"size below the largest headroom", HeadroomSharing{Size: 1}, 4096},
		{"size above the sum", HeadroomSharing{Size: 10_000}, 6144},
	} {
		assert.Equal(t, row.h.Segment(need, 256), row.want, "%s: B", row.name)
	}
}

// pool is three ports, whose headrooms of 600 B share 900 B, above a shared segment of 600 B that port 0 fills.
func pool(t *testing.T, ringHold bool) (*Manager, *wire) {
	t.Helper()
	q := QueueConfig{Headroom: 600, Xoff: 600}
	// newTable adds all headrooms to the pool, so that the shared segment has 900 B more
	m, w := newTable(t, -300, Config{RingHold: ringHold, Headroom: HeadroomSharing{Ratio: 2},
		Threshold: StaticThreshold{}}, q, q, q)
	for range 6 {
		mustAdmit(t, m, 0, pgA, 100, Accept)
	}
	return m, w
}

// One queue has its headroom, and the next what is left of the pool.
func TestHeadroomPool(t *testing.T) {
	m, w := pool(t, false)
	mustAdmit(t, m, 1, pgA, 600, AcceptHeadroom)
	mustAdmit(t, m, 2, pgA, 200, AcceptHeadroom)
	assert.True(t, !m.HeadroomPoolFull(2, pgA, 100) && m.HeadroomPoolFull(2, pgA, 200) &&
		!m.HeadroomPoolFull(2, pgA, 700) && !m.HeadroomPoolFull(1, pgA, 100),
		"the pool is full for more than the 100 B that are left, up to the queue's own headroom")
	assert.Equal(t, m.Room(2, pgA), 100, "room of port 2")
	mustAdmit(t, m, 2, pgA, 200, DropHeadroomPool)
	mustAdmit(t, m, 2, pgA, 700, DropOversize)
	mustAdmit(t, m, 1, pgA, 100, DropHeadroom)
	wantOff(t, m, w, 2, pgA, true)
	m.Release(1, pgA, 600)
	mustAdmit(t, m, 2, pgA, 200, AcceptHeadroom)
	wantSound(t, m, w)
	c := m.Queue(2, pgA)
	assert.True(t, c.Dropped == 1 && c.AdmittedHeadroom == 2, "counted %+v", c.Counters)
}

// The pool shrinks only when what it holds has left, and the error names the ports that hold most of it.
func TestHeadroomPoolShrinks(t *testing.T) {
	m, w := pool(t, true)
	mustAdmit(t, m, 1, pgA, 600, AcceptHeadroom)
	mustAdmit(t, m, 2, pgA, 300, AcceptHeadroom)
	smaller := m.config
	smaller.Headroom = HeadroomSharing{Ratio: 3}
	var busy *BusyError
	err := m.Apply(smaller, m.configs)
	assert.MustBeTrue(t, errors.As(err, &busy) && busy.Excess == 300 && len(busy.Ports) == 1 && busy.Ports[0] == 1,
		"error %v (%+v), want 300 B of port 1", err, busy)
	m.Release(2, pgA, 300)
	assert.Must(t, m.Apply(smaller, m.configs))
	mustAdmit(t, m, 2, pgA, 100, Accept) // the shared segment has grown
	wantSound(t, m, w)
}

// A port that goes leaves more in the shared segment than it frees. Until that has left, the pool lends it, so that
// the packet memory is never overbooked.
func TestHeadroomPoolLends(t *testing.T) {
	m, w := pool(t, true)
	mustAdmit(t, m, 1, pgA, 600, AcceptHeadroom)
	m.RemovePort(1) // Ση is 1200 B, so H is 600 B, and the shared segment 900 B, which 1200 B are in
	wantSound(t, m, w)
	mustAdmit(t, m, 2, pgA, 300, AcceptHeadroom)
	mustAdmit(t, m, 2, pgA, 100, Wait)
	wantSound(t, m, w)
	if used := m.lossless.used.bytes(); used.total() != m.lossless.size {
		t.Errorf("%+v are %d B, want all %d B of the pool", used, used.total(), m.lossless.size)
	}
	m.Release(1, pgA, 600)
	mustAdmit(t, m, 2, pgA, 100, AcceptHeadroom)
	wantSound(t, m, w)
}
