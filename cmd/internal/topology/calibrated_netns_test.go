package topology

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// fatTree are 20 switches and 16 hosts.
const fatTree = `name: x
fabric: {fat-tree: {k: 4}, links: {speed: 1G}, switches: {preset: roce}}
`

// A permutation over a fabric loses nothing at the speeds that a calibration finds, whatever the machine carries, and
// the report has each port of each switch. A calibration finds 7 Gbit/s at most, and the flows ask for 16,
// over up to six links each.
func TestCalibratedFabric(t *testing.T) {
	r := newRig(t)
	path, name := r.file(fatTree + "traffic: {half: {permutation: on, octets: 1514, duration: 500ms}}\n")
	file := path + ".html"
	v := r.report("lab", "run", path, "--calibrate", "--report", file)
	r.checkNothingLeft(name)
	page := assert.Got(os.ReadFile(file)).Must(t)
	t.Logf("scale %g, %s", v.Scale, v.Phases[0].Title)
	ports := map[string]bool{}
	for _, p := range v.Ports {
		ports[p.Switch+":"+p.Port] = true
	}
	for _, p := range v.Ports { // each carries flows, or none: the page has those that do
		if p.PrivatePeak > 0 && !bytes.Contains(page, []byte(p.Switch+":"+p.Port+" ")) {
			t.Errorf("the page lacks %s:%s", p.Switch, p.Port)
		}
	}
	assert.True(t, len(ports) == 80 && len(v.Switches) == 20 && len(v.Hosts) == 16 && len(v.Flows) == 16,
		"%d ports, %d switches, %d hosts, %d flows", len(ports), len(v.Switches), len(v.Hosts), len(v.Flows))
	for _, f := range v.Flows {
		assert.True(t, f.Lossless && f.Sent > 0 && f.Received == f.Sent, "%+v", f)
	}
	assert.True(t, v.Calibration != nil && v.Scale > 0 && v.Scale < 1 && v.Speed == int64(v.Scale*1e9),
		"scale %v, slowest link %d bit/s, %+v", v.Scale, v.Speed, v.Calibration)
}

// The pauses of a slow receiver spread over the switches of a fabric, from one to the next, to the senders, and the
// picture shows who held whom. Nothing is lost.
func TestPausesSpread(t *testing.T) {
	r := newRig(t)
	path, name := r.file(strings.Replace(fatTree, "speed: 1G", "speed: 5M", 1) +
		"links: {h1: {speed: 1M}}\ntraffic: {in: {from: [h5, h9, h13, h16], to: h1, duration: 2s}}\n")
	svg := strings.TrimSuffix(path, ".yaml") + ".svg"
	v := r.report("lab", "run", path, "--svg", svg)
	r.checkNothingLeft(name)
	picture := assert.Got(os.ReadFile(svg)).Must(t)
	by, most := map[string]int{}, int64(0) // step, by which switch holds
	for _, h := range v.Holds {
		most = max(most, h.Ns)
	}
	for _, h := range v.Holds {
		node, _, ofSwitch := strings.Cut(h.By, ":")
		if ofSwitch {
			by[node] = max(by[node], h.Step)
		}
		held, _, _ := strings.Cut(h.Held, ":")
		assert.True(t, h.Ns > 0 && held != "", "%+v", h)
		if h.Ns > most/2 && !(bytes.Contains(picture, []byte(">"+node+"<")) &&
			bytes.Contains(picture, []byte(">"+held+"<"))) {
			t.Errorf("the picture lacks that %s held %s", h.By, h.Held)
		}
	}
	t.Logf("%s: %v", v.Phases[0].Title, by)
	senders := 0
	for _, h := range v.Hosts {
		if h.PausedNs[3] > 0 {
			senders++
		}
	}
	assert.True(t, by["p1e1"] == 1 && len(by) >= 4 && senders == 4, "holders and their steps %v; %d senders were held",
		by, senders)
}
