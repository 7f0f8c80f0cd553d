package simulation

import (
	"bytes"
	"fmt"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// halfDuplex is a receiver and two senders, whose links are half duplex, the second one with a carrier. Holds are long
// beside the 5 ms for which a sender may back off after collisions, so that both have an equal share.
func halfDuplex(link, more string) string {
	return fmt.Sprintf(`name: a
switches: {s1: {preset: roce, buffer: {lossless: {size: 384KiB}}}}
hosts: {h1: {}, h2: {}, h3: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M, cable: 50m, %s}
  l2: {ends: [h2, "s1:p2"], speed: 100M, cable: 50m, flow_control: pause, half_duplex: carrier}
  l3: {ends: [h3, "s1:p3"], speed: 100M, flow_control: pause}
traffic: {f: {incast: h3, duration: 200ms}}
%s`, link, more)
}

// Both ways of back pressure hold their senders, which share the receiver's link. Nothing is lost.
func TestHalfDuplexFile(t *testing.T) {
	r, err := simulate(t, halfDuplex("flow_control: pause, half_duplex: collision", ""), standard)
	assert.Must(t, err)
	assert.MustBeTrue(t, r.Pass && len(r.HalfDuplex) == 4, "pass %v: %+v", r.Pass, r.HalfDuplex)
	h1, p1, h2, p2 := r.HalfDuplex[0], r.HalfDuplex[1], r.HalfDuplex[2], r.HalfDuplex[3]
	assert.True(t, h1.End == "h1" && p1.End == "s1:p1" && h2.End == "h2" && p2.End == "s1:p2", "%+v", r.HalfDuplex)
	assert.True(t, p1.Forced != 0 && h1.Collisions >= p1.Forced && p2.Forced == 0 && p1.HeldNs != 0 && p2.HeldNs != 0,
		"%+v", r.HalfDuplex)
	if held := r.held(); held["h1"] != p1.HeldNs || held["h2"] != p2.HeldNs || held["h3"] != 0 {
		t.Errorf("held: %v, want %d and %d", held, p1.HeldNs, p2.HeldNs)
	}
	assert.True(t, len(r.Holds) == 2 && r.Holds[0].Priority == -1, "%+v", r.Holds)
	for _, f := range r.Flows {
		assert.True(t, f.Lost == 0 && f.Rate >= 45e6 && f.Rate <= 55e6, "%+v", f)
	}
	var out bytes.Buffer
	err = r.Text(&out)
	assert.True(t, err == nil && strings.Contains(out.String(), "\ns1:p2  carrier "), "%v: %s", err, &out)
}

// A sender that meets a collision sixteen times gives its frame up. The switch has lost none, and the run passes.
func TestHalfDuplexGivesUp(t *testing.T) {
	r := assert.Got(simulate(t, halfDuplex("flow_control: pause, half_duplex: collision",
		"faults: {x: {storm: h3, start: 10ms, duration: 150ms}}\n"), standard)).Must(t)
	assert.True(t, r.HalfDuplex[0].GivenUp != 0 && r.Flows[0].Lost == r.HalfDuplex[0].GivenUp && r.Flows[1].Lost == 0 &&
		r.Pass && r.Switches[0].LosslessDrops == 0, "pass %v: %+v\n%+v", r.Pass, r.HalfDuplex, r.Flows)
}

// Half-duplex links that cannot be are refused, with their line.
func TestHalfDuplexRefused(t *testing.T) {
	for link, want := range map[string]string{
		"half_duplex: carrier": "lab.yaml:5: links.l1.half_duplex: s1:p1 has flow_control: pfc",
		"half_duplex: both":    "lab.yaml:5: links.l1.half_duplex: \"both\" is unknown: write collision or carrier",
		"flow_control: pause, half_duplex: carrier, delay: 3us": "lab.yaml:5: links.l1.half_duplex: a signal takes " +
			"6000 ns there and back",
	} {
		text := strings.Replace(halfDuplex(link, ""), "cable: 50m, half", "half", 1)
		if strings.Contains(link, "delay") {
			text = strings.Replace(text, "cable: 50m, ", "", 1)
		}
		_, err := simulate(t, text, standard)
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %s", link, err, want)
	}
	fast := strings.Replace(halfDuplex("flow_control: pause, half_duplex: carrier", ""), "100M", "1G", 1)
	_, err := simulate(t, fast, standard)
	assert.True(t, err != nil && strings.Contains(err.Error(), "up to 100 Mbit/s"), "at 1G: %v", err)
}
