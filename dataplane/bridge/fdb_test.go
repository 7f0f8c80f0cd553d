package bridge

import (
	"math"
	"testing"

	"pfcswitch/dataplane/frame"
)

func TestStationMoves(t *testing.T) {
	b := newPlain(t, 3, Config{})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	wantDecision(t, "before", b.Forward(2, stationA, stationC, 1, 60, 1), unicast(0))
	b.Forward(1, frame.Broadcast, stationA, 1, 60, 2)
	wantDecision(t, "after", b.Forward(2, stationA, stationC, 1, 60, 3), unicast(1))
	b.Forward(1, frame.Broadcast, stationA, 1, 60, 4)
	wantCounters(t, b, Counters{Entries: 2, Moves: 1})
}

func TestVLANsLearnForThemselves(t *testing.T) {
	b := newBridge(t, Config{})
	for i := range 3 {
		setPort(t, b, i, PortConfig{PVID: 1, Tagged: vlans(t, 10), Learning: true, Flood: true})
		b.SetUp(i, true)
	}
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	b.Forward(1, frame.Broadcast, stationA, 10, 60, 0)
	wantDecision(t, "VLAN 1", b.Forward(2, stationA, stationC, 1, 60, 0), unicast(0))
	wantDecision(t, "VLAN 10", b.Forward(2, stationA, stationC, 10, 60, 0), unicast(1))
	wantCounters(t, b, Counters{Entries: 4})
}

func TestAgeing(t *testing.T) {
	b := newPlain(t, 2, Config{Ageing: 100})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 60) // refreshes
	if got := b.Age(159, math.MaxInt); got != 0 {
		t.Errorf("aged %d at 159, want 0", got)
	}
	wantDecision(t, "at 159", b.Forward(1, stationA, 0, 1, 60, 159), unicast(0))

	// Without a sweep: the entry is there, but not used.
	wantDecision(t, "at 160", b.Forward(1, stationA, 0, 1, 60, 160), flood(UnknownUnicast, 0))
	wantCounters(t, b, Counters{Entries: 1})
	if got := b.Age(160, math.MaxInt); got != 1 {
		t.Errorf("aged %d at 160, want 1", got)
	}
	wantCounters(t, b, Counters{})

	// Where it turns up after ageing is not a move.
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 200)
	b.Forward(1, frame.Broadcast, stationA, 1, 60, 300)
	wantCounters(t, b, Counters{Entries: 1})
}

func TestSetAgeing(t *testing.T) {
	b := newPlain(t, 2, Config{})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	if err := b.SetAgeing(10); err != nil {
		t.Fatal(err)
	}
	wantDecision(t, "shortened", b.Forward(1, stationA, 0, 1, 60, 10), flood(UnknownUnicast, 0))
	wantError(t, b.SetAgeing(-1), "use 0 for 5m0s")
	wantDecision(t, "unchanged by the error", b.Forward(1, stationA, 0, 1, 60, 9), unicast(0))
	if err := b.SetAgeing(0); err != nil {
		t.Fatal(err)
	}
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
		if n > budget*4 { // a slot may be filled again from its cluster, but not for long
			t.Errorf("call %d removed %d entries with a budget of %d slots", calls, n, budget)
		}
		total += n
		calls++
	}
	if want := len(b.fdb.slots) / budget; calls > want {
		t.Errorf("%d calls for %d slots, want at most %d", calls, len(b.fdb.slots), want)
	}
	wantCounters(t, b, Counters{})
}

func TestFull(t *testing.T) {
	b := newPlain(t, 2, Config{MaxEntries: 3, Ageing: 100})
	for i := range uint64(5) {
		b.Forward(0, frame.Broadcast, stationA+i, 1, 60, int64(10*i))
	}
	wantCounters(t, b, Counters{Entries: 3, Full: 2})
	wantDecision(t, "learned", b.Forward(1, stationA+2, 0, 1, 60, 50), unicast(0))
	wantDecision(t, "not learned", b.Forward(1, stationA+3, 0, 1, 60, 50), flood(UnknownUnicast, 0))

	// Known stations go on being refreshed and moved.
	b.Forward(1, frame.Broadcast, stationA+2, 1, 60, 60)
	wantDecision(t, "moved", b.Forward(0, stationA+2, 0, 1, 60, 60), unicast(1))
	wantCounters(t, b, Counters{Entries: 3, Moves: 1, Full: 2})

	// A new one takes the room of an aged one, without a call of Age.
	b.Forward(0, frame.Broadcast, stationA+9, 1, 60, 100)
	wantDecision(t, "in the room of an aged one", b.Forward(1, stationA+9, 0, 1, 60, 100), unicast(0))
	wantCounters(t, b, Counters{Entries: 3, Moves: 1, Full: 2})
}

func TestFlush(t *testing.T) {
	b := newPlain(t, 3, Config{MaxEntries: 4})
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	b.Forward(0, frame.Broadcast, stationA+100, 1, 60, 0)
	b.Forward(1, frame.Broadcast, stationB, 1, 60, 0)
	if err := b.AddStatic(stationC, 1, 0, 0); err != nil {
		t.Fatal(err)
	}
	b.Flush(0)
	wantDecision(t, "flushed", b.Forward(2, stationA, 0, 1, 60, 1), flood(UnknownUnicast, 0, 1))
	wantDecision(t, "other port", b.Forward(2, stationB, 0, 1, 60, 1), unicast(1))
	wantDecision(t, "static", b.Forward(2, stationC, 0, 1, 60, 1), unicast(0))
	wantCounters(t, b, Counters{Entries: 2, Static: 1})

	b.Forward(1, frame.Broadcast, stationA, 1, 60, 2) // learned anew elsewhere, in its old slot: not a move
	b.Forward(1, frame.Broadcast, stationE, 1, 60, 2) // in the room of the other flushed one
	wantDecision(t, "anew", b.Forward(0, stationA, 0, 1, 60, 3), unicast(1))
	wantDecision(t, "in its room", b.Forward(0, stationE, 0, 1, 60, 3), unicast(1))
	wantCounters(t, b, Counters{Entries: 4, Static: 1})

	b.Flush(1)
	b.Flush(1)
	wantCounters(t, b, Counters{Entries: 1, Static: 1})
	if got := b.Age(3, math.MaxInt); got != 3 {
		t.Errorf("swept %d, want 3", got)
	}
	wantCounters(t, b, Counters{Entries: 1, Static: 1})
}

// TestSearchIsShort: neither consecutive addresses nor consecutive VLANs pile up in one part of the table.
func TestSearchIsShort(t *testing.T) {
	for name, key := range map[string]func(i uint64) uint64{
		"addresses": func(i uint64) uint64 { return fdbKey(0x0200_0000_0001+i, 1) },
		"prefixes":  func(i uint64) uint64 { return fdbKey(0x0200_0000_0001+i<<24, 1) },
		"VLANs":     func(i uint64) uint64 { return fdbKey(0x0200_0000_0001+i>>12, uint16(i&0xFFF)) },
	} {
		t.Run(name, func(t *testing.T) {
			var f fdb
			f.init(1 << 16)
			f.ageing = 1
			steps := 0
			for i := range uint64(1 << 16) {
				f.learn(key(i), 0, 0)
			}
			for i := range f.slots {
				if k := f.slots[i].key; k != 0 {
					steps += (i-f.home(k))&f.mask + 1
				}
			}
			if mean := float64(steps) / float64(f.used); mean > 4 { // half full: 1.5 is expected
				t.Errorf("%.2f slots per search", mean)
			}
		})
	}
}
