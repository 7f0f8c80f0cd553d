package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// config/README.md names the keys that a running switch refuses to change, all of them and no others.
func TestReadmeNamesRefusedKeys(t *testing.T) {
	b := assert.Got(os.ReadFile("../config/README.md")).Must(t)
	before, _, found := strings.Cut(string(b), " are refused: they need a restart.")
	assert.MustBeTrue(t, found, "config/README.md does not say which keys need a restart")
	said := map[string]bool{}
	for i, part := range strings.Split(before[strings.LastIndex(before, "\n\n"):], "`") {
		if i%2 == 1 {
			said[part] = true
		}
	}
	for _, c := range bridgeChanges {
		if c.refused == "cannot change while the switch runs" {
			assert.True(t, said[c.path], "README.md does not say that %s is refused", c.path)
			delete(said, c.path)
		}
	}
	for key := range said {
		t.Errorf("README.md says that %s is refused, and it is not", key)
	}
}

type nobodyHeld struct{}

func (nobodyHeld) Hold(int, uint8)    {}
func (nobodyHeld) Release(int, uint8) {}

// buffer/README.md says how much of a headroom frames of each size take, in cells of the usual size.
func TestReadmeSaysWhatAHeadroomHolds(t *testing.T) {
	b := assert.Got(os.ReadFile("../../../buffer/README.md")).Must(t)
	const fcs = 4
	m := assert.Got(buffer.New(buffer.Config{Cell: 256, Lossless: buffer.PoolConfig{Alpha: 1},
		Lossy: buffer.PoolConfig{Alpha: 1}}, nobodyHeld{})).Must(t)
	for _, size := range []int{64, 128, 257, 261, 1518} {
		charge := m.Charge(size - fcs)
		share := 100 * float64(frame.WireOctets(size-fcs)) / float64(charge)
		row := fmt.Sprintf("| %d | %d | %d | %.1f |\n", size, frame.WireOctets(size-fcs), charge, share)
		assert.True(t, strings.Contains(string(b), row), "buffer/README.md does not have the row %q", row)
	}
}
