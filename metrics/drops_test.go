package metrics

import (
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

func TestDrops(t *testing.T) {
	for _, tt := range []struct {
		name            string
		mode            macctl.Mode
		drops, lossless []string
		discarded       []string
	}{
		{"PFC", macctl.ModePFC, []string{
			`pfcswitch_drops_total{port="p1",priority="0",reason="storm"} 5`,
			`pfcswitch_drops_total{port="p1",priority="3",reason="lossless-headroom"} 1`,
			`pfcswitch_drops_total{port="p1",priority="3",reason="storm"} 7`,
			`pfcswitch_drops_total{port="p1",priority="unknown",reason="ring"} 2`,
		}, []string{
			`pfcswitch_lossless_drops_total{port="p1",priority="3"} 1`,
			`pfcswitch_lossless_drops_total{port="p1",priority="4"} 0`,
			`pfcswitch_lossless_drops_total{port="p1",priority="unknown"} 2`,
		}, []string{`pfcswitch_lossless_discarded_total{port="p1",priority="3",reason="storm"} 7`}},
		{"PAUSE", macctl.ModePause, []string{
			`pfcswitch_drops_total{port="p1",priority="all",reason="lossless-headroom"} 1`,
			`pfcswitch_drops_total{port="p1",priority="all",reason="storm"} 12`,
			`pfcswitch_drops_total{port="p1",priority="unknown",reason="ring"} 2`,
		}, []string{
			`pfcswitch_lossless_drops_total{port="p1",priority="all"} 1`,
			`pfcswitch_lossless_drops_total{port="p1",priority="unknown"} 2`,
		}, []string{`pfcswitch_lossless_discarded_total{port="p1",priority="all",reason="storm"} 7`}},
	} {
		p := dataplane.PortSnapshot{Config: dataplane.PortConfig{Name: "p1", Mode: tt.mode, Lossless: 1<<3 | 1<<4}}
		p.Counters.Drops[0][dataplane.DropStorm] = 5
		p.Counters.Drops[3][dataplane.DropStorm] = 7
		p.Counters.Drops[3][dataplane.DropLosslessHeadroom] = 1
		p.Counters.Drops[dataplane.Unknown][dataplane.DropRing] = 2
		p.Counters.LosslessDrops = [9]uint64{3: 1, dataplane.Unknown: 2}
		p.Counters.LosslessDiscarded[3][dataplane.DropStorm] = 7
		got := portText(t, p)
		assert.Same(t, lines(t, got, "drops_total"), tt.drops, "%s", tt.name)
		assert.Same(t, lines(t, got, "lossless_drops_total"), tt.lossless, "%s", tt.name)
		assert.Same(t, lines(t, got, "lossless_discarded_total"), tt.discarded, "%s", tt.name)
	}
}

// TestZerosFromTheStart shows the promised zeros of a port on which nothing has happened, and no others.
func TestZerosFromTheStart(t *testing.T) {
	for _, tt := range []struct {
		mode     macctl.Mode
		lossless []string
	}{
		{macctl.ModePFC, []string{`pfcswitch_lossless_drops_total{port="p1",priority="3"} 0`,
			`pfcswitch_lossless_drops_total{port="p1",priority="unknown"} 0`}},
		{macctl.ModePause,
			[]string{`pfcswitch_lossless_drops_total{port="p1",priority="all"} 0`,
				`pfcswitch_lossless_drops_total{port="p1",priority="unknown"} 0`}},
		{macctl.ModeOff, []string{`pfcswitch_lossless_drops_total{port="p1",priority="unknown"} 0`}},
	} {
		got := portText(t,
			dataplane.PortSnapshot{Config: dataplane.PortConfig{Name: "p1", Mode: tt.mode, Lossless: 1 << 3}})
		assert.Same(t, lines(t, got, "lossless_drops_total"), tt.lossless, "%v", tt.mode)
		want := []string{`pfcswitch_drops_total{port="p1",priority="unknown",reason="ring"} 0`}
		assert.Same(t, lines(t, got, "drops_total"), want, "%v", tt.mode)
	}
}

// TestDropOfFormerLosslessPriority: a loss does not vanish when its priority stops being lossless.
func TestDropOfFormerLosslessPriority(t *testing.T) {
	p := dataplane.PortSnapshot{Config: dataplane.PortConfig{Name: "p1", Mode: macctl.ModePFC, Lossless: 1 << 3}}
	p.Counters.LosslessDrops[4] = 8
	want := `pfcswitch_lossless_drops_total{port="p1",priority="4"} 8`
	got := lines(t, portText(t, p), "lossless_drops_total")
	assert.True(t, slices.Contains(got, want), "got %q, want %s among them", got, want)
}
