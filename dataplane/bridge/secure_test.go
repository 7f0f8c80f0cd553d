package bridge

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// TestSourceGuard: what a frame's source decides, by where the station belongs and which ports are secure.
func TestSourceGuard(t *testing.T) {
	const sticky, static, open = 0, 1, 2 // ports
	for _, tt := range []struct {
		name    string
		in      int
		src     uint64
		dropped bool
		home    int // where a notice says that the station belongs
	}{
		{"its own station", sticky, stationA, false, 0},
		{"another one below the limit", sticky, stationC, false, 0},
		{"of a static entry elsewhere", sticky, stationB, true, static},
		{"a group address", sticky, frame.Broadcast, true, -1},
		{"no address", sticky, 0, true, -1},
		{"the station of the static entry", static, stationB, false, 0},
		{"a station without an entry", static, stationC, true, -1},
		{"the station of a sticky port", static, stationA, true, sticky},
		{"the station of a sticky port, by an open one", open, stationA, true, sticky},
		{"the static entry's, by an open port", open, stationB, true, static},
		{"a stranger by an open port", open, stationC, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newPlain(t, 4, Config{Ageing: 100})
			for port, s := range map[int]Secure{sticky: SecureSticky, static: SecureStatic} {
				c := plain()
				c.Secure, c.Stations = s, 2
				setPort(t, b, port, c)
			}
			hear(b, sticky, stationA, 0)
			assert.Must(t, b.AddStatic(stationB, 1, static, 0))
			want := flood(Broadcast, 0, 1, 2, 3)
			want.Ports.Remove(tt.in)
			if tt.dropped {
				want = drop(DropSourceGuard)
			}
			const now = 1000 // a sticky station does not age
			wantDecision(t, "traced", b.Trace(tt.in, frame.Broadcast, tt.src, 1, now), want)
			n, told := b.TakeNotice()
			assert.True(t, !told, "traced: notice %+v", n)
			wantDecision(t, "done", b.Forward(tt.in, frame.Broadcast, tt.src, 1, 60, now), want)
			if n, told := b.TakeNotice(); told != tt.dropped || told && (n.Kind != SourceDropped || n.Port != tt.in ||
				n.Home != tt.home || n.MAC != tt.src || n.VID != 1) {
				t.Errorf("notice %v %+v, want one: %v, of a station at %d", told, n, tt.dropped, tt.home)
			}
		})
	}
}

// TestStickyLimit: those that came first stay, until the link goes down. Nobody moves in or out.
func TestStickyLimit(t *testing.T) {
	b := newPlain(t, 2, Config{MaxEntries: 3})
	c := plain()
	c.Secure, c.Stations = SecureSticky, 1
	setPort(t, b, 0, c)
	hear(b, 0, stationA, 0)
	hear(b, 1, stationB, 0)
	for _, mac := range []uint64{stationB, stationC} {
		wantDecision(t, "beyond the limit", b.Forward(0, frame.Broadcast, mac, 1, 60, 1), drop(DropSourceGuard))
	}
	crowd(b, 1, 10, 1) // the table is full: the open port forgets its own
	wantAt(t, "sticky", b, stationA, 0, 1)
	b.SetUp(0, false)
	hear(b, 1, stationA, 2)
	wantAt(t, "moved with the link", b, stationA, 1, 2)
	c.Learning = false
	_, err := b.SetPort(0, c)
	wantError(t, err, "switch learning on")
}
