package demo

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/trunk"
)

// Over 10 s the shares are those of RFC 2698, and what is yellow passes where the total has room, or else shares what
// is left.
func TestMeterModel(t *testing.T) {
	const rate, seconds = 100_000_000, 10
	c := trunk.AggregatorConfig{Members: 3, Metered: true, Total: trunk.MeterConfig{CIR: 2 * rate, PIR: 2 * rate,
		CBS: 2000, PBS: 2000}}
	c.Meters[1] = trunk.MeterConfig{CIR: rate / 5, PIR: rate / 2, CBS: 2000, PBS: 2000}
	c.Meters[2] = trunk.MeterConfig{CIR: rate, PIR: rate, CBS: 2000, PBS: 2000}
	const octets = 1000 - 24
	frames := uint64(seconds * rate / 8 / 1000)
	both := []offer{{member: 0, priority: 1, frames: frames, octets: octets, elapsed: seconds * 1e9},
		{member: 1, priority: 2, frames: frames, octets: octets, elapsed: seconds * 1e9}}
	got := meterModel(c, both, 2*rate)
	want := [8]outcome{1: {frames, frames / 5, frames * 3 / 10, frames / 2, frames / 2},
		2: {frames, frames, 0, 0, frames}}
	for _, p := range []int{1, 2} {
		g, w := got[p], want[p]
		for i, pair := range [][2]uint64{{g.Offered, w.Offered}, {g.Green, w.Green}, {g.Yellow, w.Yellow},
			{g.Red, w.Red}, {g.Delivered, w.Delivered}} {
			if d := float64(pair[0]) - float64(pair[1]); d > 0.01*float64(frames) || d < -0.01*float64(frames) {
				t.Errorf("priority %d, number %d: %d, want %d within 1 %%", p, i, pair[0], pair[1])
			}
		}
	}
	// Half of the total: green 20 and 100 of 110, nothing is left for yellow but 10 - 20.
	c.Total = trunk.MeterConfig{CIR: rate, PIR: rate, CBS: 2000, PBS: 2000}
	got = meterModel(c, both, 2*rate)
	assert.True(t, got[2].Delivered == frames && got[1].Delivered >= got[1].Green &&
		got[1].Delivered <= got[1].Green+frames/100, "without room in the total: %+v and %+v", got[1], got[2])
}

func TestImbalance(t *testing.T) {
	assert.Equal(t, imbalance([]uint64{0, 150, 150}), 1, "imbalance, want 1: one has nothing")
	assert.Equal(t, overtakenFormula(3), 2880, "overtaken by octets")
}
