package bridge

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// TestTableIsAMap drives a small table, three quarters full at most, against a Go map: every station that the map
// holds is found, no other is, and no slot between an entry and its home is empty.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &tableModel{entries: map[uint64]tableEntry{}}
		m.f.init(rapid.IntRange(1, 23).Draw(t, "max")) // at most 32 slots: the sweep of a full table sees them all
		m.f.ageing, m.f.moveLimit = 1, math.MaxUint8
		t.Repeat(map[string]func(*rapid.T){
			"learn": m.learn, "learn2": m.learn, "learn3": m.learn, "bind": m.bind, "remove": m.remove,
			"flush": m.flush, "sweep": m.sweep, "": m.check,
		})
	})
}

type tableModel struct {
	f       fdb
	entries map[uint64]tableEntry
}

type tableEntry struct {
	port   int
	static bool
}

var (
	anyKey       = rapid.Uint64Range(1, 40)
	anyTablePort = rapid.IntRange(0, 3)
)

func (m *tableModel) fits(key uint64) bool {
	_, known := m.entries[key]
	return known || len(m.entries) < m.f.max
}

func (m *tableModel) learn(t *rapid.T) {
	key, port := anyKey.Draw(t, "key"), anyTablePort.Draw(t, "port")
	fits, victim := m.fits(key), m.most(port)
	m.f.learn(key, port, 0)
	switch {
	case m.entries[key].static || !fits && victim < 0:
		return
	case !fits:
		m.forget(t, victim)
	}
	m.entries[key] = tableEntry{port: port}
}

// most returns the port that has most learned stations, port where no other has more, -1 where there are none.
func (m *tableModel) most(port int) int {
	var counts [MaxPorts]int
	for _, e := range m.entries {
		if !e.static {
			counts[e.port]++
		}
	}
	for i, n := range counts {
		if n > counts[port] {
			port = i
		}
	}
	if counts[port] == 0 {
		return -1
	}
	return port
}

// forget takes the one learned station of a port out of the model that the table has forgotten.
func (m *tableModel) forget(t *rapid.T, port int) {
	gone := 0
	for key, e := range m.entries {
		if _, ok := m.f.lookup(key, 0); !ok && e.port == port && !e.static {
			delete(m.entries, key)
			gone++
		}
	}
	assert.MustEqual(t, gone, 1, "port %d has lost stations", port)
}

func (m *tableModel) bind(t *rapid.T) {
	key, port := anyKey.Draw(t, "key"), anyTablePort.Draw(t, "port")
	fits, victim := m.fits(key), m.most(port)
	want := fits || victim >= 0
	assert.MustEqual(t, m.f.bindStatic(key, port, 0), want, "bind %d", key)
	if want && !fits {
		m.forget(t, victim)
	}
	if want {
		m.entries[key] = tableEntry{port, true}
	}
}

func (m *tableModel) remove(t *rapid.T) {
	key := anyKey.Draw(t, "key")
	if i, found := m.f.find(key); found {
		m.f.remove(i)
		delete(m.entries, key)
	}
}

func (m *tableModel) flush(t *rapid.T) {
	port := anyTablePort.Draw(t, "port")
	m.f.flush(port)
	for key, e := range m.entries {
		if e.port == port && !e.static {
			delete(m.entries, key)
		}
	}
}

func (m *tableModel) sweep(t *rapid.T) { m.f.sweep(0, rapid.IntRange(0, 10).Draw(t, "budget")) }

func (m *tableModel) check(t *rapid.T) {
	f := &m.f
	assert.MustBeTrue(t, f.used-f.stale == len(m.entries) && f.used <= f.max,
		"%d slots in use, %d of them stale, of %d; want %d live", f.used, f.stale, f.max, len(m.entries))
	for key := uint64(1); key <= 40; key++ {
		port, ok := f.lookup(key, 0)
		want, known := m.entries[key]
		assert.MustBeTrue(t, ok == known && port == want.port, "key %d: port %d, %v; want %d, %v", key, port, ok,
			want.port, known)
	}
	counted := f.static + f.stale
	for _, n := range f.learned {
		counted += n
	}
	m.checkLists(t)
	occupied := 0
	for i := range f.slots {
		if f.slots[i].key == 0 {
			continue
		}
		occupied++
		for j := f.home(f.slots[i].key); j != i; j = (j + 1) & f.mask {
			assert.MustBeTrue(t, f.slots[j].key != 0, "slot %d is empty before the entry of slot %d", j, i)
		}
	}
	assert.MustBeTrue(t, occupied == f.used && counted == f.used,
		"%d slots occupied, %d counted as static, stale or learned; want both %d", occupied, counted, f.used)
}

// checkLists follows the list of each port: it has the port's learned entries, each once.
func (m *tableModel) checkLists(t *rapid.T) {
	f, listed := &m.f, 0
	for port := range f.stations {
		before := uint32(0)
		for at := f.stations[port].first; at != 0; at = f.slots[at-1].newer {
			e := &f.slots[at-1]
			assert.MustBeTrue(t, e.key != 0 && !e.static && int(e.port) == port && e.older == before,
				"slot %d in the list of port %d: %+v, before it slot %d", at-1, port, *e, int(before)-1)
			before = at
			listed++
			assert.MustBeTrue(t, listed <= f.used, "the list of port %d has a loop", port)
		}
		assert.MustBeTrue(t, before == f.stations[port].last, "port %d: the last one is at %d, want %d", port,
			f.stations[port].last, before)
	}
	assert.MustEqual(t, listed, f.used-f.static, "entries in lists")
}
