package buffer

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

func setQueue(t *testing.T, m *Manager, port int, c QueueConfig, want error) {
	t.Helper()
	before := state(m)
	err := m.setQueue(port, pgA, c)
	assert.MustBeTrue(t, errors.Is(err, want), "setQueue(%d, %+v)\n got: %v\nwant: %v", port, c, err, want)
	if err != nil {
		wantUnchanged(t, m, before)
	}
}

// state returns the whole visible state.
func state(m *Manager) Snapshot {
	var s Snapshot
	m.Snapshot(&s)
	return s
}

func wantUnchanged(tb assert.TB, m *Manager, before Snapshot) {
	tb.Helper()
	if after := state(m); !reflect.DeepEqual(after, before) {
		tb.Fatalf("a refused configuration changed something\nbefore: %+v\n after: %+v", before, after)
	}
}

// Raising a headroom takes from the shared segment, so it waits until that much of it is unused.
func TestRaiseHeadroomWaits(t *testing.T) {
	m, w := newTable(t, 1000, Config{}, QueueConfig{Headroom: 300}, QueueConfig{Alpha: MaxAlpha})
	mustAdmit(t, m, 1, pgA, 600, Accept)
	setQueue(t, m, 0, QueueConfig{Headroom: 800}, ErrBusy)
	m.Release(1, pgA, 600)
	mustAdmit(t, m, 1, pgA, 500, Accept)
	setQueue(t, m, 0, QueueConfig{Headroom: 801}, ErrBusy) // a cell more than B_s - Σω
	setQueue(t, m, 0, QueueConfig{Headroom: 800}, nil)
	assert.Equal(t, m.lossless.limit, segmentBytes{shared: 500, headroom: 800}, "segments")
	mustAdmit(t, m, 0, pgA, 800, AcceptHeadroom)
	wantSound(t, m, w)
}

// Lowering waits until the bytes in the headroom fit.
func TestLowerHeadroomWaits(t *testing.T) {
	m, w := newTable(t, 1000, Config{}, QueueConfig{Headroom: 300}, QueueConfig{Alpha: MaxAlpha})
	mustAdmit(t, m, 1, pgA, 1000, Accept)
	mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
	mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
	setQueue(t, m, 0, QueueConfig{Headroom: 100}, ErrBusy)
	m.Release(0, pgA, 100)
	setQueue(t, m, 0, QueueConfig{Headroom: 100}, nil)
	wantHeld(t, m, 0, pgA, segmentBytes{headroom: 100})
	wantOff(t, m, w, 0, pgA, true)
	mustAdmit(t, m, 0, pgA, 300, DropHeadroom) // the 200 B that the headroom gave up are shared now
	mustAdmit(t, m, 0, pgA, 200, Accept)
	wantHeld(t, m, 0, pgA, segmentBytes{shared: 200, headroom: 100})
	wantSound(t, m, w)
	m.Release(0, pgA, 100)
	m.Release(0, pgA, 200)
	m.Release(1, pgA, 1000)
	wantEmpty(t, m, w)
}

// A headroom that can never fit is refused by name and number, and the old one stays.
func TestHeadroomNeverFits(t *testing.T) {
	m, _ := newTable(t, 1000, Config{}, QueueConfig{Headroom: 300}, QueueConfig{Headroom: 300})
	err := m.setQueue(0, pgA, QueueConfig{Headroom: 1000}) // leaves 300, two queues need 400
	assert.MustBeTrue(t, errors.Is(err, ErrConfig) && !errors.Is(err, ErrBusy), "got %v", err)
	for _, part := range []string{"shared segment of 300 B", "= 400 B", "port 0 priority 3, headroom 1000 B"} {
		assert.Contains(t, err.Error(), part, "message")
	}
	assert.Equal(t, m.ports[0].ingress[pgA].config.Headroom, 300, "headroom in force, want the old 300")
}

// Private bytes that lose their place become shared, and the reverse; nothing is lost, nothing waits.
func TestChangePrivate(t *testing.T) {
	m, w := newTable(t, 1000, Config{}, QueueConfig{Private: 400, Headroom: 100})
	mustAdmit(t, m, 0, pgA, 600, Accept)
	wantHeld(t, m, 0, pgA, segmentBytes{private: 400, shared: 200})
	setQueue(t, m, 0, QueueConfig{Private: 100, Headroom: 100}, nil)
	wantHeld(t, m, 0, pgA, segmentBytes{private: 100, shared: 500})
	setQueue(t, m, 0, QueueConfig{Private: 500, Headroom: 100}, nil)
	wantHeld(t, m, 0, pgA, segmentBytes{private: 500, shared: 100})
	m.Release(0, pgA, 600)
	wantEmpty(t, m, w)
}

