package main

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// What was lost is red, what was discarded on purpose is amber, and nothing else has a colour.
func TestTinted(t *testing.T) {
	marks := strings.NewReplacer(red, "<", amber, "(", "\x1b[0m", "|")
	speed := int64(100e6)
	p := &api.Ports{Ports: []api.Port{{Port: "eins", Up: true, DroppedFrames: 9, SpeedBitsPerSecond: &speed},
		{Port: "µ", LosslessDrops: 1_234, LosslessDiscarded: 7}, {Port: "drei", LosslessDiscarded: 10}}}
	p.LosslessDrops, p.LosslessDiscarded = 1_234, 17
	got := marks.Replace(tinted(p.Text()))
	for _, want := range []string{"<lossless drops: 1,234|; (discarded on purpose: 17| (since start",
		"     9      0          0\n", "     0  <1,234|          (7|\n", "     0      0         (10|\n"} {
		assert.Contains(t, got, want, "show ports")
	}
	assert.Equal(t, strings.Count(got, "|"), 5, "colours of\n%s", got)
	q := &api.Queues{Ports: []api.QueuesPort{{Port: "p1", Queues: []api.Queue{{Dropped: 5, Discarded: 3, Bytes: 8}},
		Drops: []api.Drop{{Reason: "watchdog", Frames: 4, LosslessDiscarded: 4}, {Reason: "filtered", Frames: 2}}}}}
	got = marks.Replace(tinted(q.Text()))
	assert.True(t, strings.Count(got, "|") == 2 && strings.Contains(got, "(3|") && strings.Contains(got, "(4|\n"),
		"show queues\n%s", got)
	quiet := (&api.Ports{Ports: []api.Port{{Port: "p1", Up: true, DroppedFrames: 9}}}).Text()
	assert.Equal(t, tinted(quiet), quiet, "without losses")
}
