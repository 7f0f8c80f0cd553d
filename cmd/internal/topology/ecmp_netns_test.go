package topology

import (
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// byFlow is two leaves with four hosts each and two spines, of which a frame takes one by its flow. Leaf 1 has sixteen
// flows to leaf 2, more than one spine carries.
const byFlow = `name: x
fabric:
  leaf-spine: {leaves: 2, spines: 2, hosts: 4}
  spread: flow
  links: {speed: 20M}
  switches: {preset: roce}
traffic:
  there: {from: [h1, h2, h3, h4], to: [h5, h6, h7, h8], priority: 3, octets: 1514, duration: 1s}
  back: {from: h5, to: h1, priority: 3, rate: 1M, duration: 1s}
`

// On real links each flow keeps its way: nothing is lost and all is in order, where senders are held too. Flows go both
// ways up, and the filtering database names both.
func TestECMPOnRealLinks(t *testing.T) {
	r := newRig(t)
	path, name := r.file(byFlow)
	s := r.up(path, name)
	v := r.report("lab", "run", path)
	held := int64(0)
	for _, h := range v.Hosts {
		held += h.PausedNs[3]
	}
	t.Logf("senders were held for %d ns: on a slow machine perhaps never", held)
	for _, f := range v.Flows {
		assert.True(t, f.Lossless && f.Lost+f.Reordered+f.Duplicated == 0 && f.Received != 0, "%+v", f)
	}
	leaf := api.NewClient(s.Node("leaf1").Socket)
	answer := assert.Got(leaf.Show(t.Context(), "ports")).Must(t)
	for _, p := range answer.(*api.Ports).Ports {
		assert.True(t, p.Port != "up1" && p.Port != "up2" || p.TransmitFrames >= 100, "%s has sent %d frames", p.Port,
			p.TransmitFrames)
	}
	assert.Contains(t, r.run("show", "fdb", "-s", name+"-leaf1"), "up1, up2", "show fdb names no group")
	r.run("lab", "down", path)
	r.checkNothingLeft(name)
}
