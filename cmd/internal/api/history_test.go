package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// flow is a snapshot of ports of 1G that have received 1000 frames of 1000 octets a second until now, were paused for
// half of that time, and hold two kinds of bytes.
func flow(at int64, names ...string) *dataplane.Snapshot {
	v := &dataplane.Snapshot{Time: at}
	for i, name := range names {
		p := dataplane.PortSnapshot{Index: i + 1, Config: dataplane.PortConfig{Name: name, Speed: 1e9}}
		p.Counters.ReceivedFrames, p.Counters.ReceivedBytes = uint64(at/1e6), uint64(at/1e3)
		p.PausedNs[3], p.PausedNs[4], p.HeldNs[3] = at/4, at/2, at/8
		v.Ports = append(v.Ports, p)
		b := buffer.PortSnapshot{Port: i + 1, Name: name}
		b.Ingress[3].Used.Shared.Now, b.Ingress[3].Used.Headroom.Now, b.Egress[0].Used.Now = 4096, 1024, 512
		v.Buffer.Ports = append(v.Buffer.Ports, b)
	}
	v.Buffer.Ports = slices.Insert(v.Buffer.Ports, 0, buffer.PortSnapshot{Name: "gone", Removed: true})
	return v
}

// historyOf is what a switch with these ports answers after samples until a time.
func historyOf(h *history, at int64) *History {
	m := momentOf(&fake{})
	m.history, m.snapshot.Time = h, at
	return m.readHistory()
}

// Each sample becomes a point, the newest five minutes are kept, and no sample allocates.
func TestHistory(t *testing.T) {
	const second = int64(time.Second)
	var h history
	at := second
	add := func() { h.add(flow(at, "p1", "p2")); at += second }
	for range 3 {
		add()
	}
	got := historyOf(&h, at)
	want := PortHistory{"p1", []int64{2e9, 3e9}, []int64{8e6, 8e6}, []int64{0, 0}, []float64{0.008, 0.008},
		[]float64{0, 0}, []float64{0.5, 0.5}, []float64{0.125, 0.125}, []int64{5632, 5632}, []int64{1024, 1024}}
	if p := got.Ports[0]; fmt.Sprint(p) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	if p := got.Ports[2]; p.Port != "p3" || len(p.TimesNs) != 0 {
		t.Errorf("a port without samples: %+v", p)
	}
	for range 2 * historyKept {
		add()
	}
	p := historyOf(&h, at-second).Ports[1]
	if n := len(p.TimesNs); n != historyKept || p.TimesNs[0] != at-second*int64(historyKept) ||
		p.TimesNs[n-1] != at-second || !slices.IsSorted(p.TimesNs) {
		t.Errorf("%d points from %d to %d, want %d until %d", n, p.TimesNs[0], p.TimesNs[n-1], historyKept, at-second)
	}
	assert.Equal(t, len(historyOf(&h, at+60*second).Ports[1].TimesNs), historyKept-61, "points a minute later")
	m := momentOf(&fake{})
	m.history, m.snapshot.Time = &h, at-second
	if newest := m.state().History[1].TimesNs; len(newest) != newestSamples || newest[newestSamples-1] != at-second {
		t.Errorf("the state has the samples %v, want the newest %d", newest, newestSamples)
	}
	v := flow(at, "p1", "p2")
	n := testing.AllocsPerRun(100, func() {
		v.Time += second
		v.Ports[0].Counters.ReceivedFrames++
		h.add(v)
	})
	assert.True(t, n == 0, "%v allocations a sample, want 0", n)
}

// A port that leaves, or counts from 0 again, has no history from before.
func TestHistoryBeginsAgain(t *testing.T) {
	var h history
	points := func(port int) int { return len(historyOf(&h, 10e9).Ports[port].TimesNs) }
	for at := range int64(3) {
		h.add(flow((at+1)*1e9, "p1", "p2"))
	}
	h.add(flow(4e9, "p2"))
	assert.True(t, points(0) == 0 && points(1) == 3 && len(h.past) == 1, "p1 has gone: %d and %d points", points(0),
		points(1))
	again := flow(5e9, "p1", "p2")
	again.Ports[1].Counters.ReceivedFrames = 0
	h.add(again)
	assert.True(t, points(0) == 0 && points(1) == 0, "p1 is new, and p2 counts from 0 again: %d and %d points",
		points(0), points(1))
	h.add(flow(6e9, "p1", "p2"))
	assert.True(t, points(0) == 1 && points(1) == 1, "a second later: %d and %d points", points(0), points(1))
}

// The longest answer, of the most ports there can be, has a size that readers allow for.
func TestHistoryIsBounded(t *testing.T) {
	p := &past{count: historyKept}
	for i := range p.points {
		p.points[i] = point{9e18, 9e12, 9e12, 0.123, 0.123, 0.123, 0.123, 9e12, 9e12}
	}
	r := &History{}
	for i := range dataplane.MaxPorts {
		v := PortHistory{Port: fmt.Sprintf("Ethernet%03d", i)}
		v.fill(p, historyKept, 0)
		r.Ports = append(r.Ports, v)
	}
	var b strings.Builder
	assert.Must(t, WriteJSON(&b, r))
	assert.True(t, b.Len() <= MaxAnswer, "%d bytes, want at most %d", b.Len(), MaxAnswer)
	t.Logf("%d ports: %d bytes", len(r.Ports), b.Len())
}
