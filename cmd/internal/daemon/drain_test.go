package daemon

import (
	"slices"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
)

// A change waits for as long as the buffer drains, and for 100 ms where it does not, however long each look takes. Only
// ports whose frames have to leave are held, and nobody before the fourth look.
func TestDrainWait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration        // by each look
		left  func(look int) int64 // bytes too much
		looks int                  // until it is given up
	}{
		{"nothing leaves", 0, func(int) int64 { return 1000 }, 11},
		{"nothing leaves, and a look takes 1 ms", 1e6, func(int) int64 { return 1000 }, 10},
		{"nothing leaves, and a look takes 60 ms", 6e7, func(int) int64 { return 1000 }, 5},
		{"too little leaves", 0, func(look int) int64 { return 1000 - 6*int64(look-1) }, 11},
		{"a sixteenth leaves once", 0, func(look int) int64 { return 1000 - 63*min(1, int64(look/10)) }, 20},
		{"more comes", 0, func(look int) int64 { return 1000 + int64(look) }, 11},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w drainWait
			for look := 1; ; look++ {
				now := time.Duration(look-1)*drainPeriod + time.Duration(look)*tt.takes
				giveUp, hold := w.look(&buffer.BusyError{Excess: tt.left(look), Ports: []int{5}}, now)
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
		giveUp, _ := w.look(&buffer.BusyError{Excess: 1 << (40 - look)}, time.Duration(look)*drainPeriod)
		assert.MustBeTrue(t, !giveUp, "given up at look %d although the buffer drains", look)
	}
}
