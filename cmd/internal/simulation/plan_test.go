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
		if _, err := NewPlan(c); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flow, err, want)
		}
	}
}

// What only virtual time has is refused on real links, by file, line and key.
func TestPlanRefusesVirtual(t *testing.T) {
	const lab = "name: lab\nswitches: {s1: {preset: roce}}\nhosts: {h1: {}, h2: {}}\n" +
		"links: {l1: {ends: [h1, \"s1:p1\"], speed: 1G}, l2: {ends: [h2, \"s1:p2\"], speed: 1G}}\n"
	const flow = "traffic: {f: {from: h1, to: h2, duration: 1s"
	half := func(text string) string {
		return strings.Replace(text, "speed: 1G", "speed: 100M, flow_control: pause, half_duplex: carrier", 1)
	}
	for what, key := range map[string]string{
		flow + "}}":                             "",
		flow + ", size: 1MB}}":                  "traffic.f.size",
		flow + ", window: 64KiB}}":              "traffic.f.window",
		flow + ", poisson: hadoop, load: 50%}}": "traffic.f.poisson",
		flow + "}}\nfaults: {x: {storm: h2}}":   "faults.x",
		flow + "}}\n# half duplex":              "links.l1.half_duplex",
	} {
		text := lab + what
		if strings.HasPrefix(key, "links") {
			text = half(text)
		}
		c, err := config.ParseTopology("lab.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		switch _, err := NewPlan(c); {
		case key == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case key != "" && (err == nil || !strings.Contains(err.Error(), ": "+key+": ") ||
			!strings.Contains(err.Error(), "only virtual time")):
			t.Errorf("%s: %v, want an error of %s", what, err, key)
		}
	}
}
