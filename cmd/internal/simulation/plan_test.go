package simulation

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// DCQCN to a slower port is refused on real links.
func TestPlanRefusesSlowerSinks(t *testing.T) {
	const lab = "name: lab\nswitches: {s1: {preset: roce}}\nhosts: {h1: {}, h2: {}}\n" +
		"links: {l1: {ends: [h1, \"s1:p1\"], speed: 1G}, l2: {ends: [h2, \"s1:p2\"], speed: 100M}}\ntraffic: {f: {"
	for flow, want := range map[string]string{
		"from: h1, to: h2, cc: dcqcn": "lab.yaml:5: traffic.f.cc: h2 is at a slower port than h1",
		"from: h1, to: h2":            "",
		"from: h2, to: h1, cc: dcqcn": "",
	} {
		c := assert.Got(config.ParseTopology("lab.yaml", []byte(lab+flow+"}}"), nil)).Must(t)
		if _, err := NewPlan(c, 1); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flow, err, want)
		}
	}
}

// planned is the plan of text under traffic, on a lab of two hosts and a switch.
func planned(t *testing.T, text string) (*Plan, error) {
	t.Helper()
	c, err := config.ParseTopology("lab.yaml", []byte("name: lab\nswitches: {s1: {preset: roce}}\nhosts: {h1: {}, h2: "+
		"{}}\nlinks: {l1: {ends: [h1, \"s1:p1\"], speed: 100M, flow_control: pause}, l2: {ends: [h2, \"s1:p2\"], "+
		"speed: 100M}}\n"+text), nil)
	assert.Must(t, err)
	return NewPlan(c, 1)
}

// What only virtual time has, and what no sender or sink can do, is refused on real links, by file, line and key.
func TestPlanRefuses(t *testing.T) {
	const virtual = "so only virtual time has it: remove it, or run the file by pfcswitch sim"
	for what, want := range map[string]string{
		"a: {from: h1, to: h2, window: 64KiB}": "",
		"a: {from: h1, to: h2, window: 64KiB, octets: 109}": "6: traffic.a.octets: frames that ask for " +
			"acknowledgements have at least 110 on real links: write more, or run the file by pfcswitch sim",
		"a: {from: h1, to: h2, ttl: 2}": "6: traffic.a.ttl: a bridge takes nothing off a TTL, " + virtual,
		"a: {poisson: hadoop, load: 100%, duration: 600s}": "6: traffic.a: more than 2048 flows from h1, which no " +
			"sender or sink has on real links: write a shorter duration or a smaller load, or run the file by " +
			"pfcswitch sim",
		"a: {from: h1, to: h2}\n  b: {incast: h2}": "7: traffic.b: h1 sends to h2 in priority 3 from the same moment " +
			"on by a: remove one of them, or run the file by pfcswitch sim",
		"a: {from: h1, to: h2}\n  b: {from: h1, to: h2, size: 1MB}\n  c: {from: h1, to: h2}": "8: traffic.c: h1 " +
			"sends to h2 in priority 3 from the same moment on by a: remove one of them, or run the file by " +
			"pfcswitch sim",
		"a: {from: h1, to: h2}\n  b: {from: h1, to: h2, size: 1MB}":                               "",
		"a: {from: h1, to: h2, size: 1MB}\n  b: {from: h1, to: h2}":                               "",
		"a: {from: h1, to: h2}\n  b: {incast: h2, start: 1ms}":                                    "",
		"a: {from: h1, to: h2, size: 1MB}\nfaults:\n  x: {storm: h2}\n  y: {flap: l1, start: 1s}": "",
	} {
		_, err := planned(t, "traffic:\n  "+what)
		if (err == nil) != (want == "") || err != nil && err.Error() != "lab.yaml:"+want {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	half, err := config.ParseTopology("lab.yaml", []byte("name: lab\nswitches: {s1: {preset: roce}}\nhosts: {h1: {}, "+
		"h2: {}}\nlinks:\n  l1: {ends: [h1, \"s1:p1\"], speed: 100M, flow_control: pause, half_duplex: carrier}\n"+
		"  l2: {ends: [h2, \"s1:p2\"], speed: 100M}\ntraffic: {f: {from: h1, to: h2}}"), nil)
	assert.Must(t, err)
	_, err = NewPlan(half, 1)
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "lab.yaml:5: links.l1.half_duplex: no socket reaches"),
		"%v", err)
}

// Flows of random sizes are those of virtual time with the same seed, and end with their entry. Where a link goes down,
// lossless frames may be missing.
func TestPlanOfSizes(t *testing.T) {
	const text = "traffic: {p: {poisson: hadoop, load: 50%, start: 1s, duration: 2s}, s: {from: h1, to: h2, " +
		"size: 1MB, octets: 1018}}\n"
	p := assert.Got(planned(t, text)).Must(t)
	again := assert.Got(planned(t, text+"faults: {x: {flap: l1}}")).Must(t)
	assert.True(t, p.Whole && !again.Whole, "lossless frames may be missing: %v, and where a link flaps: %v", !p.Whole,
		!again.Whole)
	assert.MustBeTrue(t, len(p.Flows) > 10 && len(p.Flows) == len(again.Flows), "%d flows, then %d", len(p.Flows),
		len(again.Flows))
	for i, f := range p.Flows[:len(p.Flows)-1] {
		o := again.Flows[i]
		assert.MustBeTrue(t, f.Start == o.Start && f.Size == o.Size && f.To == o.To && f.Start >= 1e9 &&
			f.Stop == 3e9 && int64(f.Frames)*payload(f.Octets) >= f.Size, "%+v, then %+v", f, o)
	}
	last := p.Flows[len(p.Flows)-1]
	assert.True(t, last.Frames == 1000 && last.Octets == 1018 && last.Stop == 1e9, "%+v", last)
}
