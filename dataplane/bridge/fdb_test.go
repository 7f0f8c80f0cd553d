package bridge

import (
	"math"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

func TestAgeing(t *testing.T) {
	b := newPlain(t, 2, Config{Ageing: 100})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 60) // refreshes
	assert.Equal(t, b.Age(159, math.MaxInt), 0, "aged at 159")
	wantDecision(t, "at 159", b.Forward(1, stationA, 0, 1, 60, 159), unicast(0))

	// Without a sweep: the entry is there, but not used.
	wantDecision(t, "at 160", b.Forward(1, stationA, 0, 1, 60, 160), flood(UnknownUnicast, 0))
	wantCounters(t, b, Counters{Entries: 1})
	assert.Equal(t, b.Age(160, math.MaxInt), 1, "aged at 160")
	wantCounters(t, b, Counters{})

	// Where it turns up after ageing is not a move.
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 200)
	b.Forward(1, frame.Broadcast, stationA, 1, 60, 300)
	wantCounters(t, b, Counters{Entries: 1})
}

func TestSetAgeing(t *testing.T) {
	b := newPlain(t, 2, Config{})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	assert.Must(t, b.SetAgeing(10))
	wantDecision(t, "shortened", b.Forward(1, stationA, 0, 1, 60, 10), flood(UnknownUnicast, 0))
	wantError(t, b.SetAgeing(-1), "use 0 for 5m0s")
	wantDecision(t, "unchanged by the error", b.Forward(1, stationA, 0, 1, 60, 9), unicast(0))
	assert.Must(t, b.SetAgeing(0))
	wantDecision(t, "default", b.Forward(1, stationA, 0, 1, 60, 300*second-1), unicast(0))
}

// TestAgeBudget: the work of one call is bounded, and calls go on where the last one stopped.
func TestAgeBudget(t *testing.T) {
	b := newPlain(t, 2, Config{MaxEntries: 1000, Ageing: 100})
	for i := range uint64(1000) {
		b.Forward(0, frame.Broadcast, stationA+i, 1, 60, 0)
	}
	const budget = 64
	calls, total := 0, 0
	for total < 1000 && calls < 1000 {
		n := b.Age(100, budget)
		// a slot may be filled again from its cluster, but not for long
		assert.True(t, n <= budget*4, "call %d removed %d entries with a budget of %d slots", calls, n, budget)
		total += n
		calls++
	}
	want := len(b.fdb.slots) / budget
	assert.True(t, calls <= want, "%d calls for %d slots, want at most %d", calls, len(b.fdb.slots), want)
	wantCounters(t, b, Counters{})
}

// TestSearchIsShort: neither consecutive addresses nor consecutive VLANs pile up in one part of the table,
// whatever its seed.
func TestSearchIsShort(t *testing.T) {
	const tables, stations = 16, 1 << 14
	for name, key := range map[string]func(i uint64) uint64{
		"addresses": func(i uint64) uint64 { return fdbKey(0x0200_0000_0001+i, 1) },
		"prefixes":  func(i uint64) uint64 { return fdbKey(0x0200_0000_0001+i<<24, 1) },
		"VLANs":     func(i uint64) uint64 { return fdbKey(0x0200_0000_0001+i>>12, uint16(i&0xFFF)) },
	} {
		t.Run(name, func(t *testing.T) {
			for range tables {
				mean := searchLength(stations, key) // half full: 1.5 is expected
				assert.True(t, mean <= 4, "%.2f slots per search", mean)
			}
		})
	}
}

// searchLength is how many slots a search takes in a table of so many stations, on average.
func searchLength(stations int, key func(i uint64) uint64) float64 {
	var f fdb
	f.init(stations)
	f.ageing = 1
	for i := range uint64(stations) {
		f.learn(key(i), 0, 0)
	}
	steps := 0
	for i := range f.slots {
		if k := f.slots[i].key; k != 0 {
			steps += (i-f.home(k))&f.mask + 1
		}
	}
	return float64(steps) / float64(f.used)
}

// The table of a bridge follows from its identity, so that virtual time repeats itself. Without one it is random.
func TestTableFollowsFromTheIdentity(t *testing.T) {
	seed := func(c Config) [2]uint64 { b := newBridge(t, c); return [2]uint64{b.fdb.seed, b.fdb.mult} }
	other := testIdentity
	other.Secret[0]++
	first := seed(Config{Identity: testIdentity})
	assert.Equal(t, seed(Config{Identity: testIdentity}), first, "the seed, with the same identity")
	assert.True(t, seed(Config{Identity: other}) != first && first[1]&1 != 0,
		"%x, and the same with another secret; or the second is even", first)
	var random [2]uint64
	for i := range random {
		b := assert.Got(New(Config{})).Must(t)
		random[i] = b.fdb.seed
	}
	assert.True(t, random[0] != random[1], "two tables without an identity have the seed %x", random[0])
}
