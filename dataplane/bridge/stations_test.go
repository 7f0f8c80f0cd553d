package bridge

import (
	"fmt"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// limited returns a bridge with n ports that learn so many stations each.
func limited(t testing.TB, n, stations int, c Config) *Bridge {
	t.Helper()
	b := newPlain(t, n, c)
	for i := range n {
		p := plain()
		p.Stations = stations
		setPort(t, b, i, p)
	}
	return b
}

// crowd makes so many stations behind a port send one frame each.
func crowd(b *Bridge, port, n int, now int64) {
	for i := range uint64(n) {
		b.Forward(port, frame.Broadcast, 0x0600_0000_0000+uint64(port)<<32+i, 1, 60, now)
	}
}

// TestStationsOfAPort: a port keeps to its limit, and forgets the stations that were silent for longest. Those that go
// on sending stay, and so does everything that another port learned.
func TestStationsOfAPort(t *testing.T) {
	b := limited(t, 3, 100, Config{})
	b.Forward(1, frame.Broadcast, stationB, 1, 60, 0)
	for i := range 1000 {
		now := int64(i)
		b.Forward(0, frame.Broadcast, stationA, 1, 60, now)
		b.Forward(0, frame.Broadcast, 0x0600_0000_0000+uint64(i), 1, 60, now)
	}
	wantCounters(t, b, Counters{Entries: 101, Forgot: 901})
	for mac, want := range map[uint64]Decision{
		stationA: unicast(0), stationB: unicast(1),
		0x0600_0000_0000 + 999: unicast(0), 0x0600_0000_0000 + 901: unicast(0),
		0x0600_0000_0000 + 850: flood(UnknownUnicast, 0, 1),
	} {
		wantDecision(t, fmt.Sprintf("to %012x", mac), b.Forward(2, mac, 0, 1, 60, 1000), want)
	}
	b.Forward(0, frame.Broadcast, stationB, 1, 60, 1001) // moves to the port that is full
	wantCounters(t, b, Counters{Entries: 100, Moves: 1, Forgot: 902})
}

// TestLowerLimit: where the limit falls below what a port has learned, each new station makes the port forget some.
func TestLowerLimit(t *testing.T) {
	b := limited(t, 2, 100, Config{})
	crowd(b, 0, 100, 0)
	p := plain()
	p.Stations = 10
	setPort(t, b, 0, p)
	for i := range uint64(3) {
		b.Forward(0, frame.Broadcast, stationA+i, 1, 60, 1)
	}
	wantCounters(t, b, Counters{Entries: 10, Full: 2, Forgot: 91})
	b.Flush(0) // what was flushed does not count, and makes room first
	crowd(b, 0, 10, 2)
	wantCounters(t, b, Counters{Entries: 10, Full: 2, Forgot: 91})
}

// TestFullTable: in a full table a station of another port always finds room, at the cost of the port that has most.
func TestFullTable(t *testing.T) {
	b := newPlain(t, 3, Config{MaxEntries: 1000})
	crowd(b, 0, 140_000, 0)
	b.Forward(1, frame.Broadcast, stationB, 1, 60, 1)
	crowd(b, 0, 10_000, 2)
	wantDecision(t, "to the new host", b.Forward(0, stationB, 0, 1, 60, 3), unicast(1))
	got := b.Counters()
	assert.True(t, got.Full == 0 && got.Entries == 1000, "%+v, want 1000 entries, and none refused", got)
}

// TestNotices: each port speaks up once in ten seconds.
func TestNotices(t *testing.T) {
	b := limited(t, 2, 10, Config{MaxEntries: 25})
	told := func(port int, now int64) (all []Notice) {
		for i := range 30 {
			crowd(b, port, i, now)
			if n, ok := b.TakeNotice(); ok {
				all = append(all, n)
			}
		}
		return all
	}
	for _, tt := range []struct {
		port int
		at   int64
		want int
	}{{0, 0, 1}, {1, 1, 1}, {0, 10*second - 1, 0}, {0, 10 * second, 1}} {
		got := told(tt.port, tt.at)
		if len(got) != tt.want || tt.want == 1 && got[0] != (Notice{Kind: PortFull, Port: tt.port, Stations: 10}) {
			t.Errorf("port %d at %d: %+v, want %d", tt.port, tt.at, got, tt.want)
		}
	}
	b = newPlain(t, 1, Config{MaxEntries: 25})
	crowd(b, 0, 26, 0)
	n, _ := b.TakeNotice()
	assert.True(t, n == (Notice{Kind: TableFull, Port: 0, Stations: 25}), "full table: %+v", n)
}

// TestNoticesOfOtherKinds: a port that is full all the time hides no station that is held elsewhere, also where a full
// port holds it.
func TestNoticesOfOtherKinds(t *testing.T) {
	b := limited(t, 2, 10, Config{})
	hear(b, 0, stationA, 0)
	crowd(b, 1, 11, 1)
	n, _ := b.TakeNotice()
	assert.MustBeTrue(t, n.Kind == PortFull && n.Port == 1, "%+v, want that port 1 is full", n)
	for i := range moveLimit {
		hear(b, 1-i%2, stationA, int64(2+i))
		b.TakeNotice()
	}
	crowd(b, 0, 10, 10)
	b.TakeNotice()
	hear(b, 0, stationA, 11)
	if n, _ := b.TakeNotice(); n.Kind != StationHeld || n.Port != 1 || n.Home != 0 {
		t.Errorf("%+v, want that the station is held at port 0", n)
	}
}

// TestCrowdsDoNotAllocate: neither at the limit of a port nor in a full table.
func TestCrowdsDoNotAllocate(t *testing.T) {
	b := limited(t, 2, 100, Config{MaxEntries: 150})
	crowd(b, 1, 100, 0)
	mac := uint64(0x0A00_0000_0000)
	got := testing.AllocsPerRun(1000, func() {
		mac++
		b.Forward(0, frame.Broadcast, mac, 1, 60, 1)
	})
	assert.True(t, got == 0, "%v allocations", got)
}
