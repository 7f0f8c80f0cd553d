package bridge

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// hear makes a port receive a broadcast of a station.
func hear(b *Bridge, port int, mac uint64, now int64) {
	b.Forward(port, frame.Broadcast, mac, 1, 60, now)
}

// wantAt fails the test unless frames to a station go to a port.
func wantAt(t *testing.T, what string, b *Bridge, mac uint64, port int, now int64) {
	t.Helper()
	if got := b.Lookup(mac, 1, now); !got.Known || got.Port != port {
		t.Errorf("%s: %+v, want port %d", what, got, port)
	}
}

// TestMoveAtOnce: a station that moves is at its new port with its first frame, up to the limit, and after the link of
// its old port went down in any case.
func TestMoveAtOnce(t *testing.T) {
	b := newPlain(t, 4, Config{})
	for i := range moveLimit + 1 {
		hear(b, i%3, stationA, int64(i))
		wantAt(t, "moved", b, stationA, i%3, int64(i))
	}
	hear(b, 0, stationA, 10) // once too often, and home
	hear(b, 1, stationA, 10)
	wantCounters(t, b, Counters{Entries: 1, Moves: moveLimit + 1, Holds: 1, Refused: 1})
	b.SetUp(0, false)
	hear(b, 3, stationA, 11)
	wantAt(t, "after a link went down", b, stationA, 3, 11)
}

// TestStolenAddress: while two hosts use an address, it stays where it was but for a small part of the time. The hold
// doubles up to 64 s, an event names both ports, and a minute after the thief stops, all is forgotten.
func TestStolenAddress(t *testing.T) {
	b := newPlain(t, 4, Config{})
	const step = int64(10 * time.Millisecond)
	now, stolen, total := int64(0), 0, 0
	var holds []time.Duration
	for ; now < 300*second; now += step {
		hear(b, 2, stationB, now)
		hear(b, 3, stationB, now+step/2)
		if b.Lookup(stationB, 1, now+step/2).Port == 3 {
			stolen++
		}
		total++
		if n, ok := b.TakeNotice(); ok {
			if n.Kind != StationHeld || n.Port != 3 || n.Home != 2 || n.MAC != stationB || n.VID != 1 {
				t.Fatalf("notice %+v", n)
			}
			holds = append(holds, n.Hold)
		}
	}
	if 500*stolen > total {
		t.Errorf("the address was stolen for %d of %d looks", stolen, total)
	}
	if n := len(holds); n < 4 || holds[0] != time.Second || holds[n-1] != 64*time.Second {
		t.Errorf("holds %v, want 1 s to 64 s", holds)
	}
	now += 200 * second
	hear(b, 2, stationB, now)
	hear(b, 1, stationB, now+1)
	wantAt(t, "a move in peace", b, stationB, 1, now+1)
	if got := b.fdb.slots[slotOf(b, stationB)].moves; got.double != 0 || got.home != 2 {
		t.Errorf("the series goes on: %+v", got)
	}
}

func slotOf(b *Bridge, mac uint64) int {
	i, _ := b.fdb.find(fdbKey(mac, 1))
	return i
}

// TestHoldAtADeadPort: a station is not held at a port whose link is down.
func TestHoldAtADeadPort(t *testing.T) {
	b := newPlain(t, 3, Config{})
	hear(b, 0, stationA, 0)
	hear(b, 1, stationA, 1)
	b.SetUp(0, false)
	for i := range moveLimit {
		hear(b, 2-i%2, stationA, int64(2+i))
	}
	if got := b.Lookup(stationA, 1, 10); got.Port == 0 || b.Counters().Holds != 1 {
		t.Errorf("%+v, %+v", got, b.Counters())
	}
}

// TestStrayProbe: another switch's loop probe that a station sends back is not forwarded where this port looks for
// loops itself, however often. Any other frame of a switch moves it, and its probes with it.
func TestStrayProbe(t *testing.T) {
	b := newGuarded(t, 3)
	setPort(t, b, 2, plain())
	wantDecision(t, "first", b.Forward(0, ProbeAddress, stationA, 1, 60, 0), flood(Multicast, 1, 2))
	wantDecision(t, "again", b.Forward(0, ProbeAddress, stationA, 1, 60, 1), flood(Multicast, 1, 2))
	assert.Equal(t, b.Trace(1, ProbeAddress, stationA, 1, 2), drop(DropFiltered), "foreseen")
	wantDecision(t, "sent back", b.Forward(1, ProbeAddress, stationA, 1, 60, 2), drop(DropFiltered))
	wantDecision(t, "sent back twice", b.Forward(1, ProbeAddress, stationA, 1, 60, 3), drop(DropFiltered))
	wantAt(t, "sent back", b, stationA, 0, 3)
	hear(b, 1, stationA, 4)
	wantDecision(t, "moved", b.Forward(1, ProbeAddress, stationA, 1, 60, 5), flood(Multicast, 0, 2))
	wantDecision(t, "by a port that does not look", b.Forward(2, ProbeAddress, stationA, 1, 60, 6),
		flood(Multicast, 0, 1))
}
