package bridge

import (
	"math"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

const second = int64(time.Second)

// Stations of the tests, named for the port behind which they usually are.
const (
	stationA = 0x0200_0000_000A
	stationB = 0x0200_0000_000B
	stationC = 0x0200_0000_000C
)

var testIdentity = Identity{Public: [8]byte{0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3, 4}, Secret: [32]byte{5: 6}}

// plain is a port in VLAN 1 with the defaults of the configuration.
func plain() PortConfig { return PortConfig{PVID: 1, Learning: true, Flood: true} }

func newBridge(t testing.TB, c Config) *Bridge {
	t.Helper()
	if c.Identity == (Identity{}) {
		c.Identity = testIdentity
	}
	b, err := New(c)
	assert.MustNoError(t, err, "New(%+v)", c)
	return b
}

// newPlain returns a bridge with n plain ports that are up.
func newPlain(t testing.TB, n int, c Config) *Bridge {
	t.Helper()
	b := newBridge(t, c)
	for i := range n {
		setPort(t, b, i, plain())
		b.SetUp(i, true)
	}
	return b
}

func setPort(t testing.TB, b *Bridge, i int, c PortConfig) LoopEvent {
	t.Helper()
	ev, err := b.SetPort(i, c)
	assert.MustNoError(t, err, "SetPort(%d)", i)
	return ev
}

func vlans(t testing.TB, vids ...uint16) VLANSet {
	t.Helper()
	return assert.Got(VLANs(vids...)).Must(t)
}

func ports(is ...int) PortSet {
	var s PortSet
	for _, i := range is {
		s.Add(i)
	}
	return s
}

func unicast(port int) Decision { return Decision{Kind: Unicast, Port: port} }

func flood(c Cause, to ...int) Decision {
	s := ports(to...)
	return Decision{Kind: Flood, Cause: c, Port: -1, Ports: &s}
}

func wantDecision(t testing.TB, what string, got, want Decision) {
	t.Helper()
	assert.Equal(t, inFull(got), inFull(want), "%s", what)
}

// A fullDecision can be compared.
type fullDecision struct {
	Decision
	to PortSet
}

func inFull(d Decision) fullDecision {
	full := fullDecision{Decision: d}
	if d.Ports != nil {
		full.Ports, full.to = nil, *d.Ports
	}
	return full
}

func wantCounters(t testing.TB, b *Bridge, want Counters) {
	t.Helper()
	assert.Equal(t, b.Counters(), want, "counters")
}

func wantError(t testing.TB, err error, words string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error, want one with %q", words)
	case !strings.Contains(err.Error(), words):
		t.Errorf("error %q, want one with %q", err, words)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		c     Config
		words string
	}{
		{"negative size", Config{MaxEntries: -1}, "use 1 to 4194304"},
		{"size beyond the limit", Config{MaxEntries: entriesLimit + 1}, "use 1 to 4194304"},
		{"negative ageing", Config{Ageing: -1}, "use 0 for 5m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.c)
			wantError(t, err, tt.words)
		})
	}
}

func TestDefaults(t *testing.T) {
	b := newPlain(t, 2, Config{})
	assert.Equal(t, b.fdb.max, 131072, "max entries")
	b.Forward(0, frame.Broadcast, stationA, 1, 60, 0)
	wantDecision(t, "just before 300 s", b.Forward(1, stationA, stationB, 1, 60, 300*second-1), unicast(0))
	wantDecision(t, "at 300 s", b.Forward(1, stationA, stationB, 1, 60, 300*second), flood(UnknownUnicast, 0))
}

// TestNoAllocations covers every verb that a frame or a timer meets.
func TestNoAllocations(t *testing.T) {
	b := newBridge(t, Config{MaxEntries: 64, Ageing: 50})
	for i := range 3 {
		c := plain()
		c.Storm, c.Loop = 1_000_000, true
		setPort(t, b, i, c)
		b.SetUp(i, true)
	}
	probe := make([]byte, 0, ProbeLen)
	now, sum := int64(0), 0
	avg := testing.AllocsPerRun(1000, func() {
		now += 7
		src := 0x0200_0000_0000 + uint64(now)
		vid, _ := b.Ingress(0, false, 0)
		d := b.Forward(0, frame.Broadcast, src, vid, 60, now)
		if d.Kind == Flood {
			for p := range d.Ports.All() {
				sum += int(b.Egress(p, vid))
			}
		}
		b.Forward(1, src, stationB, vid, 60, now)
		b.Forward(2, src^1, stationC, vid, 60, now)
		p, _, _ := b.LoopTick(1, now)
		probe = AppendProbe(probe[:0], stationB, p)
		p, _ = ParseProbe(probe)
		b.HandleProbe(p, 2, now)
		b.Age(now, 10)
		b.Flush(1)
		sum += int(b.LoopDeadline(0))
	})
	assert.Equal(t, avg, 0, "allocations per round")
	c := b.Counters()
	assert.True(t, c.Full == 0 && sum != 0, "the round did not do its work: %+v, sum %d", c, sum)
}

func TestAgeingOfAllAtOnce(t *testing.T) {
	const n = 100_000
	b := newPlain(t, 2, Config{})
	for i := range uint64(n) {
		b.Forward(0, frame.Broadcast, 0x0200_0000_0001+i, 1, 60, 0)
	}
	wantCounters(t, b, Counters{Entries: n})
	for i := range uint64(n) {
		d := b.Forward(1, 0x0200_0000_0001+i, stationB, 1, 60, 1)
		assert.MustBeTrue(t, d == unicast(0) || i == stationB-0x0200_0000_0001,
			"station %d: %+v, want unicast to port 0", i, d)
	}
	assert.Equal(t, b.Age(300*second, math.MaxInt), n-1, "aged") // station B spoke a nanosecond later
	wantCounters(t, b, Counters{Entries: 1, Moves: 1})
}
