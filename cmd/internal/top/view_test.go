package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// screen is what a model shows on a wide screen.
func screen(m *model, now time.Time) string {
	var s strings.Builder
	for _, r := range m.view(160, 40, now) {
		s.WriteString(r.text + "\n")
	}
	return s.String()
}

func seen(s *api.State, events ...api.Event) *model {
	m := newModel("s1.sock", time.Second)
	m.update(answer{state: s, events: events}, time.Now())
	return m
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0", 0.0001: "<1", 0.01: "1", 0.494: "49", 0.9899: "99", 0.996: "99",
		0.999999: "99", 1: "100"} {
		assert.Equal(t, percent(share), want, "%v", share)
	}
}

// Events tell their date where it is not today's, and only what is bad is an alarm.
func TestEventLines(t *testing.T) {
	now := time.Date(2026, 3, 4, 0, 0, 10, 0, time.Local)
	m := seen(&api.State{}, api.Event{Kind: "deadlock", Time: now.Add(-20 * time.Second), Text: "old"},
		api.Event{Kind: "deadlock-recovered", Time: now.Add(-time.Second), Text: "new"},
		api.Event{Kind: "deadlock-recurring", Time: now, Text: "again"})
	alarms := 0
	for _, r := range m.view(160, 40, now) {
		if r.style == alarm {
			alarms++
		}
	}
	got := screen(m, now)
	assert.True(t, strings.Contains(got, "\n2026-03-03 23:59:50 deadlock old") &&
		strings.Contains(got, "\n00:00:09 deadlock-recovered new") && alarms == 2, "%d alarms, want 2:\n%s", alarms,
		got)
}

// The time since the start is that of the switch's own clock.
func TestUp(t *testing.T) {
	s := &api.State{Header: api.Header{Switch: "s1", Time: time.Now(), Started: time.Now().Add(time.Hour),
		ElapsedNs: 90e9}}
	got := screen(seen(s), time.Now())
	assert.True(t, strings.Contains(got, "s1  up 1m30s"), "%v", got)
}

// A trunk is a line: what waits, who holds whom, its colours, and all that was dropped.
func TestTrunks(t *testing.T) {
	frames := func(n uint64) api.Frames { return api.Frames{Frames: n} }
	s := &api.State{Trunks: []api.Trunk{{Trunk: "t1", Metered: true, Uplink: api.TrunkUplink{Port: "p4", Bytes: 1518,
		PausedByPeer: true},
		Members: []api.TrunkMember{{Port: "p1", Held: true, AreaBytes: 64}, {Port: "p2", Held: true}},
		Priorities: []api.TrunkPriority{
			{Colours: api.Colours{Green: frames(10), Yellow: frames(20), Red: frames(30)}, MeterDropped: frames(3),
				REDDropped: frames(4)}, {Colours: api.Colours{Green: frames(1)}}},
		Total: api.TrunkTotal{REDDropped: frames(5)}}, {Trunk: "t2"}}}
	got := screen(seen(s), time.Now())
	for _, want := range []string{"trunk t1  up 1,518 B, down 64 B  green 11 yellow 20 red 30, dropped 12  paused by " +
		"its peer: p4  holding the peer: p1 p2\n", "trunk t2  up 0 B, down 0 B\n"} {
		assert.Contains(t, got, want, "text")
	}
}

// What was discarded of lossless priorities stands beside the lossless drops, in a colour of its own, and the port says
// why. On 80 columns the colour is left.
func TestDiscarded(t *testing.T) {
	s := &api.State{Ports: []api.Port{{Port: "p1", Up: true}, {Port: "p2", Up: true, LosslessDiscarded: 62725,
		LosslessDiscardedBy: []api.DiscardedBy{{Reason: "watchdog", Frames: 62725}}}}}
	s.LosslessDiscardedSinceStart = 62725
	m := seen(s)
	for _, width := range []int{80, 160} {
		rows := m.view(width, 40, time.Now())
		for _, want := range []struct {
			begins, ends string
			style        style
		}{{"", "lossless drops: 0  discarded: 62725", caution}, {"p2", "0     62725", caution}} {
			if width == 80 {
				want.ends = ""
			}
			if !slices.ContainsFunc(rows, func(r row) bool {
				return r.style == want.style && strings.HasPrefix(r.text, want.begins) &&
					strings.HasSuffix(r.text, want.ends)
			}) {
				t.Errorf("%d columns: no line %+v in %+v", width, want, rows)
			}
		}
	}
	m.chosen, m.only = "p2", true
	got := screen(m, time.Now())
	assert.True(t, strings.Contains(got, "discarded on purpose: watchdog 62,725\n"), "%v", got)
	s.LosslessDropsSinceStart = 1
	assert.Equal(t, m.view(160, 40, time.Now())[0].style, alarm, "a lossless drop is no alarm")
}

// A rate is seen as a part of the port's speed too. A tenth of a per cent is seen, and more than all is all.
func TestBars(t *testing.T) {
	for share, want := range map[float64]string{0: "        ", 0.001: "▏       ", 0.25: "██      ", 0.3: "██▍     ",
		1: "████████", 1.2: "████████"} {
		assert.Equal(t, bar(share), want, "%v", share)
	}
	speed := int64(100e6)
	p := api.Port{Port: "p1", Up: true, SpeedBitsPerSecond: &speed, Recent: &api.PortRecent{ReceiveBits: 50e6}}
	got := screen(seen(&api.State{Ports: []api.Port{p}}), time.Now())
	assert.True(t, strings.Contains(got, "50.00M ████     "), "%v", got)
}

// What several ports say alike is one line, at the place of the newest.
func TestEventsAreGrouped(t *testing.T) {
	p1, p2, prio := "p1", "p2", api.Priority(3)
	now := time.Now()
	m := seen(&api.State{}, api.Event{Kind: "peer", Port: &p1, Text: "same", Count: 2, Time: now.Add(-3 * time.Second)},
		api.Event{Kind: "port", Port: &p1, Text: "other", Count: 1, Time: now.Add(-2 * time.Second)},
		api.Event{Kind: "peer", Port: &p2, Priority: &prio, Text: "same", Count: 1, Time: now})
	got := screen(m, now)
	_, events, _ := strings.Cut(got, "EVENTS\n")
	lines := strings.Split(events, "\n")
	assert.True(t, strings.HasSuffix(lines[0], " port p1 other") &&
		strings.HasSuffix(lines[1], " peer p1 p2/3 (3 times) same") && lines[2] == "", "%s", events)
}
