package buffer

import (
	"errors"
	"testing"

	"pfcswitch/dataplane/assert"
)

// following is a Manager whose lossless pool follows the headrooms: two queues of 300 B each, 600 B beside them, and at
// most so many bytes.
func following(t *testing.T, most int64, sharing HeadroomSharing) (*Manager, *wire) {
	t.Helper()
	q := QueueConfig{Headroom: 300}
	m, w := newTable(t, 0, Config{RingHold: true}, nil...)
	c := m.config
	c.Lossless.Size, c.Beside, c.Headroom = most, 600, sharing
	assert.MustNoError(t, m.Apply(c, map[int]PortConfig{0: onePriority(q), 1: onePriority(q)}), "Apply")
	return m, w
}

// A pool that follows keeps its shared segment, whatever the headrooms become, and never has more than its most.
func TestPoolFollowsHeadrooms(t *testing.T) {
	m, w := following(t, 2000, HeadroomSharing{})
	for _, size := range []int64{300, 1100, 200} {
		assert.MustNoError(t, m.setQueue(0, pgA, QueueConfig{Headroom: size}), "a headroom of %d B", size)
		if got := (segmentBytes{0, 600, size + 300}); m.lossless.limit != got || m.lossless.size != got.total() {
			t.Errorf("segments %+v of %d B, want %+v", m.lossless.limit, m.lossless.size, got)
		}
	}
	if err := m.setQueue(1, pgA, QueueConfig{Headroom: 1300}); !errors.Is(err, ErrConfig) || m.lossless.size != 1100 {
		t.Errorf("2100 B of 2000 B: %v, and the pool has %d B", err, m.lossless.size)
	}
	plan := assert.Got(NewPlan(m.config, m.configs)).Must(t)
	assert.Equal(t, m.MaxCharged(plan), 2000, "the most that may be charged")
	wantSound(t, m, w)
}

// A full shared segment does not keep a headroom from growing, and what is in a headroom keeps it from shrinking.
func TestPoolFollowsWhileFull(t *testing.T) {
	m, w := following(t, 2000, HeadroomSharing{})
	mustAdmit(t, m, 0, pgA, 300, Accept)
	mustAdmit(t, m, 1, pgA, 100, Accept)
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	mustAdmit(t, m, 0, pgA, 100, Wait)
	assert.MustNoError(t, m.setQueue(0, pgA, QueueConfig{Headroom: 800}), "a larger headroom")
	mustAdmit(t, m, 0, pgA, 500, AcceptHeadroom)
	wantSound(t, m, w)
	err := m.setQueue(0, pgA, QueueConfig{Headroom: 700})
	assert.True(t, errors.Is(err, ErrBusy), "a headroom below what it holds: %v", err)
	m.Release(0, pgA, 800)
	assert.MustNoError(t, m.setQueue(0, pgA, QueueConfig{Headroom: 100}), "a smaller headroom")
	wantSound(t, m, w)
}

// What all headrooms save that share a segment is shared, as from the start.
func TestPoolFollowsSharedHeadroom(t *testing.T) {
	m, w := following(t, 3000, HeadroomSharing{Ratio: 2})
	assert.MustNoError(t, m.setQueue(0, pgA, QueueConfig{Headroom: 700}), "a larger headroom")
	assert.Equal(t, m.lossless.limit, segmentBytes{0, 600 + 300, 700}, "segments")
	wantSound(t, m, w)
}

// A queue that becomes lossy while the shared segment is full waits until its frames have left: what it has in its
// headroom would have no room. The error says so, and of which queue.
func TestPoolFollowsWhenAQueueGetsLossy(t *testing.T) {
	m, w := following(t, 2000, HeadroomSharing{})
	mustAdmit(t, m, 0, pgA, 300, Accept)
	mustAdmit(t, m, 1, pgA, 100, Accept)
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	lossy := onePriority(QueueConfig{})
	lossy.Lossless = 0
	assert.Fails(t, m.SetPort(0, lossy), "from 600 B to 600 B, of which 700 B are in use then: 300 B of private "+
		"segment and headroom go to it where a queue ends (port 0 priority 3)",
		"a full shared segment")
	m.Release(0, pgA, 100)
	assert.MustNoError(t, m.SetPort(0, lossy), "when some have left")
	assert.Equal(t, m.lossless.size, 900, "the pool")
	wantSound(t, m, w)
}

// While frames of a port that goes are still in a pool that follows, it keeps its size, so that others have all of
// their headroom. Then the next change makes it smaller.
func TestPoolFollowsWhenAPortGoes(t *testing.T) {
	m, w := following(t, 2000, HeadroomSharing{})
	mustAdmit(t, m, 0, pgA, 300, Accept)
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	mustAdmit(t, m, 1, pgA, 100, Accept)
	m.RemovePort(0)
	mustAdmit(t, m, 1, pgA, 200, AcceptHeadroom)
	mustAdmit(t, m, 1, pgA, 100, AcceptHeadroom)
	wantSound(t, m, w)
	if err := m.setQueue(1, pgA, QueueConfig{Headroom: 400}); !errors.Is(err, ErrBusy) {
		t.Errorf("600 B of a port that has gone, and 400 B, in a shared segment of 600 B: %v", err)
	}
	m.Release(0, pgA, 600)
	assert.MustNoError(t, m.setQueue(1, pgA, QueueConfig{Headroom: 400}), "when they have left")
	assert.Equal(t, m.lossless.size, 1000, "the pool")
	wantSound(t, m, w)
}
