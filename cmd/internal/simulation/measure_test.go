package simulation

import (
	"maps"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
)

// measured runs a sender of 10G with 1 km of cable, whose host answers after 2 µs, and returns its ingress queue.
func measured(t *testing.T, faults string, o Options) Port {
	t.Helper()
	o.Seed, o.Measure, o.Response = 1, true, 2*time.Microsecond
	r, err := simulate(t, `name: m
switches: {s1: {preset: roce, headroom: {interval: 100ms, small_packets: 0%}, ports: {in: {burst: 3084}}}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:in"], speed: 10G, cable: 1000m}
  l2: {ends: [h2, "s1:out"], speed: 5G}
traffic: {flow: {from: h1, to: h2, start: 4s, duration: 10ms}}
`+faults, o)
	assert.MustBeTrue(t, err == nil && (r.Pass || faults != ""), "%+v, %v", r, err)
	return r.Ports[0]
}

// The headroom in force is the formula for what the link of virtual time really has, and more where the host is late.
func TestMeasure(t *testing.T) {
	const speed, frames, control = 10, 2 * 1542 * 8, 672
	trip := int64(2*5000 + 134 + 2) // there and back with 64 octets each way, and a thousandth of the turn-around
	bits := trip*speed + 2000*speed + frames + control
	in := headroom.Inputs{Speed: speed * 1e9, MaxFrame: 1518}
	exact := measured(t, "", Options{})
	size := func(bits int64) int64 { return in.Packing(256, 0).Bytes(headroom.Octets(bits)) }
	if got := exact.HeadroomSize; got < size(bits) || got > size(bits+2*control) { // the other end's may be in the way
		t.Errorf("headroom %d, want %d to %d", got, size(bits), size(bits+2*control))
	}
	assert.True(t, exact.Xoff != 0 && exact.HeadroomPeak != 0, "%+v: nobody was held: the test proves little", exact)
	late := measured(t, "", Options{Noise: 4 * time.Microsecond})
	assert.True(t, late.HeadroomSize > exact.HeadroomSize,
		"headroom %d of a late host, %d of another", late.HeadroomSize, exact.HeadroomSize)
}

// A link that went down is measured again when it is up.
func TestMeasureAfterFlap(t *testing.T) {
	down := measured(t, "faults: {f: {flap: l1, duration: 100ms}}", Options{})
	if up := measured(t, "", Options{}); down.HeadroomSize != up.HeadroomSize {
		t.Errorf("headroom %d after a flap, want %d", down.HeadroomSize, up.HeadroomSize)
	}
}

// A host is late by no more than its send call lasts.
func TestLateHost(t *testing.T) {
	r, err := simulate(t, `name: m
switches: {s1: {preset: roce, buffer: {headroom: calculated}}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:in"], speed: 10G}
  l2: {ends: [h2, "s1:out"], speed: 10G}
traffic: {flow: {from: h1, to: h2, duration: 10ms}}
faults: {stopped: {storm: h2, duration: 9ms}}
`, Options{Seed: 1, Noise: time.Second})
	assert.MustBeTrue(t, err == nil && r.Pass, "%+v, %v", r, err)
	const call, frame = 62_500, 1542 // octets on the wire
	if p := r.Ports[0]; p.HeadroomPeak < call-2*frame || p.HeadroomPeak > call+3*frame {
		t.Errorf("%d octets came after XOFF, want those of a send call, %d", p.HeadroomPeak, call)
	}
}

// Before the flows of an ordinary run, switches measure the links between them: the headroom in force is the formula
// for what the link has. Hosts do not answer. Where nobody says that it measures, nothing is.
func TestMeasuresBetweenSwitches(t *testing.T) {
	const lab = `name: m
switches:
  s1: {preset: roce, headroom: {small_packets: 0%}, ports: {up: {burst: 3084}}}
  s2: {preset: roce, headroom: {small_packets: 0%}, ports: {up: {burst: 3084}}}
hosts: {h1: {}, h2: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 10G}
  up: {ends: ["s1:up", "s2:up"], speed: 10G, cable: 1000m}
  l2: {ends: [h2, "s2:p2"], speed: 5G}
traffic: {flow: {from: h1, to: h2, duration: 10ms}}
`
	of := func(text string) map[string]int64 {
		r, err := simulate(t, text, Options{Seed: 1})
		assert.MustBeTrue(t, err == nil && r.Pass, "%+v, %v", r, err)
		sizes := map[string]int64{}
		for _, p := range r.Ports {
			sizes[p.Switch+":"+p.Port] = p.HeadroomSize
		}
		return sizes
	}
	const fixed = "buffer: {headroom: calculated}"
	calculated, got := of(strings.ReplaceAll(lab, "preset: roce", "preset: roce, "+fixed)), of(lab)
	for port, size := range got {
		follows := port == "s1:up" || port == "s2:up"
		assert.True(t, follows == (size < calculated[port]), "%s: headroom %d, calculated %d", port, size,
			calculated[port])
	}
	const speed, frames, control = 10, 4 * 1542 * 8, 672 // one at each end, and the burst of the peer
	bits := int64(2*5000+134+2)*speed + frames + control
	in := headroom.Inputs{Speed: speed * 1e9, MaxFrame: 1518}
	size := func(bits int64) int64 { return in.Packing(256, 0).Bytes(headroom.Octets(bits)) }
	assert.True(t, got["s1:up"] >= size(bits) && got["s1:up"] <= size(bits+2*control), "headroom %d, want %d to %d",
		got["s1:up"], size(bits), size(bits+2*control))
	silent := of(strings.ReplaceAll(lab, "preset: roce", "preset: roce, lldp: {agent: off}"))
	assert.True(t, maps.Equal(silent, calculated), "%v is measured, though nobody says that it measures", silent)
}