// A change that lifts the resume level turns the queue ON at once.
func TestChangeResumes(t *testing.T) {
	m, w := newTable(t, 1000, Config{}, QueueConfig{Headroom: 100, XonOffset: 1000})
	mustAdmit(t, m, 0, pgA, 500, Accept)
	mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
	m.Release(0, pgA, 100)
	wantOff(t, m, w, 0, pgA, true)
	setQueue(t, m, 0, QueueConfig{Headroom: 100}, nil)
	wantOff(t, m, w, 0, pgA, false)
}

// A port is removed while frames are charged to it, in all three segments. Each frame is released once, from the right
// queue, even after the port has come back.
func TestRemovePort(t *testing.T) {
	m, w := newTable(t, 1000, Config{RingHold: true}, QueueConfig{Private: 200, Headroom: 300},
		QueueConfig{Alpha: MaxAlpha})
	mustAdmit(t, m, 0, pgA, 500, Accept)
	mustAdmit(t, m, 1, pgA, 700, Accept)
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	mustAdmit(t, m, 0, pgA, 100, Wait)
	m.RemovePort(0)
	wantSound(t, m, w)
	wantHeld(t, m, 0, pgA, segmentBytes{shared: 800})
	wantOff(t, m, w, 0, pgA, false) // nobody is to stay paused by it
	counted := Counters{Admitted: 2, AdmittedHeadroom: 1, Waited: 1, Xoff: 1, Xon: 1}
	assert.Equal(t, m.Removed(0).Ingress[pgA], counted, "the port that was removed had counted")
	mustAdmit(t, m, 0, pgA, 100, NoQueue)
	assert.Equal(t, m.ports[0].ingress[pgA].waiting, 0, "bytes that still wait for a queue that is no more")
	assert.Equal(t, m.lossless.limit.shared, 1500, "B_s, want the whole pool, 1500")

	m.Release(0, pgA, 100)
	wantHeld(t, m, 0, pgA, segmentBytes{shared: 700})
	err := m.SetPort(0, onePriority(QueueConfig{Private: 200, Headroom: 300}))
	assert.MustBeTrue(t, errors.Is(err, ErrBusy), "the port came back into a full buffer: %v", err)
	m.Release(1, pgA, 700)
	assert.Must(t, m.SetPort(0, onePriority(QueueConfig{Private: 200, Headroom: 300})))
	wantHeld(t, m, 0, pgA, segmentBytes{private: 200, shared: 500})
	wantSound(t, m, w)
	got := m.ports[0].ingress[pgA].count
	assert.True(t, got == (Counters{}) && m.Removed(0) == (PortCounters{}), "counters of the port that went: %+v", got)
	m.Release(0, pgA, 700)
	m.RemovePort(7) // never there
	wantEmpty(t, m, w)
}

// Frames charged under PFC leave under PAUSE, and the reverse. Bytes follow their priority.
func TestChangeMode(t *testing.T) {
	c := Config{Cell: cell, Lossless: PoolConfig{Size: 10000, Alpha: 1}, Lossy: PoolConfig{Alpha: 1}}
	w := newWire(t)
	m := assert.Got(New(c, w)).Must(t)
	set := func(mode macctl.Mode, lossless uint8) {
		t.Helper()
		pc := PortConfig{Mode: mode, Lossless: lossless, MTU: cell}
		for k := range pc.Queues {
			pc.Queues[k] = QueueConfig{Private: 100, Headroom: 500, Alpha: 1.0 / 16}
		}
		assert.Must(t, m.SetPort(0, pc))
		wantSound(t, m, w)
	}
	set(macctl.ModePFC, 0b0001_1001)
	mustAdmit(t, m, 0, 3, 500, Accept)
	mustAdmit(t, m, 0, 3, 200, AcceptHeadroom)
	mustAdmit(t, m, 0, 4, 300, Accept)

	set(macctl.ModePause, 0)
	wantHeld(t, m, 0, 0, segmentBytes{private: 100, shared: 900})
	wantHeld(t, m, 0, 3, segmentBytes{})
	wantOff(t, m, w, 0, 3, false)
	mustAdmit(t, m, 0, 7, 100, AcceptHeadroom) // above T already
	wantOff(t, m, w, 0, 0, true)
	m.Release(0, 3, 200)
	wantHeld(t, m, 0, 0, segmentBytes{private: 100, shared: 800})

	set(macctl.ModePFC, 0b0000_1000)
	wantHeld(t, m, 0, 0, segmentBytes{})
	wantHeld(t, m, 0, 3, segmentBytes{private: 100, shared: 400})
	wantHeld(t, m, 0, 4, segmentBytes{shared: 300}) // no longer lossless
	wantHeld(t, m, 0, 7, segmentBytes{shared: 100})
	m.Release(0, 4, 300)
	m.Release(0, 7, 100)

	// Queue 0 is lossless before and after, but not the same queue: the headroom that it used was priority 7's.
	set(macctl.ModePause, 0)
	mustAdmit(t, m, 0, 7, 500, AcceptHeadroom)
	set(macctl.ModePFC, 0b0000_1001)
	wantHeld(t, m, 0, 0, segmentBytes{})
	wantHeld(t, m, 0, 7, segmentBytes{shared: 500})
	wantOff(t, m, w, 0, 0, false)
	m.Release(0, 7, 500)

	set(macctl.ModeOff, 0)
	wantHeld(t, m, 0, 3, segmentBytes{shared: 500})
	mustAdmit(t, m, 0, 3, 100, NoQueue)
	m.Release(0, 3, 500)
	wantEmpty(t, m, w)
}

