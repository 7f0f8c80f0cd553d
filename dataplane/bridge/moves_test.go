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
	got := b.Lookup(mac, 1, now)
	assert.True(t, got.Known && got.Port == port, "%s: %+v, want port %d", what, got, port)
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
			assert.MustBeTrue(t, n.Kind == StationHeld && n.Port == 3 && n.Home == 2 && n.MAC == stationB && n.VID == 1,
				"notice %+v", n)
			holds = append(holds, n.Hold)
		}
	}
	assert.True(t, 500*stolen <= total, "the address was stolen for %d of %d looks", stolen, total)
	if n := len(holds); n < 4 || holds[0] != time.Second || holds[n-1] != 64*time.Second {
		t.Errorf("holds %v, want 1 s to 64 s", holds)
	}
	now += 200 * second
	hear(b, 2, stationB, now)
	hear(b, 1, stationB, now+1)
	wantAt(t, "a move in peace", b, stationB, 1, now+1)
	got := b.fdb.slots[slotOf(b, stationB)].moves
	assert.True(t, got.double == 0 && got.home == 2, "the series goes on: %+v", got)
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
	got := b.Lookup(stationA, 1, 10)
	assert.True(t, got.Port != 0 && b.Counters().Holds == 1, "%+v, %+v", got, b.Counters())
}

// TestStrayProbe: another switch's loop probe that a station sends back is not forwarded where this port looks for
// loops itself, however often. Any other frame of a switch moves it, and its probes with it.
func TestStrayProbe(t *testing.T) {
	b := newGuarded(t, 3)
	setPort(t, b, 2, plain())
	wantDecision(t, "first", b.Forward(0, ProbeAddress, stationA, 1, 60, 0), flood(Multicast, 1, 2))
	wantDecision(t, "again", b.Forward(0, ProbeAddress, stationA, 1, 60, 1), flood(Multicast, 1, 2))
	assert.Equal(t, b.Trace(1, ProbeAddress, stationA, 1, 2), drop(DropFiltered), "traced")
	wantDecision(t, "sent back", b.Forward(1, ProbeAddress, stationA, 1, 60, 2), drop(DropFiltered))
	wantDecision(t, "sent back twice", b.Forward(1, ProbeAddress, stationA, 1, 60, 3), drop(DropFiltered))
	wantAt(t, "sent back", b, stationA, 0, 3)
	hear(b, 1, stationA, 4)
	wantDecision(t, "moved", b.Forward(1, ProbeAddress, stationA, 1, 60, 5), flood(Multicast, 0, 2))
	wantDecision(t, "by a port that does not look", b.Forward(2, ProbeAddress, stationA, 1, 60, 6),
		flood(Multicast, 0, 1))
}

// TestNeighbourDoesNotMove: the first frame of the LLDP neighbour of a port by another port begins a hold, also when
// the one before is over. It does so as long as the neighbour is there.
func TestNeighbourDoesNotMove(t *testing.T) {
	b := newPlain(t, 3, Config{})
	b.SetNeighbour(0, stationA)
	hear(b, 0, stationA, 0)
	holds := uint64(0)
	for now := int64(0); now < 300*second; now += second / 4 {
		before := b.Counters().Holds
		assert.Equal(t, b.Trace(1, stationA, stationA, 1, now).Kind, Unicast, "traced")
		hear(b, 1, stationA, now)
		wantAt(t, "a neighbour", b, stationA, 0, now)
		hear(b, 0, stationA, now)
		n, ok := b.TakeNotice()
		assert.MustBeTrue(t, !ok || n.Kind == StationHeld && n.Port == 1 && n.Home == 0 && n.Neighbour, "notice %+v", n)
		holds += b.Counters().Holds - before
	}
	wantCounters(t, b, Counters{Entries: 1, Holds: holds, Refused: 1200})
	assert.True(t, holds >= 7, "%d holds", holds)
	b.SetNeighbour(0, 0)
	hear(b, 1, stationA, 400*second)
	wantAt(t, "no neighbour any more", b, stationA, 1, 400*second)
}

// TestAnnouncedAddress: a host that announces the address of another one at its own port gains nothing by that, and one
// that announces the address of a neighbour moves it no sooner than it moves others.
func TestAnnouncedAddress(t *testing.T) {
	for name, of := range map[string][3]uint64{ // neighbours by port
		"nobody announces":              {},
		"the thief announces":           {0, stationA, 0},
		"both announce":                 {stationA, stationA, 0},
		"another host announces":        {0, 0, stationA},
		"the owner announces another":   {stationB, 0, 0},
		"both, and the owner has moved": {0, stationA, stationA},
	} {
		b := newPlain(t, 3, Config{})
		for i, mac := range of {
			b.SetNeighbour(i, mac)
		}
		now := int64(0)
		hear(b, 0, stationA, now) // the owner, at port 0
		for n := range moveLimit {
			now += second
			hear(b, (n+1)%2, stationA, now)
			wantAt(t, name+": it moves", b, stationA, (n+1)%2, now)
		}
		hear(b, 0, stationA, now)
		hear(b, 1, stationA, now)
		wantAt(t, name+": it is held at its owner's port", b, stationA, 0, now)
	}
}

// TestNeighbourThatMoved: a station that has moved to the port of its neighbour is no neighbour that stays, until it is
// learned anew.
func TestNeighbourThatMoved(t *testing.T) {
	b := newPlain(t, 3, Config{})
	b.SetNeighbour(0, stationA)
	hear(b, 1, stationA, 0)
	hear(b, 0, stationA, 1)
	hear(b, 1, stationA, 2)
	wantAt(t, "where it was", b, stationA, 1, 2)
	b.SetUp(1, false) // its link is down, so it begins anew
	hear(b, 0, stationA, 3)
	hear(b, 2, stationA, 4)
	wantAt(t, "a neighbour", b, stationA, 0, 4)
	b.SetNeighbour(MaxPorts, stationA)
	b.RemovePort(0)
	b.SetNeighbour(0, stationB)
	assert.Equal(t, b.fdb.neighbours[0], 0, "neighbour of no port")
}
