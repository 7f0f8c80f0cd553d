package trunk

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// The total's RED averages all areas, and the RED of a priority averages its own area.
func TestJudgeAveragesWhatEachREDIsFor(t *testing.T) {
	averaged := REDConfig{Low: 1000, High: 3000, Probability: 0.5, Averaged: true, TypicalNs: 1000}
	for _, tt := range []struct {
		waiting, all int64
		want         Verdict
	}{{0, 0, Pass}, {0, 5000, DropRED}, {5000, 0, DropRED}} {
		a := patent(func(c *AggregatorConfig) { c.RED[0], c.TotalRED, c.Total.CBS = averaged, averaged, 500 }, 0.9)
		red := Frame{Octets: 2501, Metered: 2501, Waiting: tt.waiting, All: tt.all} // takes nothing
		for range 20_000 {
			a.Judge(&red, 0)
		}
		yellow := Frame{Octets: 1001, Metered: 1001} // for both meters
		own, total := a.Stats().RED[0].Frames, a.Stats().TotalRED.Frames
		if got := a.Judge(&yellow, 0); got != tt.want || a.Stats().RED[0].Frames-own != b2n(tt.waiting > 0) ||
			a.Stats().TotalRED.Frames-total != b2n(tt.all > 0) {
			t.Errorf("after %+v: %v, RED %+v, the total's %+v", tt, got, a.Stats().RED[0], a.Stats().TotalRED)
		}
	}
}

func b2n(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A new configuration applies to every meter and every RED from the next frame on.
func TestConfigureChangesEachMeterAndRED(t *testing.T) {
	all := REDConfig{High: 1 << 40, Probability: 1}
	yellow := Frame{Octets: 1001, Metered: 1001}
	for name, tt := range map[string]struct {
		change func(c *AggregatorConfig)
		want   Verdict
	}{
		"nothing":           {func(*AggregatorConfig) {}, Pass},
		"a priority's":      {func(c *AggregatorConfig) { c.Meters[0].PBS = 1000 }, DropMeterRed},
		"the total's":       {func(c *AggregatorConfig) { c.Total.PBS = 1000 }, DropMeterRed},
		"a priority's RED":  {func(c *AggregatorConfig) { c.RED[0] = all }, DropRED},
		"the total's RED":   {func(c *AggregatorConfig) { c.TotalRED = all }, DropRED},
		"another's":         {func(c *AggregatorConfig) { c.Meters[1].PBS, c.RED[1] = 1000, all }, Pass},
		"what is lossless":  {func(c *AggregatorConfig) { c.Meters[0].PBS, c.Lossless = 1000, 1 }, Pass},
		"without any meter": {func(c *AggregatorConfig) { c.Metered, c.RED[0] = false, all }, Pass},
	} {
		a := patent(func(c *AggregatorConfig) { c.Total.CBS = 500 }, 0.9)
		c := a.config
		tt.change(&c)
		a.Configure(c, 0)
		assert.Equal(t, a.Judge(&yellow, 0), tt.want, "%s", name)
	}
}
