package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/frame"
)

// config/README.md names the keys that a running switch refuses to change, all of them and no others.
func TestReadmeNamesRefusedKeys(t *testing.T) {
	b, err := os.ReadFile("../config/README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(b), " are refused: they need a restart.")
	if !found {
		t.Fatal("config/README.md does not say which keys need a restart")
	}
	said := map[string]bool{}
	for i, part := range strings.Split(before[strings.LastIndex(before, "\n\n"):], "`") {
		if i%2 == 1 {
			said[part] = true
		}
	}
	for _, c := range bridgeChanges {
		if c.refused == "cannot change while the switch runs" {
			if !said[c.path] {
				t.Errorf("README.md does not say that %s is refused", c.path)
			}
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

// buffer/README.md says how much of a headroom frames of each size take, in usual cells and in the smallest.
func TestReadmeSaysWhatAHeadroomHolds(t *testing.T) {
	b, err := os.ReadFile("../../../buffer/README.md")
	if err != nil {
		t.Fatal(err)
	}
	const fcs = 4
	worth := func(cell, n int) (charge int64, share float64) {
		m, err := buffer.New(buffer.Config{Cell: cell, Lossless: buffer.PoolConfig{Alpha: 1},
			Lossy: buffer.PoolConfig{Alpha: 1}}, nobodyHeld{})
		must(t, err)
		charge = m.Charge(n)
		return charge, 100 * float64(frame.WireOctets(n)) / float64(charge)
	}
	for _, size := range []int{64, 128, 257, 261, 1518} {
		charge, share := worth(256, size-fcs)
		if row := fmt.Sprintf("| %d | %d | %d | %.1f |\n", size, frame.WireOctets(size-fcs), charge,
			share); !strings.Contains(string(b), row) {
			t.Errorf("buffer/README.md does not have the row %q", row)
		}
	}
	least := 100.0
	for size := 64; size <= 9018; size++ {
		_, share := worth(80, size-fcs)
		least = min(least, share)
	}
	if said := fmt.Sprintf("`buffer.cell: 80B`, the least. Then %.1f or more bytes on the wire fit into 100 bytes",
		least); !strings.Contains(string(b), said) {
		t.Errorf("buffer/README.md does not say %q", said)
	}
}
