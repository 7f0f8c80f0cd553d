package demo

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/dataplane/assert"
)

// The line says which phase runs, and how long all that are left take: as their loads say, and as long beyond those as
// the phases before.
func TestScheduleLines(t *testing.T) {
	s := &schedule{phases: []*phase{{name: "a", title: "first", seconds: 5 * time.Second, lead: time.Second},
		{name: "b", title: "second", lasts: 4 * time.Second}, {name: "c", title: "third", seconds: 2 * time.Second}}}
	begun := time.Unix(0, 0)
	for _, tt := range []struct {
		begin int // -1: the phase goes on
		after time.Duration
		want  string
	}{
		{0, 0, "phase 1/3, about 18s left: (a) first"},
		{-1, 2600 * time.Millisecond, "phase 1/3, about 15s left: (a) first"},
		{-1, 99 * time.Second, "phase 1/3, about 10s left: (a) first"},
		{1, 100 * time.Second, "phase 2/3, about 3m14s left: (b) second"},
		{2, 108 * time.Second, "phase 3/3, about 51s left: (c) third"},
		{-1, 200 * time.Second, "phase 3/3, about 1s left: (c) third"},
	} {
		now := begun.Add(tt.after)
		if tt.begin >= 0 {
			s.begin(tt.begin, now)
		}
		assert.Equal(t, s.line(now), tt.want, "after %v", tt.after)
	}
}

// A line is told once for each phase, or also each second until the phase has ended.
func TestShowSchedule(t *testing.T) {
	for _, tt := range []struct {
		refresh time.Duration
		want    []string
	}{
		{0, []string{"phase 1/1, about 5s left: (a) x"}},
		{time.Second, []string{"phase 1/1, about 5s left: (a) x", "phase 1/1, about 4s left: (a) x",
			"phase 1/1, about 3s left: (a) x"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var lines []string
			o := Options{Refresh: tt.refresh, Progress: func(text string) { lines = append(lines, text) }}
			s := &schedule{phases: []*phase{{name: "a", title: "x", seconds: 3 * time.Second}}}
			s.begin(0, time.Now())
			stop := o.show(s)
			time.Sleep(2500 * time.Millisecond)
			stop()
			time.Sleep(time.Minute)
			stop()
			assert.True(t, slices.Equal(lines, tt.want), "every %v: %q, want %q", tt.refresh, lines, tt.want)
		})
	}
}
