package labrun

import (
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/dataplane/assert"
)

// Factors have two digits, and what they leave is carried.
func TestScaleFor(t *testing.T) {
	for _, tt := range []struct{ carried, wanted, scale float64 }{
		{100, 100, 1}, {100, 1, 1}, {999, 1000, 0.99}, {1, 3, 0.33}, {1, 300, 0.0033}, {1, 10, 0.1},
	} {
		got := scaleFor(tt.carried, tt.wanted)
		assert.True(t, got == tt.scale && got*tt.wanted <= tt.carried, "%v of %v: %v, want %v", tt.carried, tt.wanted,
			got, tt.scale)
	}
}

// Flows ask for frame-hops as their rates, their hosts' links and, where they are lossless, their receivers' let them.
func TestFrameHops(t *testing.T) {
	const frame = 8 * (1514 + 24) // bits on the wire
	for traffic, want := range map[string]float64{
		"{f: {from: h1, to: h2, octets: 1514}}":                                      2 * 100e6 / frame,
		"{f: {from: h1, to: h3, octets: 1514, rate: 10M}}":                           3 * 10e6 / frame,
		"{f: {from: [h1, h2], to: h3, octets: 1514}}":                                3 * 100e6 / frame,
		"{f: {from: [h1, h2], to: h3, octets: 1514, priority: 0}}":                   2 * 3 * 100e6 / frame,
		"{f: {from: h1, to: h3, octets: 1514, size: 149600B}}":                       3 * 100e6 / frame,
		"{f: {from: h1, to: h2, octets: 1514}, g: {from: h1, to: h3, octets: 1514}}": (2 + 3) * 50e6 / frame,
	} {
		c := assert.Got(config.ParseTopology("lab.yaml", []byte(`name: x
switches: {s1: {preset: roce}, s2: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M}
  l2: {ends: [h2, "s1:p2"], speed: 100M}
  up: {ends: ["s1:up", "s2:down"], speed: 100M}
  l3: {ends: [h3, "s2:p3"], speed: 100M}
traffic: `+traffic), nil)).Must(t)
		r := &run{topology: c, length: simulation.Length(c), plan: assert.Got(simulation.NewPlan(c, 1)).Must(t)}
		got := r.frameHops()
		assert.True(t, got > want*0.999 && got < want*1.001, "%s: %v frame-hops, want %v", traffic, got, want)
	}
}
