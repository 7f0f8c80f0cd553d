package daemon

import (
	"slices"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
)

// A change waits for as long as the buffer drains, and for ten looks where it does not. Only ports whose frames have to
// leave are held, and nobody before the fourth look.
func TestDrainWait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		left  func(look int) int64 // bytes too much
		looks int                  // until it is given up
	}{
		{"nothing leaves", func(int) int64 { return 1000 }, 11},
		{"too little leaves", func(look int) int64 { return 1000 - 6*int64(look-1) }, 11},
		{"a sixteenth leaves once", func(look int) int64 { return 1000 - 63*min(1, int64(look/10)) }, 20},
		{"more comes", func(look int) int64 { return 1000 + int64(look) }, 11},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w drainWait
			for look := 1; ; look++ {
				giveUp, hold := w.look(&buffer.BusyError{Excess: tt.left(look), Ports: []int{5}})
				assert.MustBeTrue(t, giveUp == (look == tt.looks) && hold == (look == freeLooks+1),
					"look %d: given up %v, held anew %v; want to give up at look %d", look, giveUp, hold, tt.looks)
				if giveUp {
					break
				}
			}
			assert.Same(t, slices.Collect(w.held.All()), []int{5}, "held")
		})
	}
	var w drainWait
	for look := range int64(40) {
		giveUp, _ := w.look(&buffer.BusyError{Excess: 1 << (40 - look)})
		assert.MustBeTrue(t, !giveUp, "given up at look %d although the buffer drains", look)
	}
}