func TestApplyIsAtomic(t *testing.T) {
	c, ports := goodConfig()
	c.Lossless.Size = 1 << 20
	m, err := New(c, newWire(t))
	assert.Must(t, err)
	assert.Must(t, m.Apply(c, ports))
	before := state(m)

	bad := ports[1]
	bad.Queues[3].Headroom = -1
	err = m.Apply(c, map[int]PortConfig{1: ports[1], 2: ports[1], 3: bad})
	assert.True(t, errors.Is(err, ErrConfig), "got %v, want ErrConfig", err)
	wantUnchanged(t, m, before)

	other := c
	other.Cell = 512
	err = m.Apply(other, ports)
	assert.True(t, errors.Is(err, ErrConfig) && strings.Contains(err.Error(), "512"), "the cell changed: %v", err)
	wantUnchanged(t, m, before)

	// The caller's map stays the caller's.
	delete(ports, 1)
	assert.Must(t, m.SetPort(2, PortConfig{}))
	s := state(m)
	assert.True(t, len(s.Ports) == 2 && s.Ports[0].Ingress[3].Lossless, "ports after SetPort: %+v", s.Ports)
}

// A pool can shrink under load: the lossless pool when it is empty enough, the lossy pool at once, with drops until its
// bytes fit.
func TestShrinkPools(t *testing.T) {
	c := Config{Lossy: PoolConfig{Size: 2000}}
	m, w := newTable(t, 1000, c, QueueConfig{Headroom: 300})
	mustAdmit(t, m, 0, pgA, 500, Accept)
	assert.MustBeTrue(t, m.AdmitLossy(0, 0, 900), "lossy frame refused")
	small := m.config
	small.Lossless.Size = 300 + 400
	small.Lossy.Size = 500
	err := m.Apply(small, m.configs)
	assert.True(t, errors.Is(err, ErrBusy), "got %v, want ErrBusy", err)
	m.Release(0, pgA, 100)
	mustAdmit(t, m, 0, pgA, 100, Accept)
	m.Release(0, pgA, 500)
	mustAdmit(t, m, 0, pgA, 400, Accept)
	assert.Must(t, m.Apply(small, m.configs))
	assert.True(t, !m.AdmitLossy(0, 1, 1), "a lossy frame went into a pool that holds more than its size")
	m.ReleaseLossy(0, 0, 900)
	assert.True(t, m.AdmitLossy(0, 1, 100), "lossy frame refused in an empty pool")
	m.ReleaseLossy(0, 1, 100)
	m.Release(0, pgA, 400)
	wantEmpty(t, m, w)
}

// What is too much has to leave by the fewest ports, so those that hold the most, and by each whose headroom shrinks.
func TestBusyNamesWhoHasToLeave(t *testing.T) {
	m, _ := newTable(t, 1000, Config{}, QueueConfig{Alpha: MaxAlpha}, QueueConfig{Alpha: MaxAlpha, Headroom: 400},
		QueueConfig{Alpha: MaxAlpha})
	mustAdmit(t, m, 0, pgA, 100, Accept)
	mustAdmit(t, m, 1, pgA, 300, Accept)
	mustAdmit(t, m, 2, pgA, 600, Accept)
	mustAdmit(t, m, 1, pgA, 400, AcceptHeadroom)
	for _, row := range []struct {
		size, headroom int64 // of the pool, and of port 1
		excess         int64
		ports          []int
	}{
		{1400, 400, 0, nil},
		{1300, 400, 100, []int{2}},
		{1000, 400, 400, []int{2}},
		{700 + 300, 300, 100 + 300, []int{1, 2}},
		{1400, 100, 300, []int{1}},
	} {
		c, ports := m.config, maps.Clone(m.configs)
		c.Lossless.Size = row.size
		pc := ports[1]
		pc.Queues[pgA].Headroom = row.headroom
		ports[1] = pc
		err := m.Apply(c, ports)
		var busy *BusyError
		if row.excess == 0 {
			assert.Must(t, err)
			continue
		}
		assert.True(t, errors.As(err, &busy) && errors.Is(err, ErrBusy) && busy.Excess == row.excess &&
			slices.Equal(busy.Ports, row.ports), "pool %d B, headroom %d B: %+v (%v), want %d B of ports %v", row.size,
			row.headroom, busy, err, row.excess, row.ports)
	}
}
