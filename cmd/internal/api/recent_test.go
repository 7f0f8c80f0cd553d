package api

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/cmd/internal/golden"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

func TestRates(t *testing.T) {
	old, now := traffic{10, 1000, 5, 500, 1}, traffic{30, 4000, 10, 1000, 2}
	got := now.since(old, 500e6)
	want := PortRecent{IntervalNs: 500e6, ReceiveFrames: 40, ReceiveBits: 48_000, TransmitFrames: 10,
		TransmitBits: 8000, DroppedFrames: 2}
	assert.True(t, got != nil && *got == want, "got %+v, want %+v", got, want)
	got = old.since(now, 500e6)
	assert.True(t, got == nil, "counters that began anew: %+v", got)
	got = now.since(old, 0)
	assert.True(t, got == nil, "no time between them: %+v", got)
	if got := (pauses{300e6, 100e6}).since(pauses{100e6, 100e6}, 400e6); got == nil || got.ReceivedPausedShare != 0.5 ||
		got.SentPausedShare != 0 {
		t.Errorf("shares %+v", got)
	}
	if got := (pauses{0, 100e6}).since(pauses{100e6, 100e6}, 400e6); got != nil {
		t.Errorf("pauses that began anew: %+v", got)
	}
}

// growing is a switch that is paused half of the time, and receives a frame each millisecond.
type growing struct {
	fake
	begin time.Time
}

func (g *growing) Snapshot(v *dataplane.Snapshot) {
	g.fake.Snapshot(v)
	v.Time = int64(time.Since(g.begin))
	v.Ports[0].PausedNs[3] = v.Time / 2
	v.Ports[0].Counters.ReceivedFrames = uint64(v.Time / 1e6)
}

// The last seconds are the last ten, or as many as there were.
func TestLastSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := NewServer(&growing{begin: begin}, begin, 0)
		ctx, cancel := context.WithCancel(context.Background())
		go s.Run(ctx, func(at int64) <-chan struct{} {
			c := make(chan struct{})
			time.AfterFunc(time.Until(begin.Add(time.Duration(at))), func() { close(c) })
			return c
		})
		for _, tt := range []struct{ after, want time.Duration }{
			{1500 * time.Millisecond, 1500 * time.Millisecond}, {5 * time.Second, 6500 * time.Millisecond},
			{time.Minute, 9500 * time.Millisecond},
		} {
			time.Sleep(tt.after)
			r := s.moment(0).readPFC().Ports[0].Priorities[3].Recent
			assert.True(t, r != nil && time.Duration(r.IntervalNs) == tt.want && r.ReceivedPausedShare == 0.5,
				"got %+v, want half of %v", r, tt.want)
			p := s.moment(0).readPorts().Ports[0].Recent
			assert.True(t, p != nil && p.ReceiveFrames == 1000, "got %+v, want 1000 frames a second", p)
		}
		cancel()
		synctest.Wait()
	})
}

// Where nothing changes, samples are ten seconds apart, and the next change is seen within that time.
func TestIdleSamplesAreRare(t *testing.T) {
	const second = int64(time.Second)
	counted := func(at int64, frames uint64) *dataplane.Snapshot {
		v := &dataplane.Snapshot{Time: at, Ports: make([]dataplane.PortSnapshot, 1)}
		v.Ports[0].Counters.ReceivedFrames = frames
		return v
	}
	var h history
	at, frames := 3*second+5, uint64(0)
	add := func(next, oldest int64) {
		t.Helper()
		got := h.add(counted(at, frames))
		assert.True(t, got == next && h.oldest().at == oldest,
			"a sample at %d: the next one at %d, the oldest %d; want %d, %d", at, got, h.oldest().at, next, oldest)
		at = next
	}
	for i := range int64(samplesKept) {
		add(at+second, 3*second+5+max(0, i+1-samplesKept)*second)
	}
	add(20*second, 4*second+5) // the tenth in a row that is like the one before
	add(30*second, 10*second+5)
	add(40*second, 20*second)
	frames++
	add(41*second, 30*second)
	frames++
	add(42*second, 40*second)
}

// Rates cover the time between two answers. There are none across a restart or a clear.
func TestSince(t *testing.T) {
	two := func(change func(h *Header)) (*Ports, *Ports) {
		old, now := answer(&fake{}, "ports").(*Ports), answer(&fake{more: 50}, "ports").(*Ports)
		now.SwitchNs += 100e6
		change(&now.Header)
		Since(now, old)
		return now, old
	}
	now, old := two(func(*Header) {})
	r := now.Ports[0].Recent
	assert.True(t, r != nil && r.IntervalNs == 100e6 && r.ReceiveFrames == 500 && !Restarted(now, old), "got %+v", r)
	now, old = two(func(h *Header) { h.Started = h.Started.Add(time.Hour) })
	assert.True(t, now.Ports[0].Recent == nil && Restarted(now, old), "across a restart: %+v", now.Ports[0].Recent)
	now, _ = two(func(h *Header) { h.Cleared = &h.Time })
	assert.True(t, now.Ports[0].Recent == nil, "across a clear: %+v", now.Ports[0].Recent)
}

func TestFilter(t *testing.T) {
	for _, noun := range Nouns() {
		r := answer(&fake{}, noun)
		if err := (Filter{}).Apply(r); err != nil || r.Text() != answer(&fake{}, noun).Text() {
			t.Errorf("%s: no filter changes it: %v", noun, err)
		}
	}
	f := Filter{Ports: []string{"p1"}, Priorities: []Priority{3}}
	for _, noun := range []string{"ports", "pfc", "buffer", "queues", "headroom", "lldp", "watchdog", "fdb", "events",
		"threads"} {
		r := answer(&fake{}, noun)
		err := f.Apply(r)
		alone := strings.ReplaceAll(r.Text(), "p1, p2", "") // a group of both concerns p1
		assert.True(t, err == nil && !strings.Contains(alone, "p2") && strings.Contains(alone, "p1"), "%s: %v\n%s",
			noun, err, r.Text())
	}
	assert.Fails(t, (Filter{Ports: []string{"p9"}}).Apply(answer(&fake{}, "pfc")), "there are p1, p2",
		"a port that is not there")
}

// The tables in SONiC's words are golden files too.
func TestViews(t *testing.T) {
	for group, views := range Views() {
		for _, v := range views {
			golden.Check(t, strings.ReplaceAll(group+" "+v.Words, " ", "-")+".txt", v.Text(answer(&fake{}, v.Noun)))
		}
	}
	alone := answer(&fake{}, "lldp").(*LLDP)
	for i := range alone.Ports {
		alone.Ports[i].Neighbors = nil
	}
	assert.Contains(t, alone.neighbors(), "\n\nno neighbour has been heard\n", "without neighbours")
}
