package topology

import (
	"os"
	"path/filepath"
	"testing"

	"pfcswitch/dataplane/assert"
)

// No lab comes up with a half-duplex link, which would be full duplex there.
func TestHalfDuplexIsVirtual(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	must(t, os.WriteFile(file, []byte("name: a\nswitches: {s1: {preset: roce}}\nhosts: {h1: {}}\n"+
		"links: {l1: {ends: [h1, \"s1:p1\"], speed: 100M, flow_control: pause, half_duplex: carrier}}\n"), 0o600))
	_, err := load(file, "", 1)
	assert.MustBeTrue(t, err != nil, "it is loaded")
	assert.Contains(t, err.Error(), file+":4: links.l1.half_duplex: no socket reaches the carrier", "load")
}
